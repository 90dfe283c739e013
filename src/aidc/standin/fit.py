"""Compare a stand-in trace with the published aggregates, by counting its rows.

The counts here use nothing of the generator: they read a frame in the file's dialect and
would say the same of any other file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from aidc.evidence import Carrier, Evidence, Layer, Provenance
from aidc.standin.targets import FOUR_TYPES, KEY, TYPES, Target, cumulative, targets

TIMES: Final = ("submit_time", "start_time", "end_time")
EXACT, APPROXIMATE, FREE = "exact", "approximate", "free"
_CURVE_POINTS: Final = 300


@dataclass(frozen=True)
class FreeChoice:
    """Something that no published aggregate settles, and what was done instead."""

    what: str
    how: str


FREE_CHOICES: Final = (
    FreeChoice("job numbers", "ascending with small random gaps, in a range of their own"),
    FreeChoice("users", "invented; each type's jobs go to users by a power law, in long runs"),
    FreeChoice("nodes", "the fewest that hold the GPUs, eight a node; one for CPU jobs"),
    FreeChoice("CPU cores", "two, ten or sixteen a GPU; a power of two for CPU jobs"),
    FreeChoice("run times inside a cell", "log-uniform whole seconds between two thresholds"),
    FreeChoice(
        "completed jobs by run time",
        "as near as the quantiles allow to one share in each type and range between quantiles",
    ),
    FreeChoice("run times of CPU jobs beyond the figure", "fewer each octave, near the mean"),
    FreeChoice(
        "waiting times inside a cell",
        "log-uniform; independent of run time and load; zero for half of those up to one second",
    ),
    FreeChoice("waiting times of CPU jobs", "a short-tailed table with the published mean"),
    FreeChoice(
        "GPU count by type, run time and state",
        "larger counts to higher scores; two weights are solved for GPU-hours and pool share",
    ),
    FreeChoice("GPU counts between two vertices", "the roundest number of the cell"),
    FreeChoice(
        "states of jobs that did not complete",
        "overall shares as published; cancelled and pre-empted jobs tend to run longer",
    ),
    FreeChoice(
        "which hours are busy",
        "an invented intensity by day, weekday and hour; the same for every seed",
    ),
    FreeChoice(
        "hourly counts between the pinned ranks",
        "smooth curves; meeting both quantiles over all hours forces a flat middle",
    ),
    FreeChoice("outages", "three, invented, eight whole days: they make the arrivals' variation"),
    FreeChoice("types of the pool within an hour", "at random within the day's published counts"),
    FreeChoice("arrivals outside the pool", "follow the pool's hours, weaker; free of groups"),
    FreeChoice(
        "which job arrives when",
        "large jobs where the cluster has room, small ones in crowded hours, else at random",
    ),
)


def read_rows(path: Path) -> pd.DataFrame:
    """Read a file in the Seren dialect as it stands, times as local times."""
    rows = pd.read_csv(path)
    for name in TIMES:
        rows[name] = pd.to_datetime(rows[name], format="%Y-%m-%d %H:%M:%S%z")
    return rows


def _cumulative_counts(jobs: pd.DataFrame) -> Iterator[tuple[str, Target, float]]:
    populations = {name: _population(jobs, name) for name in (*TYPES, "ALL_GPU")}
    for row in cumulative().itertuples():
        members = populations[str(row.population)][str(row.field)]
        published = Target(int(str(row.jobs)), "jobs", EXACT, 0, "figures")
        key = f"{row.population}.{row.field}.le_{row.le}"
        yield key, published, float((members <= row.le).sum())


def _pool_counts(pool: pd.DataFrame, hours: pd.DatetimeIndex) -> Iterator[tuple[str, float]]:
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95)):
        yield f"pool.duration_s.{name}", float(pool["duration"].quantile(q))
    clock = pool["submit_time"].dt.tz_localize(None)
    hourly = clock.dt.floor("h").value_counts().reindex(hours, fill_value=0)
    active = hourly[hourly > 0]
    for name, q in (("p50", 0.5), ("p90", 0.9)):
        yield f"pool.arrivals_per_hour.{name}", hourly.quantile(q)
        yield f"pool.arrivals_per_hour.active_hours.{name}", active.quantile(q)
    middle = hourly.median() or float("nan")  # no ratio where most hours are empty
    yield "pool.hourly_max_over_median", hourly.max() / middle
    yield "pool.same_second_share", clock.duplicated(keep=False).mean()
    gaps = clock.sort_values().diff().dropna().dt.total_seconds()
    yield "pool.interarrival_cv", gaps.std(ddof=0) / gaps.mean()


def _four_type_counts(four: pd.DataFrame) -> Iterator[tuple[str, float]]:
    yield "four.completed", len(four)
    positive = four[four["duration"] > 0]
    yield "four.jobs", len(positive)
    for kind in FOUR_TYPES:
        durations = positive.loc[positive["type"] == kind, "duration"]
        yield f"four.{kind}.duration_s.p50", float(durations.quantile(0.5))
        yield f"four.{kind}.duration_s.p95", float(durations.quantile(0.95))
    per_day = positive["submit_time"].dt.tz_localize(None).dt.floor("D").value_counts()
    yield "four.per_day.active_days", len(per_day)
    yield "four.per_day.mean", per_day.mean()
    yield "four.per_day.p50", per_day.median()
    yield "four.per_day.max", per_day.max()


def _gpu_counts(gpu: pd.DataFrame, in_pool: pd.Series) -> Iterator[tuple[str, float]]:
    hours = gpu["gpu_num"] * gpu["duration"] / 3600
    yield "gpu.hours", hours.sum()
    yield "pool.gpu_hours_share", hours[in_pool[gpu.index]].sum() / hours.sum()
    for kind, part in hours.groupby(gpu["type"], observed=True).sum().items():
        yield f"gpu.hours_share.{kind}", part / hours.sum()
    for state, part in hours.groupby(gpu["state"], observed=True).sum().items():
        yield f"gpu.hours_share.{state}", part / hours.sum()
    starts = gpu.groupby("start_time")["gpu_num"].sum()
    ends = gpu.groupby("end_time")["gpu_num"].sum()
    yield "gpu.concurrent.max", starts.sub(ends, fill_value=0).sort_index().cumsum().max()


def _state_shares(name: str, jobs: pd.DataFrame) -> Iterator[tuple[str, float]]:
    for state, share in jobs["state"].value_counts(normalize=True).items():
        yield f"{name}.state_share.{state}", share


def count(jobs: pd.DataFrame) -> dict[str, float | str]:
    """Count everything that the scalar targets speak of, and some of what is free.

    Parameters
    ----------
    jobs : pandas.DataFrame
        Rows in the Seren dialect, as drawn or as read by ``read_rows``.
    """
    completed = jobs["state"] == "COMPLETED"
    on_gpus = jobs["gpu_num"] > 0
    in_pool = completed & on_gpus & (jobs["duration"] > 0)
    gpu, cpu = jobs[on_gpus], jobs[~on_gpus]
    submit = jobs["submit_time"].dt.tz_localize(None)
    days = submit.min().floor("D"), submit.max().ceil("D")
    hours = pd.date_range(*days, freq="h", inclusive="left")
    counted: dict[str, float | str] = {
        "rows.total": len(jobs),
        "rows.completed": int(completed.sum()),
        "rows.completed_gpu": int((completed & on_gpus).sum()),
        "rows.completed_cpu": int((completed & ~on_gpus).sum()),
        "rows.duration_s.max": int(jobs["duration"].max()),
        "rows.users": int(jobs["user"].nunique()),
        "window.first_submit": str(submit.min()),
        "window.last_submit": str(submit.max()),
        "pool.jobs": int(in_pool.sum()),
        "pool.zero_duration": int((completed & on_gpus & (jobs["duration"] == 0)).sum()),
        "cpu.duration_s.p50": cpu["duration"].median(),
        "cpu.duration_s.mean": cpu["duration"].mean(),
        "cpu.queue_s.p50": cpu["queue"].median(),
        "cpu.queue_s.mean": cpu["queue"].mean(),
    }
    counted |= _pool_counts(jobs[in_pool], hours)
    counted |= _four_type_counts(jobs[completed & jobs["type"].isin(FOUR_TYPES)])
    counted |= _gpu_counts(gpu, in_pool)
    counted |= _state_shares("gpu", gpu)
    counted |= _state_shares("cpu", cpu)
    return counted


def _difference(published: Target, drawn: float | str) -> float:
    if isinstance(published.value, str):
        return (pd.Timestamp(drawn) - pd.Timestamp(published.value)).total_seconds()
    return float(drawn) - published.value


@dataclass(frozen=True, kw_only=True)
class Fit(Carrier):
    """How well a stand-in trace meets its targets.

    Attributes
    ----------
    report : pandas.DataFrame
        See `fit_report`.
    published, drawn : pandas.DataFrame
        Cumulative shares, as published and of the drawn rows between the published
        thresholds too: ``population``, ``field``, ``le``, ``share``.
    """

    report: pd.DataFrame
    published: pd.DataFrame
    drawn: pd.DataFrame

    @property
    def targets(self) -> int:
        """Number of published figures that the trace was to meet."""
        return int(self.report["met"].notna().sum())

    @property
    def missed(self) -> int:
        """Number of those that it does not meet within their tolerance."""
        return self.targets - int(self.report["met"].sum())


def fit(path: Path) -> Fit:
    """Compare the file of a stand-in trace with every target.

    The evidence is synthetic whatever the comparison says: a stand-in that meets its
    targets has met them by construction.
    """
    jobs = read_rows(path)
    published = cumulative()
    share = published["jobs"] / published["n_jobs"]
    curves = published.groupby(["population", "field"])["le"].agg(["min", "max"])
    return Fit(
        report=fit_report(jobs),
        published=published[["population", "field", "le"]].assign(share=share),
        drawn=pd.concat(
            [
                _curve(jobs, str(population), str(field), least, most)
                for (population, field), (least, most) in zip(
                    curves.index, curves.to_numpy(), strict=True
                )
            ],
            ignore_index=True,
        ),
        evidence=Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({KEY})),
    )


def _curve(jobs: pd.DataFrame, population: str, field: str, least: int, most: int) -> pd.DataFrame:
    """Return the cumulative shares of a population between two thresholds."""
    ordered = np.sort(_population(jobs, population)[field].to_numpy())
    le = np.unique(np.geomspace(least, most, _CURVE_POINTS).round())
    share = np.searchsorted(ordered, le, side="right") / len(ordered)
    return pd.DataFrame({"population": population, "field": field, "le": le, "share": share})


def _population(jobs: pd.DataFrame, name: str) -> pd.DataFrame:
    return jobs[jobs["gpu_num"] > 0] if name == "ALL_GPU" else jobs[jobs["type"] == name]


def fit_report(jobs: pd.DataFrame) -> pd.DataFrame:
    """Compare rows with every target.

    Parameters
    ----------
    jobs : pandas.DataFrame
        Rows in the Seren dialect, as drawn or as read by ``read_rows``.

    Returns
    -------
    pandas.DataFrame
        One row a target: ``target`` (id), ``published``, ``drawn``, ``difference`` (drawn
        less published, in ``unit``; s for times), ``unit``, ``kind`` (``exact``,
        ``approximate`` or ``free``: counted, but not a target), ``tolerance``, ``met`` (NA
        when free), ``source`` (see ``data/calibration/README.md``) and ``note``.
    """
    counted = count(jobs)
    # A state that no row has is not among the counts: its share is zero.
    compared = [(key, known, counted.get(key, 0.0)) for key, known in targets().items()]
    compared += _cumulative_counts(jobs)
    report = pd.DataFrame(
        {
            "target": key,
            "published": known.value,
            "drawn": drawn,
            "difference": _difference(known, drawn),
            "unit": known.unit,
            "kind": known.kind,
            "tolerance": known.tolerance,
            "source": known.source,
            "note": known.note,
        }
        for key, known, drawn in compared
    )
    report.insert(7, "met", (report["difference"].abs() <= report["tolerance"]).astype("boolean"))
    free = pd.DataFrame(
        {"target": key, "drawn": drawn, "kind": FREE}
        for key, drawn in counted.items()
        if key not in targets()
    )
    return pd.concat([report, free], ignore_index=True)
