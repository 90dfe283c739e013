"""Fixtures that the whole suite shares."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault of the code; a run in CI repeats the same examples.
settings.register_profile("aidc", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("aidc")

REAL_DATA_VARIABLE = "AIDC_REAL_DATA"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real files; tests that need it skip where it is not."""
    named = os.environ.get(REAL_DATA_VARIABLE)
    if not named:
        pytest.skip(f"{REAL_DATA_VARIABLE} is not set")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"{REAL_DATA_VARIABLE}={named} is no folder")
    return folder


@pytest.fixture(autouse=True)
def _own_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep results of a test out of the work tree."""
    monkeypatch.setenv("AIDC_RUN", str(tmp_path / "run"))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their length: a gzip header holds the time, and ids must not move."""
    return f"{argname}-{len(val)}-bytes" if isinstance(val, bytes) else None
