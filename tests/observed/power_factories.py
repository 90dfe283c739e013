"""Small WattAMeter logs with a known power, for tests that put one fault into them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]

START = pd.Timestamp("2025-03-01 12:00:00")
INTERVAL_S = 0.2
GPUS = 2
PACKAGE_W = (80.0, 120.0)
CORE_W = 3.0


def wave(times_s: Floats, gpu: int) -> Floats:
    """Power of one GPU: a slow wave around a mean that differs by GPU; whole periods only."""
    return 400.0 + 50.0 * gpu + 100.0 * np.sin(2 * np.pi * times_s / 20.0)


def true_mean_w(gpus: int = GPUS) -> float:
    """Mean of the component power of one node over whole periods."""
    return sum(400.0 + 50.0 * gpu for gpu in range(gpus)) + sum(PACKAGE_W)


@dataclasses.dataclass
class Log:
    """One log before it is written: rows of text, which a test may break."""

    columns: list[str]
    stamps: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        """Return the file."""
        lines = [
            "# 2025-03-01_12:00:00.000000 - Power data for run 1",
            "# timestamp                  reading-time[ns] " + " ".join(self.columns),
        ]
        lines += [
            "  " + " ".join([stamp, "45000", *row])
            for stamp, row in zip(self.stamps, self.rows, strict=True)
        ]
        return "\n".join(lines) + "\n"

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        path.write_text(self.text())
        return path

    def column(self, name: str) -> int:
        """Return the place of a column in a row."""
        return self.columns.index(name)

    def put(self, rows: slice | list[int], name: str, value: str) -> None:
        """Write a value into some rows of a column."""
        for i in range(*rows.indices(len(self.rows))) if isinstance(rows, slice) else rows:
            self.rows[i][self.column(name)] = value

    def drop(self, rows: slice) -> None:
        """Leave rows out."""
        del self.rows[rows], self.stamps[rows]


def times(n: int, interval_s: float = INTERVAL_S) -> Floats:
    """Return n times from zero."""
    return interval_s * np.arange(n)


def stamped(times_s: Floats) -> list[str]:
    """Return times as WattAMeter writes them."""
    moments = START + pd.to_timedelta(np.round(np.asarray(times_s) * 1e6), unit="us")
    return list(moments.strftime("%Y-%m-%d_%H:%M:%S.%f"))


def nvml(times_s: Floats, gpus: int = GPUS) -> Log:
    """Return an NVML log of the wave, in mW."""
    watts = np.stack([wave(times_s, gpu) for gpu in range(gpus)], axis=1)
    rows = [[f"{round(1e3 * w)}" for w in row] + ["50"] * gpus for row in watts]
    columns = [f"gpu-{i}[mW]" for i in range(gpus)] + [f"gpu-{i}[C]" for i in range(gpus)]
    return Log(columns, stamped(times_s), rows)


def rapl(times_s: Floats, batch: int = 100) -> Log:
    """Return a RAPL log of constant packages and cores with the last row of a batch short."""
    names = ["cpu-0", "cpu-0-core", "cpu-1", "cpu-1-core"]
    watts = [PACKAGE_W[0], CORE_W, PACKAGE_W[1], CORE_W]
    columns = [f"{name}[uJ]" for name in names] + [f"{name}[W]" for name in names]
    rows = []
    for i, t in enumerate(times_s):
        row = [str(round(1e9 + 1e6 * w * t)) for w in watts]
        if (i + 1) % batch and i + 1 < len(times_s):
            row += [repr(float(w)) for w in watts]
        rows.append(row)
    return Log(columns, stamped(times_s), rows)
