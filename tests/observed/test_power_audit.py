"""One job with a known mean for every fault: named, and right to 0.1 % or refused."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError, Layer, Provenance
from aidc.observed.aggregate import AggregationRules
from aidc.observed.power import Boundary, Domain, PowerKind, PowerOptions
from aidc.observed.power_audit import audit_power, audit_record, examine
from aidc.observed.power_clean import CleanRules
from aidc.observed.power_read import read_power
from aidc.observed.power_rules import PowerAuditSettings
from tests.observed import power_factories as make

ROWS = 1001  # 200 s: ten whole waves
RIGHT = 1e-3
TRUE_W = make.true_mean_w()


@dataclasses.dataclass
class Pair:
    """The two logs of one node, which a fault may change."""

    gpu: make.Log
    cpu: make.Log


Fault = Callable[[Pair], None]


def pair(n: int = ROWS) -> Pair:
    return Pair(make.nvml(make.times(n)), make.rapl(make.times(n)))


def written(job: Pair, folder: Path, node: str = "a") -> list[Path]:
    return [
        job.gpu.write(folder / f"nvml_wattameter_node_{node}.log"),
        job.cpu.write(folder / f"rapl_wattameter_node_{node}.log"),
    ]


def rule(record: dict, name: str) -> dict:
    return next(rule for rule in record["rules"] if rule["id"] == name)


def test_a_sound_job_has_only_the_faults_that_every_log_has(tmp_path: Path) -> None:
    record = audit_power(written(pair(), tmp_path), PowerOptions(interval_s=make.INTERVAL_S))
    failed = {rule["id"] for rule in record["rules"] if rule["failed"]}
    assert failed == {"batch.complete", "channels.nested"}
    assert record["profile"]["mean_w"] == pytest.approx(TRUE_W, rel=RIGHT)
    assert record["profile"]["duration_s"] == pytest.approx(200.0)
    for found in record["rules"]:
        assert found["n"] == found["not_evaluable"] + found["passed"] + found["failed"]
        assert min(found["not_evaluable"], found["passed"], found["failed"]) >= 0


def zeros(job: Pair) -> None:
    job.gpu.put(slice(100, 140, 10), "gpu-0[mW]", "0")


def sentinel(job: Pair) -> None:
    job.gpu.put([50, 51], "gpu-1[mW]", str(2**63))


def megawatts(job: Pair) -> None:
    job.gpu.put([200], "gpu-0[mW]", "4300000000")


def words(job: Pair) -> None:
    job.gpu.put([10, 500], "gpu-0[mW]", "N/A")


def duplicate(job: Pair) -> None:
    job.gpu.stamps[300] = job.gpu.stamps[299]


def swapped(job: Pair) -> None:
    for log in (job.gpu,):
        log.stamps[400], log.stamps[401] = log.stamps[401], log.stamps[400]
        log.rows[400], log.rows[401] = log.rows[401], log.rows[400]


def clock_back(job: Pair) -> None:
    late = make.stamped(make.times(ROWS)[600:] - 60.0)
    job.gpu.stamps[600:] = late
    job.cpu.stamps[600:] = late


def stray_time(job: Pair) -> None:
    job.gpu.stamps[700] = make.stamped(np.array([5000.0]))[0]


def gap(job: Pair) -> None:
    job.gpu.drop(slice(300, 400))
    job.cpu.drop(slice(300, 400))


def stuck(job: Pair) -> None:
    job.gpu.put(slice(500, 600), "gpu-1[mW]", "123456")


def cut_line(job: Pair) -> None:
    job.gpu.rows[-1] = job.gpu.rows[-1][:1]


def wrapped(job: Pair) -> None:
    """The counter falls by 2^32 units of 2^-16 J three times; the file's watts are right."""
    at = job.cpu.column("cpu-0[uJ]")
    for begin in (250, 450, 650):
        for row in job.cpu.rows[begin:]:
            row[at] = str(int(row[at]) - 2**32)


def misread_counter(job: Pair) -> None:
    job.cpu.put([120, 700], "cpu-1[uJ]", "0")


def close_rows(job: Pair) -> None:
    """A read 0.2 ms after the one before, whose counter had not moved yet."""
    stamp = make.stamped(np.array([0.2 * 800 + 0.0002]))[0]
    job.cpu.stamps.insert(801, stamp)
    job.cpu.rows.insert(801, list(job.cpu.rows[800]))


