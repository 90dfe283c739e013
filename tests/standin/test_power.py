"""The synthetic power logs: format, calibration, honesty, reproducibility."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from aidc import paths
from aidc.evidence import InputError, Provenance
from aidc.observed.aggregate import AggregationRules
from aidc.observed.power_audit import PowerAudit, examine
from aidc.observed.power_read import read_power
from aidc.observed.power_rules import PowerAuditSettings
from aidc.observed.profile import sample_figures
from aidc.observed.spectrum import spectrum
from aidc.standin import power, power_logs

RUNS = power.runs()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def files(cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Path]]:
    monkeypatch.setattr(paths, "CACHE", cache)
    return {run: power.cached(run) for run in RUNS}


def audited(files: list[Path], aggregation: str) -> PowerAudit:
    rules = AggregationRules(
        aggregation=aggregation, resample_s=0.2 if aggregation == "nlr" else None
    )
    settings = PowerAuditSettings(aggregation=rules)
    return examine([read_power(path) for path in files], settings)


@pytest.mark.parametrize("run", RUNS)
def test_published_figures_hold_under_the_official_aggregation(
    files: dict[str, list[Path]], run: str
) -> None:
    total = audited(files[run], "nlr").total
    report = power.fit(run, sample_figures(total)).set_index("figure")
    assert report.index[report["met"].eq(False)].tolist() == []
    assert report.loc["energy_wh", "met"] is None
    assert report.loc["mean_w", "difference"] == pytest.approx(0, abs=0.5)
    assert spectrum(total).dominant_period_s == pytest.approx(power.SHAPES[run].period_s, rel=0.05)


@pytest.mark.parametrize("run", RUNS)
def test_the_logs_have_the_faults_of_the_tool_and_no_other(
    files: dict[str, list[Path]], run: str
) -> None:
    audit = audited(files[run], "aidc")
    failed = {rule.id for rule in audit.rules if rule.failed}
    assert failed == {
        "batch.complete",
        "channels.nested",
        "counter.monotone",
        "nodes.row_alignment",
        "time.punctual",
    }
    rapl = [log for log in audit.logs if log.profile.incomplete is not None]
    ends = sum(-(-log.profile.rows // power_logs.BATCH_ROWS) for log in rapl)
    assert audit.rule("batch.complete").failed == ends
    assert audit.comparison is not None
    assert 1 < audit.comparison.nested_w < 3
    assert audit.total.devices == {"gpu": 8, "cpu": 4}
    assert audit.total.refused == ()


def test_the_files_say_that_they_are_synthetic(files: dict[str, list[Path]]) -> None:
    for path in files[RUNS[0]]:
        assert "SYNTHETIC" in path.read_text()[:400]
        profile = read_power(path)
        assert profile.synthetic
        assert profile.evidence is not None
        assert profile.evidence.provenance is Provenance.SYNTHETIC
        assert profile.job.startswith("synthetic-")
        assert profile.node.startswith("syn")


def digest(folder: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in folder)).hexdigest()


def test_same_seed_same_bytes(
    files: dict[str, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    again = power.cached(RUNS[0])
    assert digest(again) == digest(files[RUNS[0]])
    assert digest(power.cached(RUNS[0], seed=1)) != digest(again)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".nlr")]


def test_a_draw_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(power_logs, "write_logs", full)
    with pytest.raises(OSError, match="No space left"):
        power.cached(RUNS[0])
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_unknown_runs_and_seeds_are_refused() -> None:
    with pytest.raises(InputError, match="expected one of llama2_70b_lora_2node"):
        power.draw_run("x")
    with pytest.raises(InputError, match="seed=-1"):
        power.draw_run(RUNS[0], -1)


def test_counters_wrap_and_the_derived_watts_do_not_see_it() -> None:
    logs = power.draw_run(RUNS[0])
    for log in logs:
        assert (np.diff(log.counter_uj, axis=0) < 0).any()
        assert log.counter_uj.max() < power_logs.COUNTER_RANGE_UJ
        assert log.derived_w[:, ::2].min() > 40
        assert log.derived_w.max() < 360
        assert log.gpu_mw.min() > 50_000
        assert log.gpu_mw.max() < 720_000
