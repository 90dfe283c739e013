from pathlib import Path

import pandas as pd
import pytest

from aidc.standin import fit, trace


@pytest.fixture(scope="session")
def full_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("standin") / "full.csv"
    trace.write_trace(path)
    return path


@pytest.fixture(scope="session")
def full_report(full_file: Path) -> pd.DataFrame:
    return fit.fit_report(fit.read_rows(full_file)).set_index("target")


@pytest.fixture(scope="session")
def small() -> pd.DataFrame:
    return trace.generate(rows=2_000, seed=5)