RECOVERABLE: list[tuple[Fault, str, int]] = [
    (zeros, "value.zero", 4),
    (sentinel, "value.sentinel", 2),
    (megawatts, "value.plausible", 1),
    (words, "value.number", 2),
    (duplicate, "time.distinct", 1),
    (swapped, "time.order", 1),
    (stray_time, "time.order", 1),
    (clock_back, "time.order", 2),
    (gap, "time.gaps", 1),
    (stuck, "value.stuck", 100),
    (cut_line, "time.edges", 1),
    (wrapped, "counter.monotone", 3),
    (misread_counter, "counter.readable", 2),
    (close_rows, "counter.readable", 0),
]


@pytest.mark.parametrize(("fault", "name", "count"), RECOVERABLE)
def test_a_recoverable_fault_is_named_and_the_mean_is_right(
    tmp_path: Path, fault: Fault, name: str, count: int
) -> None:
    job = pair()
    fault(job)
    record = audit_power(written(job, tmp_path))
    assert rule(record, name)["failed"] == count
    assert record["profile"]["mean_w_without_gaps"] == pytest.approx(TRUE_W, rel=RIGHT)
    assert record["rows"] == record["kept"] + len(record["set_aside"])
    if count:
        assert rule(record, name)["examples"]


def unit_mislabelled(job: Pair) -> None:
    job.gpu.columns = [name.replace("mW", "W") for name in job.gpu.columns]


def watts_as_milliwatts(job: Pair) -> None:
    for row in job.gpu.rows:
        row[0] = f"{float(row[0]) / 1e3:.3f}"


def root_only(job: Pair) -> None:
    for name in ("cpu-0", "cpu-0-core", "cpu-1", "cpu-1-core"):
        job.cpu.put(slice(0, ROWS), f"{name}[uJ]", "0")


def frozen(job: Pair) -> None:
    job.cpu.put(slice(0, ROWS), "cpu-1[uJ]", "123456789")


def unsupported(job: Pair) -> None:
    job.gpu.put(slice(0, ROWS), "gpu-1[mW]", "[N/A]")


def mostly_gap(job: Pair) -> None:
    job.gpu.drop(slice(300, 700))
    job.cpu.drop(slice(300, 700))


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (unit_mislabelled, "value.unit"),
        (watts_as_milliwatts, "value.unit"),
        (root_only, "counter.alive"),
        (frozen, "counter.alive"),
        (unsupported, "channels.measured"),
        (mostly_gap, "time.gaps"),
    ],
)
def test_an_unrecoverable_fault_is_named_and_no_profile_is_stated(
    tmp_path: Path, fault: Fault, name: str
) -> None:
    job = pair()
    fault(job)
    record = audit_power(written(job, tmp_path))
    assert rule(record, name)["failed"] > 0
    assert set(record["profile"].values()) == {None}
    assert any("no profile is stated" in finding for finding in record["findings"])


def test_a_wrap_is_undone_by_a_stated_range_or_bridged(tmp_path: Path) -> None:
    job = pair()
    wrapped(job)
    job.cpu.columns = job.cpu.columns[:4]
    job.cpu.rows = [row[:4] for row in job.cpu.rows]
    paths = written(job, tmp_path)
    bridged = audit_power(paths)
    assert "range is unknown" in " ".join(bridged["findings"])
    told = PowerAuditSettings(cleaning=CleanRules(counter_range_j=2**32 / 1e6))
    undone = audit_power(paths, settings=told)
    for record in (bridged, undone):
        assert rule(record, "counter.monotone")["failed"] == 3
        assert record["profile"]["mean_w"] == pytest.approx(TRUE_W, rel=RIGHT)


def test_a_read_close_to_another_makes_no_peak(tmp_path: Path) -> None:
    job = pair()
    close_rows(job)
    ticked = job.cpu.column("cpu-0[uJ]")
    job.cpu.rows[801][ticked] = str(int(job.cpu.rows[800][ticked]) + 100_000)  # 500 W for 0.2 ms
    audit = examine([read_power(path) for path in written(job, tmp_path)])
    assert audit.logs[1].watts[:-1, 0].max() == pytest.approx(make.PACKAGE_W[0], rel=RIGHT)


def test_an_interval_that_may_hide_wraps_is_not_used(tmp_path: Path) -> None:
    job = pair()
    late = make.stamped(make.times(ROWS)[500:] + 1000.0)
    job.gpu.stamps[500:] = job.cpu.stamps[500:] = late
    record = audit_power(written(job, tmp_path))
    assert rule(record, "counter.unambiguous")["failed"] == 4
    assert rule(record, "time.gaps")["failed"] == 1


