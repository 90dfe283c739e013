"""A notebook of a few lines, and its settings, for tests of the runner."""

from pathlib import Path
from typing import ClassVar

import nbformat
from pydantic import Field

from aidc.settings.base import NotebookSettings

PARAMETERS = 'size = 3\nword = "a"\nresults_dir = ""'
SETTINGS = """
from tests.tiny_notebook import Tiny

settings = Tiny.from_namespace(globals())
out = settings.results()
"""
PUBLISH = """
from aidc.evidence import InputError
from tests.evidence.carriers import amount

if settings.word == "refused":
    raise InputError("word: found 'refused', expected another word")
if settings.word == "bug":
    raise KeyError("missing")
out.number("tiny.size", settings.size, "items", of=amount("a-source"))
out.finish()
"""


class Tiny(NotebookSettings):
    """Parameters of the tiny notebook."""

    notebook: ClassVar[str] = "99_tiny"
    section: ClassVar[str] = "9.9"

    size: int = Field(default=3, ge=0, description="how many", json_schema_extra={"unit": "items"})
    word: str = Field(default="a", description="any word")


def write(folder: Path, publish: str = PUBLISH) -> Path:
    """Write the notebook into a folder."""
    parameters = nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]})
    cells = [parameters, *(nbformat.v4.new_code_cell(text) for text in (SETTINGS, publish))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    path = folder / "99_tiny.ipynb"
    nbformat.write(notebook, path)
    return path
