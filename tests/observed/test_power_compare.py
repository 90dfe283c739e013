"""Both rules on logs whose answer is known by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aidc.evidence import InputError
from aidc.observed.power_audit import PowerAudit, examine
from aidc.observed.power_compare import both_rules, start_after
from aidc.observed.power_read import read_power
from aidc.observed.power_rules import PowerAuditSettings
from aidc.observed.power_runs import PowerRun, run_of, slug, synthetic_job, together
from tests.observed.power_factories import CORE_W, nvml, rapl, times, true_mean_w

N = 1001  # ten whole waves of 20 s


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    at = times(N)
    return [nvml(at).write(tmp_path / "nvml.log"), rapl(at).write(tmp_path / "rapl.log")]


def audited(files: list[Path], aggregation: str = "aidc") -> PowerAudit:
    run = run_of([read_power(file) for file in files])
    return examine(run.profiles, run.audit_settings(aggregation))


@pytest.mark.parametrize("aggregation", ["aidc", "nlr"])
def test_the_difference_is_cores_and_zeros_whichever_rule_was_audited(
    files: list[Path], aggregation: str
) -> None:
    both = both_rules(audited(files, aggregation), 0.2)
    assert both.frame["aggregation"].to_list() == ["aidc", "nlr"]
    assert both.frame["mean_w"][0] == pytest.approx(true_mean_w(), rel=1e-3)
    assert both.nested_w == pytest.approx(2 * CORE_W, rel=1e-6)
    # Ten short rows lose 206 W over a step each; the eleventh, at the end, half of one.
    assert both.rest_w == pytest.approx(-10.5 * 206 * 0.2 / 200, rel=0.01)
    assert both.difference_w == pytest.approx(both.nested_w + both.rest_w)
    assert (both.figures["samples"], both.figures["interval_s"]) == (N, 0.2)


def test_batch_ends_are_placed_on_our_curve(files: list[Path]) -> None:
    both = both_rules(audited(files))
    expected = [0.2 * (100 * k - 1) for k in range(1, 11)] + [200.0]
    assert both.batch_ends_s == pytest.approx(np.array(expected))
    assert start_after(both.official, both.ours) == 0


def test_a_step_longer_than_the_run_is_refused_in_one_line(files: list[Path]) -> None:
    run = run_of([read_power(file) for file in files])
    with pytest.raises(
        InputError, match=r"and 1 more: found 200 s .* one step of 300\.0 s"
    ) as error:
        examine(run.profiles, run.audit_settings("aidc", 300.0))
    assert "\n" not in str(error.value)


def test_a_job_without_a_total_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("time_s,power_w\n0,\n1,\n2,\n")
    with pytest.raises(InputError, match="no profile can be stated"):
        both_rules(examine([read_power(path)]))


def test_runs_are_tabled_together(files: list[Path]) -> None:
    audit = audited(files)
    runs = together({"one": audit, "two": audit})
    assert runs.evidence == audit.evidence
    assert list(runs.totals) == ["one", "two"]
    logs = runs.logs()
    assert logs["channels"].to_list() == ["2 gpu", "2 cpu, 2 core"] * 2
    rules = runs.rules()
    assert list(rules.columns[:3]) == ["run", "rule", "looks_at"]
    totals = runs.rule_totals().set_index("rule")
    assert totals.loc["batch.complete", "failed"] == 2 * 11
    counted = totals["not_evaluable"] + totals["passed"] + totals["failed"]
    pd.testing.assert_series_equal(counted, totals["n"], check_names=False)


def test_findings_name_files_without_their_folder(files: list[Path]) -> None:
    found = together({"one": audited(files)}).findings()
    assert len(found) > 0
    assert not found["finding"].str.contains(str(files[0].parent)).any()


def test_a_run_is_named_by_its_job_else_by_its_file(files: list[Path], tmp_path: Path) -> None:
    assert run_of([read_power(files[0])]).name == "job_1"
    path = tmp_path / "My Log (3).csv"
    path.write_text("time_s,power_w\n0,1\n1,1\n")
    assert run_of([read_power(path)]).name == "my_log_3"
    assert synthetic_job("stable_diffusion_2node") == "synthetic-stable-diffusion-2node"


@pytest.mark.parametrize("text", ["", "功率", "--", "x" * 500])
def test_a_name_is_always_part_of_an_id(text: str) -> None:
    assert 0 < len(slug(text)) <= 60
    assert slug(text).isascii()


def test_settings_of_a_run_say_how_it_is_added_up() -> None:
    settings = PowerRun(name="a", title="a", profiles=(), grid_s=0.2).audit_settings("nlr", 0.0)
    assert isinstance(settings, PowerAuditSettings)
    assert settings.aggregation.resample_s is None
    assert settings.aggregation.official_step_s == 0.2