def test_batch_ends_make_dips_only_under_the_official_rule(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path)
    audit = examine([read_power(path) for path in paths])
    assert audit.rule("batch.complete").failed == ROWS // 100 + 1
    assert audit.total.parts["cpu"].min() == pytest.approx(sum(make.PACKAGE_W), rel=RIGHT)
    found = audit.comparison
    assert found is not None
    assert found.ours_w == pytest.approx(TRUE_W, rel=RIGHT)
    assert found.nested_w == pytest.approx(2 * make.CORE_W, rel=1e-3)
    # Eleven of 1,001 rows read as zero, of which the one at the end counts half.
    lost = (sum(make.PACKAGE_W) + 2 * make.CORE_W) * 10.5 / 1000
    assert found.zero_filled_w == pytest.approx(-lost, rel=0.1)
    assert found.difference_w == pytest.approx(found.nested_w + found.zero_filled_w)


def test_cores_are_not_added_to_their_packages(tmp_path: Path) -> None:
    record = audit_power(written(pair(), tmp_path))
    assert rule(record, "channels.nested")["failed"] == 2
    assert any("count 6.0 W twice" in finding for finding in record["findings"])


def test_nodes_are_added_by_time_and_not_by_row(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path, "a")
    late = make.times(ROWS) + 3.0
    paths += written(Pair(make.nvml(late), make.rapl(late)), tmp_path, "b")
    record = audit_power(paths)
    assert rule(record, "nodes.row_alignment")["failed"] == 2
    assert rule(record, "nodes.lag")["failed"] == 0
    assert rule(record, "time.edges")["failed"] == 4
    # 197 s are common: the wave of three seconds at the end is not whole.
    common = np.linspace(3.0, 200.0, 100_001)
    truth = 2 * (sum(make.wave(common, gpu).mean() for gpu in (0, 1)) + sum(make.PACKAGE_W))
    assert record["profile"]["mean_w"] == pytest.approx(truth, rel=RIGHT)
    assert record["profile"]["duration_s"] == pytest.approx(197.0, abs=0.5)


def test_a_lag_between_nodes_is_found(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path, "a")
    other = pair()
    watts = [make.wave(make.times(ROWS) - 5.0, gpu) for gpu in (0, 1)]
    for i, row in enumerate(other.gpu.rows):
        row[:2] = [str(round(1e3 * watts[0][i])), str(round(1e3 * watts[1][i]))]
    record = audit_power(paths + written(other, tmp_path, "b"))
    assert rule(record, "nodes.lag")["failed"] == 1
    assert any("5.0 s behind" in finding for finding in record["findings"])
    assert record["profile"]["mean_w"] == pytest.approx(2 * TRUE_W, rel=RIGHT)


def test_a_missing_device_is_named(tmp_path: Path) -> None:
    job = pair()
    job.gpu.columns = [name.replace("gpu-1", "gpu-2") for name in job.gpu.columns]
    record = audit_power(written(job, tmp_path))
    assert rule(record, "channels.complete")["examples"] == ["a: gpu-1"]
    only_gpu = audit_power([*written(pair(), tmp_path, "a"), written(pair(), tmp_path, "b")[0]])
    assert rule(only_gpu, "channels.complete")["failed"] == 4


def test_the_declared_interval_is_compared(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path)
    record = audit_power(paths, PowerOptions(interval_s=0.1))
    assert rule(record, "time.declared_interval")["failed"] == 2
    assert rule(audit_power(paths), "time.declared_interval")["not_evaluable"] == 2


def test_the_energy_counter_of_a_gpu_is_compared(tmp_path: Path) -> None:
    job = make.nvml(make.times(ROWS), gpus=1)
    energy = np.cumsum(np.concatenate([[0.0], make.wave(make.times(ROWS), 0)[:-1] * 0.2]))
    for scale, failed in ((1.0, 0), (0.9, 1)):
        log = make.Log(
            ["gpu-0[mW]", "gpu-0[mJ]"],
            job.stamps,
            [
                [row[0], str(round(1e9 + 1e3 * scale * e))]
                for row, e in zip(job.rows, energy, strict=True)
            ],
        )
        record = audit_power(log.write(tmp_path / "x.log"))
        assert rule(record, "counter.energy")["failed"] == failed
        assert record["profile"]["mean_w"] == pytest.approx(400.0, rel=RIGHT)


def test_the_files_own_watts_are_compared_with_its_counter(tmp_path: Path) -> None:
    job = pair()
    job.cpu.put([5], "cpu-0[W]", "81.0")
    record = audit_power(written(job, tmp_path))
    assert rule(record, "counter.stated_watts")["failed"] == 1


