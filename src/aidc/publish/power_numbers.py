"""What the power audit publishes of each run: which quantities, in which unit, under which id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pandas as pd

from aidc.evidence import Carrier
from aidc.observed.power_audit import PowerAudit
from aidc.observed.power_compare import BothRules
from aidc.observed.power_mean import MeanInterval
from aidc.observed.power_runs import NLR_RUNS, AuditedRuns
from aidc.observed.profile import Demand, PowerSummary, Ramps
from aidc.observed.spectrum import Spectrum
from aidc.publish.results import Results

# Published whatever the parameters say, so that a page can rely on them.
RAMP_WINDOWS_S = (1.0, 5.0, 10.0, 60.0)
DEMAND_MIN = (1.0, 5.0, 15.0)


@dataclass(frozen=True)
class Quantity:
    """One quantity of a run: the end of its id, its unit, and how to read it off a carrier."""

    id: str
    unit: str
    read: Callable[[Any], object]


def _attributes(units: Mapping[str, str]) -> list[Quantity]:
    return [Quantity(name, unit, attrgetter(name)) for name, unit in units.items()]


def audit_quantities() -> list[Quantity]:
    """Return what is published of a `PowerAudit`."""

    def failed(rule: str) -> Callable[[PowerAudit], int]:
        return lambda audit: audit.rule(rule).failed

    def rows(audit: PowerAudit) -> int:
        return sum(log.profile.rows for log in audit.logs)

    def gpus(audit: PowerAudit) -> int | None:
        return audit.total.devices.get("gpu")

    return [
        Quantity("nodes", "nodes", attrgetter("total.nodes")),
        Quantity("gpus", "GPUs", gpus),
        Quantity("rows", "rows", rows),
        Quantity("batch_end_rows", "rows", failed("batch.complete")),
        Quantity("over_design_power", "readings", failed("value.ceiling")),
        Quantity("late_reads", "reads", failed("time.punctual")),
        Quantity("missing_share", "", attrgetter("total.missing_share")),
    ]


def official_quantities() -> list[Quantity]:
    """Return what is published of a `BothRules`: the official figures, and the difference."""

    def figure(name: str) -> Callable[[BothRules], float]:
        return lambda both: both.figures[name]

    units = {
        "samples": "samples",
        "duration_s": "s",
        "interval_s": "s",
        "mean_w": "W",
        "p95_w": "W",
        "p99_w": "W",
        "max_w": "W",
        "std_w": "W",
        "energy_wh": "Wh",
        "gpu_energy_share": "",
    }
    return [
        *(Quantity(f"nlr.{name}", unit, figure(name)) for name, unit in units.items()),
        Quantity("nlr.mean_by_time_w", "W", lambda both: both.frame["mean_w"].iloc[1]),
        *(Quantity(f"nlr.{n}", "W", attrgetter(n)) for n in ("difference_w", "nested_w", "rest_w")),
    ]


def summary_quantities() -> list[Quantity]:
    """Return what is published of a `PowerSummary`."""

    def share(domain: str) -> Callable[[PowerSummary], float | None]:
        return lambda summary: summary.shares.get(domain)

    units = {
        "mean_w": "W",
        "mean_w_without_gaps": "W",
        "mean_w_arithmetic": "W",
        "std_w": "W",
        "min_w": "W",
        "p50_w": "W",
        "p95_w": "W",
        "p99_w": "W",
        "max_w": "W",
        "load_factor": "",
        "energy_wh": "Wh",
        "energy_wh_without_gaps": "Wh",
        "duration_s": "s",
        "interval_s": "s",
        "gap_s": "s",
        "gaps": "gaps",
        "samples": "samples",
        "idle_threshold_w": "W",
        "idle_share": "",
    }
    shares = [Quantity(f"{name}_energy_share", "", share(name)) for name in ("gpu", "cpu")]
    return [*_attributes(units), *shares]


def demand_quantities(blocks_min: Sequence[float]) -> list[Quantity]:
    """Return what is published of a `Demand` over these blocks and the rolling one."""

    def cell(row: int, column: str) -> Callable[[Demand], object]:
        return lambda demand: demand.frame[column].iloc[row]

    units = {"max_w": "W", "load_factor": "", "blocks": "blocks", "left_out_s": "s"}
    names = [f"demand_{block:g}min" for block in blocks_min] + ["demand_rolling"]
    return [
        Quantity(f"{name}.{column}", unit, cell(row, column))
        for row, name in enumerate(names)
        for column, unit in units.items()
    ]


def ramp_quantities(windows_s: Sequence[float]) -> list[Quantity]:
    """Return what is published of `Ramps` over these windows."""

    def cell(row: int, column: str) -> Callable[[Ramps], object]:
        return lambda ramps: ramps.frame[column].iloc[row]

    return [
        Quantity(f"ramp_{window:g}s.{column}", "W/s", cell(row, column))
        for row, window in enumerate(windows_s)
        for column in ("p95_w_per_s", "p99_w_per_s", "max_w_per_s")
    ]


def spectrum_quantities() -> list[Quantity]:
    """Return what is published of a `Spectrum`."""

    def limit(spectrum: Spectrum) -> float:
        return min(spectrum.sensor_limit_hz, spectrum.nyquist_hz)

    return [
        Quantity("dominant_period_s", "s", attrgetter("stated_period_s")),
        Quantity("sensor_limit_hz", "Hz", limit),
        Quantity("nyquist_hz", "Hz", attrgetter("nyquist_hz")),
        Quantity("spectrum_segment_s", "s", attrgetter("segment_s")),
    ]


def mean_quantities() -> list[Quantity]:
    """Return what is published of a `MeanInterval`."""
    return [
        Quantity("mean_w.low", "W", attrgetter("low_w")),
        Quantity("mean_w.high", "W", attrgetter("high_w")),
        Quantity("mean_w.block_s", "s", attrgetter("block_s")),
        Quantity("mean_w.independent_values", "values", attrgetter("independent_values")),
    ]


@dataclass(frozen=True)
class RunResults:
    """Publishes numbers and tables of several runs.

    Attributes
    ----------
    out : Results
        Where to.
    audited : AuditedRuns
        The runs.
    """

    out: Results
    audited: AuditedRuns

    def numbers(self, carriers: Mapping[str, Carrier], quantities: Iterable[Quantity]) -> None:
        """Publish quantities as ``power.RUN.ID``, each read off the carrier of its run.

        The runs that the paper names have their numbers in any case: without a carrier
        they are not evaluable.
        """
        asked = list(quantities)
        for run in dict.fromkeys((*self.audited.audits, *NLR_RUNS)):
            carrier = carriers.get(run)
            of = carrier or self.audited.audits.get(run) or self.audited
            for quantity in asked:
                value = None if carrier is None else quantity.read(carrier)
                self.out.number(f"power.{run}.{quantity.id}", value, quantity.unit, of=of)

    def table(self, name: str, frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """Publish the tables of the runs under each other, with the run in front."""
        named = [frame.assign(run=run) for run, frame in frames.items()]
        table = pd.concat(named, ignore_index=True) if named else pd.DataFrame({"run": []})
        table = table[["run", *table.columns.drop("run")]]
        return self.out.table(name, table, of=self.audited)


def power_row(summary: PowerSummary) -> pd.DataFrame:
    """Return the powers of a run as one row."""
    names = ("mean_w", "min_w", "p50_w", "p95_w", "p99_w", "max_w", "std_w")
    return pd.DataFrame([{name: getattr(summary, name) for name in names}])


def energy_row(summary: PowerSummary) -> pd.DataFrame:
    """Return duration, energy and shares of a run as one row."""
    row = {
        "duration_s": summary.duration_s,
        "energy_wh": summary.energy_wh,
        "load_factor": summary.load_factor,
        "gpu_energy_share": summary.shares.get("gpu"),
        "cpu_energy_share": summary.shares.get("cpu"),
        "idle_share": summary.idle_share,
    }
    return pd.DataFrame([row])


def gap_rows(summary: PowerSummary) -> pd.DataFrame:
    """Return mean and energy under both policies for gaps."""
    return pd.DataFrame(
        {
            "policy": ["bridged", "left out"],
            "gaps": summary.gaps,
            "gap_s": summary.gap_s,
            "mean_w": [summary.mean_w, summary.mean_w_without_gaps],
            "energy_wh": [summary.energy_wh, summary.energy_wh_without_gaps],
        }
    )


def interval_row(mean: MeanInterval, summary: PowerSummary) -> pd.DataFrame:
    """Return the interval of the mean as one row; the mean is that of the whole run."""
    names = ("low_w", "high_w", "block_s", "bin_s", "independent_values")
    row = {"mean_w": summary.mean_w} | {name: getattr(mean, name) for name in names}
    return pd.DataFrame([row])
