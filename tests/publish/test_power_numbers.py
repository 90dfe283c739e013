"""What the power audit publishes: every id for the paper's runs, and what others have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aidc.catalog.power import open_power
from aidc.observed.intervals import IntervalSettings
from aidc.observed.power_audit import examine
from aidc.observed.power_compare import both_rules
from aidc.observed.power_mean import mean_interval
from aidc.observed.power_runs import NLR_RUNS, slug, together
from aidc.observed.profile import block_demand, power_summary, ramps
from aidc.observed.spectrum import spectrum
from aidc.publish import power_numbers
from aidc.publish.power_numbers import DEMAND_MIN, RAMP_WINDOWS_S, RunResults
from aidc.publish.results import Results
from tests.observed.power_factories import nvml, rapl, times, true_mean_w

HEADLINE = ("mean_w", "p95_w", "p99_w", "max_w", "energy_wh", "duration_s", "interval_s")


def published(power: str | Path | Sequence[Path], folder: Path) -> dict[str, Any]:
    """Publish everything as the notebook does, and return the numbers."""
    runs = open_power(power)
    audits = {run.name: examine(run.profiles, run.audit_settings("aidc")) for run in runs}
    audited = together(audits)
    out = Results("23_power_audit", "2.3", folder / "results", {})
    results = RunResults(out, audited)
    totals = audited.totals
    grids = {run.name: run.grid_s for run in runs}
    summaries = {name: power_summary(total) for name, total in totals.items()}
    few = IntervalSettings(resamples=40)
    results.numbers(audits, power_numbers.audit_quantities())
    results.numbers(summaries, power_numbers.summary_quantities())
    for carriers, quantities in (
        (
            {name: both_rules(audits[name], grids[name]) for name in totals},
            power_numbers.official_quantities(),
        ),
        (
            {name: block_demand(total, DEMAND_MIN) for name, total in totals.items()},
            power_numbers.demand_quantities(DEMAND_MIN),
        ),
        (
            {name: ramps(total, RAMP_WINDOWS_S) for name, total in totals.items()},
            power_numbers.ramp_quantities(RAMP_WINDOWS_S),
        ),
        (
            {name: spectrum(total) for name, total in totals.items()},
            power_numbers.spectrum_quantities(),
        ),
        (
            {name: mean_interval(total, few) for name, total in totals.items()},
            power_numbers.mean_quantities(),
        ),
    ):
        results.numbers(carriers, quantities)
    results.table("profile", {n: power_numbers.power_row(s) for n, s in summaries.items()})
    out.finish()
    found: dict[str, Any] = json.loads((folder / "results" / "numbers.json").read_text())
    return found["numbers"]  # type: ignore[no-any-return]


def test_a_job_has_its_own_ids_and_the_papers_runs_are_not_evaluable(tmp_path: Path) -> None:
    at = times(1001)
    files = [nvml(at).write(tmp_path / "n.log"), rapl(at).write(tmp_path / "r.log")]
    numbers = published(files, tmp_path)
    assert numbers["power.job_1.mean_w"]["value"] == pytest.approx(true_mean_w(), rel=1e-3)
    assert numbers["power.job_1.gpus"]["value"] == 2
    assert numbers["power.job_1.batch_end_rows"]["value"] == 11
    assert numbers["power.job_1.cpu_energy_share"]["value"] == pytest.approx(200 / 1050, rel=1e-3)
    for run in NLR_RUNS:
        assert {numbers[f"power.{run}.{name}"]["text"] for name in HEADLINE} == {"not evaluable"}
    assert {entry["provenance"] for entry in numbers.values()} == {"unverified"}


def test_every_run_has_the_same_ids(tmp_path: Path) -> None:
    at = times(1001)
    numbers = published(nvml(at).write(tmp_path / "n.log"), tmp_path)
    ends = [
        {name.removeprefix(f"power.{run}.") for name in numbers if name.startswith(f"power.{run}.")}
        for run in ("job_1", *NLR_RUNS)
    ]
    assert ends[0] == ends[1] == ends[2]
    assert {*HEADLINE, "load_factor", "nlr.mean_w", "demand_rolling.max_w"} <= ends[0]


def test_a_log_that_allows_no_total_is_not_evaluable_and_no_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("time_s,power_w\n0,\n1,\n2,\n")
    numbers = published(path, tmp_path)
    assert numbers["power.empty.mean_w"]["value"] is None
    assert numbers["power.empty.rows"]["value"] == 3
    assert (tmp_path / "results" / "profile.csv").read_text() == "run\n"


@pytest.mark.real_data
def test_the_real_wattameter_logs_are_profiled_as_far_as_they_go(
    real_data: Path, tmp_path: Path
) -> None:
    numbers = published(str(real_data / "power" / "1_wattameter_example"), tmp_path)
    run = "power.job_10989526"
    gpu, cpu = (numbers[f"{run}.{name}_energy_share"]["value"] for name in ("gpu", "cpu"))
    assert gpu + cpu == pytest.approx(1)
    assert numbers[f"{run}.gpus"]["value"] == 4
    # Fourteen seconds hold no block of a minute and no ramp over one.
    for name in ("demand_1min.max_w", "ramp_60s.max_w_per_s", "mean_w.low", "dominant_period_s"):
        assert numbers[f"{run}.{name}"]["value"] is None


@pytest.mark.real_data
def test_the_real_mlperf_log_has_the_known_means(real_data: Path, tmp_path: Path) -> None:
    name = "dc_result_4951-240509201759121728742_1_node_0"
    folder = real_data / "power" / "2_mlperf_v4.0_smc_llama2lora_8xH100"
    numbers = published(str(folder / f"{name}.txt"), tmp_path)
    run = f"power.{slug(name)}"
    assert numbers[f"{run}.mean_w"]["value"] == pytest.approx(6752.7, abs=0.05)
    assert numbers[f"{run}.mean_w_arithmetic"]["value"] == pytest.approx(6782.3, abs=0.05)
    assert numbers[f"{run}.mean_w_without_gaps"]["value"] == pytest.approx(6778.9, abs=0.05)
    assert numbers[f"{run}.gaps"]["value"] == 7
    assert numbers[f"{run}.gpu_energy_share"]["value"] is None
