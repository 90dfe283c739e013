"""Small folders of registries for tests."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from aidc.evidence.register import Register, read_register


def write_registries(
    folder: Path,
    *,
    works: Sequence[str] = ("a_work",),
    files: Sequence[tuple[str, str]] = (("a-file", "a_work"),),
    variables: Sequence[tuple[str, str, str | None]] = (("a_variable", "observed", "a_work"),),
) -> Path:
    """Write works by key, files as (key, work) and variables as (key, status, works)."""
    document = {
        "works": {
            key: {"name": f"Name of {key}", "gives": "times", "boundary": "Ends."} for key in works
        },
        "sources": {
            key: {
                "title": key,
                "path": f"{key}.csv",
                "url": "http://127.0.0.1/x",
                "git_blob": "a" * 40,
                "licence": ["CC0"],
                "citation": work,
            }
            for key, work in files
        },
        "variables": [
            {
                "key": key,
                "name": f"name of {key}",
                "name_zh": "变量",
                "paper_label": "直接观测" if status == "observed" else None,
                "status": status,
                "first_use": "use",
                "limitation": "limit",
                "source": source,
                "paper_table": status == "observed",
                "section": "3.2",
            }
            for key, status, source in variables
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in document.items():
        text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
        (folder / f"{name}.yml").write_text(text, encoding="utf-8")
    return folder


def small_register(folder: Path) -> Register:
    """Return a register with one variable of each band but one, and two works."""
    return read_register(
        write_registries(
            folder,
            works=("a_work", "b_work"),
            variables=(
                ("seen", "observed", "a_work"),
                ("follows", "computed_field", "a_work,b_work"),
                ("unseen", "not_observed", None),
                ("chosen", "experimental_setting", None),
            ),
        )
    )
