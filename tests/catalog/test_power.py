"""What a power log may claim depends on what it holds, not on its name or its place."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from aidc import paths
from aidc.catalog import power as catalog
from aidc.catalog.power import check_power_name, open_power
from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.evidence.registry import Source, load_sources
from aidc.observed.power import Domain
from aidc.observed.power_audit import examine
from aidc.observed.power_runs import NLR_RUNS
from aidc.standin import power as standin
from aidc.standin import power_logs
from tests.observed.power_factories import nvml, rapl, times

N = 400
RUN = "llama2_70b_lora_2node"
DRAWN = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"nlr-standin"}))


def node_logs(folder: Path, ending: str = "") -> list[Path]:
    """Write the two logs of a node and return their paths."""
    folder.mkdir(exist_ok=True)
    at = times(N)
    return [
        nvml(at).write(folder / f"nvml_wattameter{ending}.log"),
        rapl(at).write(folder / f"rapl_wattameter{ending}.log"),
    ]


def archive(path: Path) -> Path:
    """Write a small archive with the layout of the real one: both runs, one node each."""
    root = "dataset/00_raw_datasets/training/2node"
    with zipfile.ZipFile(path, "w") as packed:
        for run in NLR_RUNS.values():
            for kind, log in (("nvml", nvml(times(N))), ("rapl", rapl(times(N)))):
                name = f"{kind}_wattameter_emissions_parsed_slurmid_{run.job}_node_x1.log"
                packed.writestr(f"{root}/{name}", log.text())
    return path


def source(path: Path, **hashes: str) -> dict[str, Source]:
    """A registry in which the NLR archive is ``path``'s content."""
    entry = {
        "key": "nlr-profiles",
        "title": "Power profiles",
        "path": path.name,
        "url": "https://example.org/dataset.zip",
        "bytes": path.stat().st_size,
        "licence": ["CC-BY-4.0"],
        "citation": "someone",
        "dialect": "nlr-archive",
        **hashes,
    }
    return {"nlr-profiles": Source.model_validate(entry)}


def evidence(runs: object) -> set[str]:
    return {str(log.evidence) for run in runs for log in run.profiles}  # type: ignore[attr-defined]


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """A short stand-in by the real generator, in place of the cached ones."""
    folder = tmp_path / "drawn"
    folder.mkdir()
    plan = power_logs.draw_plan(60.0, np.random.default_rng(0))
    curve = 3000 + 1000 * np.sin(np.arange(1300) / 8)
    power_logs.write_logs(
        power_logs.node_logs(curve, 0.05, 0.9, plan), "synthetic-llama2-70b-lora-2node", folder
    )
    files = sorted(folder.glob("*.log"))
    monkeypatch.setattr(standin, "cached", lambda run: files)
    catalog._synthetic_times.cache_clear()
    yield files
    catalog._synthetic_times.cache_clear()


def test_the_standin_is_synthetic_and_has_both_runs(drawn: list[Path]) -> None:
    runs = open_power("nlr-standin")
    assert [run.name for run in runs] == list(NLR_RUNS)
    assert all(log.evidence == DRAWN for run in runs for log in run.profiles)
    assert runs[0].tdp_w[Domain.GPU] == 700
    assert runs[0].profiles[0].interval_s == runs[0].grid_s == 0.2


def test_a_copy_of_the_standin_cannot_pass_as_data(drawn: list[Path], tmp_path: Path) -> None:
    lines = drawn[0].read_text().splitlines(keepends=True)
    header = [line for line in lines if "timestamp" in line]
    rows = lines[len(lines) - 200 :]
    disguised = {
        "copy.log": "".join(lines).encode(),
        "packed.log.gz": gzip.compress("".join(lines).encode()),
        "without_banner.log": "".join(header + rows).encode(),
        "every_third_row.log": "".join(header + rows[::3]).encode(),
    }
    for name, content in disguised.items():
        path = tmp_path / name
        path.write_bytes(content)
        (run,) = open_power(str(path))
        assert run.profiles[0].evidence == DRAWN, name


def test_a_log_of_the_same_hour_is_not_taken_for_the_standin(
    drawn: list[Path], tmp_path: Path
) -> None:
    text = nvml(times(N)).text().replace("2025-03-01_12:", "2025-09-01_10:")
    path = tmp_path / "real.log"
    path.write_text(text.replace(".200000", ".200007"))
    (run,) = open_power(path)
    assert run.profiles[0].evidence is not None
    assert run.profiles[0].evidence.provenance is Provenance.UNVERIFIED


def test_any_other_log_is_unverified_and_named_by_its_content(tmp_path: Path) -> None:
    (path, _) = node_logs(tmp_path / "job")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    (run,) = open_power(str(path))
    name = f"file:wattameter:{digest}"
    assert run.profiles[0].evidence == Evidence(
        Layer.OBSERVED, Provenance.UNVERIFIED, frozenset({name})
    )
    assert path.resolve() in paths.recorded_inputs()
    assert (run.tdp_w, run.grid_s) == ({}, None)


def test_a_registered_log_is_verified(tmp_path: Path) -> None:
    (path, _) = node_logs(tmp_path / "job")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (run,) = open_power(path, sources=source(path, sha256=digest))
    assert run.profiles[0].evidence is not None
    assert run.profiles[0].evidence.provenance is Provenance.VERIFIED


