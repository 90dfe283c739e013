"""Two synthetic runs as WattAMeter logs: the real format, no real row.

The published statistics of two runs of the NLR data set hold under the official
aggregation, by construction; everything else is a free choice and carries no information
about any machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from filelock import FileLock

from aidc import paths
from aidc.evidence import InputError
from aidc.standin import power_logs
from aidc.standin.power_curve import Floats, Pins, Shape, latent, pinned_curve

KEY: Final = "nlr-standin"
"""Id of the stand-in among the inputs of evidence."""

TARGETS: Final = paths.CALIBRATION / "power_targets.json"
CODE: Final = ("power", "power_curve", "power_logs")
SEED: Final = 20250901
# The runs were very likely recorded by the driver's mean over one second.
AVERAGING_S: Final = 1.0
# The curve is drawn this much finer than it is sampled: clocks that are out of step with
# each other then smooth it once, when the logs are added up, and not twice.
FINER: Final = 4

SHAPES: Final[Mapping[str, Shape]] = {
    "llama2_70b_lora_2node": Shape(
        period_s=10.058,
        low_share=0.51,
        humped=True,
        averaging_s=0.8,
        phase_noise=0.022,
        level_noise=0.193,
        idle_share=0.049,
        idle_w=(835.0, 850.0),
        free_knots={0.06: 4500.0, 0.12: 4740.0, 0.25: 5070.0, 0.6: 5700.0, 0.75: 6000.0},
    ),
    "stable_diffusion_2node": Shape(
        period_s=12.407,
        low_share=0.1276,
        humped=False,
        averaging_s=0.8,
        phase_noise=0.0141,
        level_noise=0.268,
        idle_share=0.0323,
        idle_w=(835.0, 850.0),
        free_knots={0.04: 1421.0, 0.12: 3472.0, 0.25: 5406.0, 0.75: 5838.0},
    ),
}

FREE_CHOICES: Final = (
    ("cycle", "one period a run, invented; the published ramps say how fast, not what repeats"),
    ("idle time", "three quarters before the run, one quarter after; its length from the std"),
    ("quantiles between the published ones", "straight lines between knots that fit the mean"),
    ("nodes and GPUs", "an even split with small fixed differences and noise that adds to zero"),
    ("packages", "idle at 64.1 W each and a fixed part of what the run adds, to fit the GPU share"),
    ("cores", "0.37 % of the package, as the published energies have it"),
    ("temperatures, read durations", "plausible numbers that nothing here uses"),
    ("clock", "a date, steps of 0.2002 and 0.2003 s, a delay after every batch of 3,600 rows"),
    ("counters", "start anywhere and wrap at 65.5 kJ, as on processors of that kind"),
)


@cache
def power_targets() -> dict[str, dict[str, dict[str, Any]]]:
    """Return the published figures by run and name: value, unit, tolerance, kind, source."""
    runs: dict[str, dict[str, dict[str, Any]]] = json.loads(TARGETS.read_text("utf-8"))["runs"]
    return runs


def runs() -> tuple[str, ...]:
    """Return the names of the synthetic runs."""
    return tuple(SHAPES)


def draw_run(run: str, seed: int = SEED) -> list[power_logs.NodeLogs]:
    """Draw the logs of a run, calibrated to its published figures.

    Raises
    ------
    InputError
        If there is no such run, or the seed is negative.
    """
    if run not in SHAPES:
        raise InputError(f"power run: found {run!r}, expected one of {', '.join(SHAPES)}")
    if seed < 0:
        raise InputError(f"power stand-in: found seed={seed}, expected 0 or more")
    target = {name: entry["value"] for name, entry in power_targets()[run].items()}
    samples, step_s = int(target["samples"]), float(target["interval_s"])
    wave_seed, plan_seed = np.random.SeedSequence([seed, list(SHAPES).index(run)]).spawn(2)
    plan = power_logs.draw_plan(float(target["duration_s"]), np.random.default_rng(plan_seed))
    pins = Pins(
        mean_w=target["mean_w"],
        std_w=target["std_w"],
        quantiles_w={
            0.5: target["median_w"],
            0.95: target["p95_w"],
            0.99: target["p99_w"],
            1.0: target["max_w"],
        },
    )

    fine_s = step_s / FINER
    share = float(target["gpu_energy_share"])

    def observe(curve: Floats) -> Floats:
        logs = power_logs.node_logs(curve, fine_s, share, plan)
        return power_logs.official_total(logs, plan.begin_s, samples, step_s)

    random = np.random.default_rng(wave_seed)
    wave = latent(SHAPES[run], FINER * samples, fine_s, random)
    curve = pinned_curve(SHAPES[run], pins, wave, round(AVERAGING_S / fine_s), observe)
    return power_logs.node_logs(curve, fine_s, share, plan)


def cached(run: str, seed: int = SEED) -> list[Path]:
    """Return the log files of a run, drawing them if they are not in the cache.

    They appear all or none; two processes that ask at once draw them once.

    Raises
    ------
    InputError
        As `draw_run`.
    """
    folder = paths.CACHE / f"{KEY}-{run}-{_fingerprint(run, seed)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(folder.name + ".lock")):
        if not folder.exists():
            logs = draw_run(run, seed)
            partial = folder.with_name(f".{folder.name}.{os.getpid()}")
            try:
                partial.mkdir()
                power_logs.write_logs(logs, f"synthetic-{run.replace('_', '-')}", partial)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return sorted(folder.glob("*.log"))


def _fingerprint(run: str, seed: int) -> str:
    """Hash what the bytes of the logs depend on: run, seed, targets and the code."""
    digest = hashlib.sha256(f"{run} {seed}".encode())
    for path in [TARGETS, *(Path(__file__).with_name(f"{name}.py") for name in CODE)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def fit(run: str, figures: Mapping[str, float]) -> pd.DataFrame:
    """Compare figures that were counted from the logs with the published ones.

    Parameters
    ----------
    run : str
        Name of the run.
    figures : mapping of str to float
        What `aidc.observed.profile.sample_figures` counts under the official aggregation.

    Returns
    -------
    DataFrame
        ``figure``, ``unit``, ``target``, ``drawn``, ``difference``, ``tolerance``, ``met``
        (None for a figure that is reported and not forced), ``source``.
    """
    rows = []
    for name, entry in power_targets()[run].items():
        difference = figures[name] - entry["value"]
        forced = entry["kind"] != "reported"
        rows.append(
            {
                "figure": name,
                "unit": entry["unit"],
                "target": entry["value"],
                "drawn": figures[name],
                "difference": difference,
                "tolerance": entry["tolerance"],
                "met": abs(difference) <= entry["tolerance"] if forced else None,
                "source": entry["source"],
            }
        )
    return pd.DataFrame(rows)