def test_design_power_is_a_ceiling_where_it_is_stated(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path)
    told = PowerAuditSettings(tdp_w={Domain.GPU: 520.0})
    found = rule(audit_power(paths, settings=told), "value.ceiling")
    peak = make.wave(make.times(ROWS), 1)
    assert found["failed"] == int((np.round(peak, 3) > 520).sum())
    assert found["not_evaluable"] == 2 * ROWS


def test_uneven_sampling_needs_a_time_weighted_mean(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    times = np.concatenate([np.arange(0, 100, 0.5), np.arange(100, 201, 2.0)])
    watts = np.where(times < 100, 100.0, 300.0)
    path.write_text(
        "time_s,power_w\n" + "".join(f"{t},{w}\n" for t, w in zip(times, watts, strict=True))
    )
    record = audit_power(path)
    assert rule(record, "time.weighting")["failed"] == 1
    assert record["profile"]["mean_w"] == pytest.approx(200.0, rel=5e-3)
    assert watts.mean() == pytest.approx(140.0, rel=0.02)


def test_a_reading_that_jumps_is_no_mean_over_a_second(tmp_path: Path) -> None:
    job = pair()
    job.gpu.put(slice(500, ROWS), "gpu-0[mW]", "700000")
    job.gpu.put(slice(500, ROWS, 2), "gpu-0[mW]", "700100")
    declared = PowerOptions(power_kind=PowerKind.AVERAGE_1S)
    record = audit_power(written(job, tmp_path), declared)
    assert rule(record, "reading.kind")["failed"] == 1
    assert any("declared a mean over 1 s, but" in finding for finding in record["findings"])


def test_a_broken_stop_time_is_named(tmp_path: Path) -> None:
    lines = [
        ':::MLLOG {"time_ms": 1000, "key": "power_measurement_start", "value": "null"}',
        *(
            f':::MLLOG {{"time_ms": {3000 + 2000 * i}, "key": "power_reading", "value": 100}}'
            for i in range(9)
        ),
        ':::MLLOG {"time_ms": 1000, "key": "power_measurement_stop", "value": "null"}',
    ]
    path = tmp_path / "dc_node_0.txt"
    path.write_text("\n".join(lines))
    record = audit_power(path)
    assert rule(record, "time.markers")["failed"] == 1
    assert any("it repeats the start" in finding for finding in record["findings"])


def test_logs_of_the_same_name_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    paths = []
    for node in ("n1", "n2"):
        (tmp_path / node).mkdir()
        paths.append(make.nvml(make.times(ROWS)).write(tmp_path / node / "nvml_wattameter.log"))
        paths.append(make.rapl(make.times(ROWS)).write(tmp_path / node / "rapl_wattameter.log"))
    record = audit_power(paths)
    assert record["profile"]["mean_w"] == pytest.approx(2 * TRUE_W, rel=RIGHT)
    assert rule(record, "channels.complete")["n"] == 12


def test_the_same_device_twice_and_mixed_boundaries_are_refused(tmp_path: Path) -> None:
    first, _ = written(pair(), tmp_path, "a")
    with pytest.raises(InputError, match="'gpu-0' of node 'a' in two logs"):
        audit_power([first, first])
    other = make.nvml(make.times(9)).write(tmp_path / "node_b.log")
    options = {str(other): PowerOptions(boundary=Boundary.NODE_AC)}
    with pytest.raises(InputError, match="component, node_ac"):
        audit_power([first, other], options)


def test_logs_without_common_time_are_refused(tmp_path: Path) -> None:
    first, _ = written(pair(), tmp_path, "a")
    later = make.nvml(make.times(9) + 1e5).write(tmp_path / "nvml_node_b.log")
    with pytest.raises(InputError, match="no time that all logs cover"):
        audit_power([first, later])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"\0\0", "NUL byte"),
        ("time_s,power_w\n0,1\n".encode("utf-16"), "NUL byte"),
        (b"time_s;power_w\n0;1\n", "expected a WattAMeter log"),
        (b"time_s,power_w\n0,1\n1,\xe9\n", "expected UTF-8"),
        (b"time_s,power_w\n", "no row"),
        (b"time_s,power_w\n" + b"1" * 1_000_000, "no row"),
        (b"time_s,power_w\n0,1\n0,2\n", "no two usable rows"),
        (gzip.compress(b"time_s,power_w\n" * 999)[:-9], "cut off or damaged"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        audit_power(path)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


def test_folders_urls_and_missing_files_are_one_line(tmp_path: Path) -> None:
    for path in (tmp_path, "https://example.org/log", tmp_path / "nope"):
        with pytest.raises(InputError):
            audit_power(path)
    with pytest.raises(InputError, match="at least one power log"):
        audit_power([])


def test_the_record_is_json_and_carries_the_weakest_evidence(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path)
    audit = examine([read_power(path) for path in paths])
    assert audit.evidence is not None
    assert audit.evidence.layer is Layer.OBSERVED
    assert audit.evidence.provenance is Provenance.UNVERIFIED
    assert len(audit.evidence.inputs) == 2
    record = audit_record(audit)
    assert json.loads(json.dumps(record)) == record
    assert list(record["profile"]) == [
        "mean_w",
        "mean_w_without_gaps",
        "p95_w",
        "p99_w",
        "max_w",
        "energy_wh",
        "duration_s",
        "interval_s",
        "load_factor",
    ]


def test_the_official_rule_can_be_chosen(tmp_path: Path) -> None:
    paths = written(pair(), tmp_path)
    told = PowerAuditSettings(
        aggregation=AggregationRules(aggregation="nlr", resample_s=make.INTERVAL_S)
    )
    record = audit_power(paths, settings=told)
    assert record["aggregation"] == "nlr"
    assert record["profile"]["mean_w"] > TRUE_W + 2
    with pytest.raises(InputError, match="expected one of aidc, nlr"):
        AggregationRules(aggregation="ours")


@settings(max_examples=15, deadline=None)
@given(
    zero=st.sets(st.integers(50, 950), max_size=8),
    blank=st.sets(st.integers(50, 950), max_size=8),
    huge=st.sets(st.integers(50, 950), max_size=8),
)
def test_seeded_faults_are_counted_exactly(
    tmp_path_factory: pytest.TempPathFactory, zero: set[int], blank: set[int], huge: set[int]
) -> None:
    job = pair()
    job.gpu.put(sorted(zero), "gpu-0[mW]", "0")
    job.gpu.put(sorted(blank), "gpu-0[mW]", "N/A")
    job.gpu.put(sorted(huge), "gpu-0[mW]", "9000000000")
    record = audit_power(written(job, tmp_path_factory.mktemp("job")))
    assert rule(record, "value.zero")["failed"] == len(zero - blank - huge)
    assert rule(record, "value.number")["failed"] == len(blank - huge)
    assert rule(record, "value.plausible")["failed"] == len(huge)


@pytest.mark.real_data
def test_real_mlperf_run_one(real_data: Path) -> None:
    folder = real_data / "power" / "2_mlperf_v4.0_smc_llama2lora_8xH100"
    found = {path.name[:2]: audit_power(path) for path in folder.glob("*_1_node_0.txt")}
    direct, mains = found["dc"], found["ac"]
    assert direct["profile"]["mean_w"] == pytest.approx(6752.7, abs=0.05)
    assert direct["profile"]["mean_w_without_gaps"] == pytest.approx(6778.9, abs=0.05)
    assert mains["profile"]["mean_w"] == pytest.approx(6942.1, abs=0.05)
    assert rule(direct, "time.gaps")["failed"] == 7
    assert rule(direct, "time.distinct")["failed"] == 1
    assert rule(direct, "time.markers")["failed"] == 1
    said = " ".join(direct["findings"])
    assert "7 gaps longer than 10.0" in said
    assert "take 131.5 s (7.3% of the run)" in said
    assert "the arithmetic mean 6782.3 W" in said
    assert "it repeats the start" in said


@pytest.mark.real_data
def test_real_nlr_profile(real_data: Path) -> None:
    path = real_data / "power" / "nlr_llama2lora_16node_gpu" / "pscad_load_profile.csv"
    told = PowerOptions(
        base_w=34127.56, per_unit_factor=20, time_unit="s", boundary=Boundary.COMPONENT
    )
    record = audit_power(path, told)
    said = " ".join(record["findings"])
    assert "reads are late at 721.3 s and 1442.3 s, after every 3,600 rows" in said


@pytest.mark.real_data
def test_real_wattameter_pair(real_data: Path) -> None:
    folder = real_data / "power" / "1_wattameter_example"
    record = audit_power(sorted(folder.glob("*.log")))
    said = " ".join(record["findings"])
    assert "4 GPUs of 4 behave like a mean over 1 s" in said
    assert rule(record, "counter.stated_watts")["failed"] == 0
    assert record["profile"]["energy_wh"] == pytest.approx(4.50, abs=0.02)
