"""The tiny notebook for another process, which no fixture can tell where it lies."""

import os
from pathlib import Path

from aidc import paths
from tests.tiny_notebook import Tiny

VARIABLE = "TINY_NOTEBOOKS"

if folder := os.environ.get(VARIABLE):
    paths.NOTEBOOKS = Path(folder)


class Elsewhere(Tiny):
    """Tiny settings; receiving them sets the folder of the notebook."""