def test_a_list_a_folder_and_a_sequence_are_the_same_job(tmp_path: Path) -> None:
    files = node_logs(tmp_path / "job")
    (tmp_path / "job" / "LICENSE").write_text("All rights reserved.\n")
    (listed,) = open_power(f"{files[0]}, {files[1]}")
    (folder,) = open_power(str(tmp_path / "job"))
    (sequence,) = open_power(files)
    names = [[log.path.name for log in run.profiles] for run in (listed, folder, sequence)]
    assert names == [["nvml_wattameter.log", "rapl_wattameter.log"]] * 3
    assert listed.name == folder.name == "job_1"
    assert len(folder.passed_over) == 1
    assert "LICENSE" in folder.passed_over[0]
    assert not examine(listed.profiles).total.refused


def test_a_folder_of_two_jobs_is_two_runs(tmp_path: Path) -> None:
    for job in ("7", "8"):
        node_logs(tmp_path / "jobs", f"_emissions_parsed_slurmid_{job}_node_a")
    assert [run.name for run in open_power(str(tmp_path / "jobs"))] == ["job_7", "job_8"]


def test_one_folder_a_node_is_one_job(tmp_path: Path) -> None:
    for node in ("a", "b"):
        node_logs(tmp_path / node)
    (run,) = open_power(f"{tmp_path / 'a'},{tmp_path / 'b'}")
    assert {log.node for log in run.profiles} == {"a", "b"}
    assert examine(run.profiles).total.nodes == 2


def test_logs_of_the_papers_jobs_have_the_papers_names(tmp_path: Path) -> None:
    job = NLR_RUNS[RUN].job
    node_logs(tmp_path / "jobs", f"_emissions_parsed_slurmid_{job}_node_a")
    (run,) = open_power(str(tmp_path / "jobs"))
    assert (run.name, run.title) == (RUN, "Llama2-70B LoRA, 2 nodes")
    assert evidence([run]).pop().startswith("observed layer · unverified")


def test_the_archive_is_verified_only_by_its_whole_hash(tmp_path: Path) -> None:
    path = archive(tmp_path / "dataset.zip")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    whole = source(path, sha256=digest)
    part = source(path, sha256_start=digest[:8], sha256_end=digest[-6:])
    for name, given in (("nlr", {"cache": tmp_path}), (str(path), {})):
        runs = open_power(name, sources=whole, **given)  # type: ignore[arg-type]
        assert [run.name for run in runs] == list(NLR_RUNS)
        assert evidence(runs) == {"observed layer · verified · from nlr-profiles"}
        runs = open_power(name, sources=part, **given)  # type: ignore[arg-type]
        said = f"observed layer · unverified · from file:nlr-archive:{digest[:12]}"
        assert evidence(runs) == {said}


def test_an_archive_that_contradicts_what_is_known_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "dataset.zip")
    wrong = source(path, sha256_start="0000", sha256_end="ffff")
    with pytest.raises(InputError, match=r"expected 0000\.\.\.ffff for nlr-profiles; move it"):
        open_power("nlr", cache=tmp_path, sources=wrong)
    with pytest.raises(InputError, match=r"run 'python -m aidc fetch nlr-profiles'"):
        open_power("nlr", cache=tmp_path / "none", sources=wrong)


def test_the_registered_archive_says_that_it_cannot_be_verified_yet() -> None:
    entry = load_sources()["nlr-profiles"]
    assert not entry.verifiable
    assert entry.sha256_start
    assert "unverified" in (entry.note or "")


@pytest.mark.parametrize("name", ["nlr-standin", "nlr"])
def test_keys_are_accepted_as_they_are(name: str) -> None:
    assert check_power_name(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope.log", "power 'nope.log': no such file or folder .*nlr-standin, nlr or path"),
        ("", "no such file or folder"),
        (",", "no such file or folder"),
        ("https://example.org/a.log", "found a URL, expected a path of a local file"),
    ],
)
def test_what_is_no_power_log_is_refused_in_one_line(name: str, message: str) -> None:
    for call in (check_power_name, open_power):
        with pytest.raises(InputError, match=message) as error:
            call(name)  # type: ignore[operator]
        assert "\n" not in str(error.value)


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("nothing here\n")
    with pytest.raises(InputError, match="found no power log, only 1 other files"):
        open_power(str(tmp_path / "notes"))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "run", "logs"),
    [
        ("1_wattameter_example", "job_10989526", 2),
        (
            "2_mlperf_v4.0_smc_llama2lora_8xH100/dc_result_4951-240509201759121728742_1_node_0.txt",
            "dc_result_4951_240509201759121728742_1_node_0",
            1,
        ),
    ],
)
def test_real_logs_given_by_path_are_unverified(
    real_data: Path, name: str, run: str, logs: int
) -> None:
    (found,) = open_power(str(real_data / "power" / name))
    assert (found.name, len(found.profiles)) == (run, logs)
    assert all(
        log.evidence is not None and log.evidence.provenance is Provenance.UNVERIFIED
        for log in found.profiles
    )
