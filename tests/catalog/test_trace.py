"""What an input may claim depends on what it holds, not on its name or its place."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from aidc import paths
from aidc.catalog import trace as catalog
from aidc.catalog.trace import check_trace_name, open_trace
from aidc.evidence import Evidence, InputError, Layer, Provenance, evidence_of
from aidc.evidence.registry import Source
from aidc.standin import trace as standin

HEADER = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    "duration,queue,gpu_time"
)
LINE = (
    "17,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
    "2023-03-01 00:20:51+08:00,117,32,936.0"
)
CONTENT = f"{HEADER}\n{LINE}\n".encode()
ROWS = 2000


def sources(content: bytes) -> dict[str, Source]:
    """A registry in which the trace of Seren holds ``content``."""
    entry = {
        "key": "acme-seren",
        "title": "Seren",
        "path": "trace_seren.csv",
        "url": "https://example.org/trace_seren.csv",
        "git_blob": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),  # noqa: S324
        "licence": ["CC-BY-4.0"],
        "citation": "someone",
    }
    return {"acme-seren": Source.model_validate(entry)}


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("standin") / "jobs.csv"
    standin.write_trace(path, rows=ROWS)
    return path


def observed(provenance: Provenance, name: str) -> Evidence:
    return Evidence(Layer.OBSERVED, provenance, frozenset({name}))


def test_any_other_file_is_unverified(tmp_path: Path) -> None:
    path = tmp_path / "trace_seren.csv"
    path.write_bytes(CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()[:12]
    expected = observed(Provenance.UNVERIFIED, f"file:seren:{digest}")
    assert open_trace(str(path)).evidence == expected
    packed = tmp_path / "jobs.csv.gz"
    packed.write_bytes(gzip.compress(CONTENT))
    assert open_trace(str(packed)).evidence == expected


def test_a_registered_file_is_verified_wherever_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "renamed.csv"
    path.write_bytes(CONTENT)
    expected = observed(Provenance.VERIFIED, "acme-seren")
    assert open_trace(str(path), sources=sources(CONTENT)).evidence == expected
    path.write_bytes(CONTENT.replace(b"117", b"118"))
    changed = open_trace(str(path), sources=sources(CONTENT)).evidence
    assert changed is not None
    assert changed.provenance is Provenance.UNVERIFIED


def test_the_fetched_file_is_verified_only_by_its_content(tmp_path: Path) -> None:
    registry = sources(CONTENT)
    with pytest.raises(InputError, match=r"not there.*run 'python -m aidc fetch acme-seren'"):
        open_trace("seren", cache=tmp_path, sources=registry)
    path = tmp_path / "trace_seren.csv"
    path.write_bytes(CONTENT)
    trace = open_trace("seren", cache=tmp_path, sources=registry)
    assert trace.evidence == observed(Provenance.VERIFIED, "acme-seren")
    path.write_bytes(CONTENT + b"\n")
    with pytest.raises(InputError, match=r"found git blob .*, expected .*move it away and run"):
        open_trace("seren", cache=tmp_path, sources=registry)


def test_the_standin_is_synthetic(synthetic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standin, "cached", lambda: synthetic)
    trace = open_trace("seren-standin")
    assert trace.evidence == observed(Provenance.SYNTHETIC, "seren-standin")
    assert (trace.rows, len(trace.set_aside), trace.dialect.key) == (ROWS, 0, "seren")
    assert trace.utc_offset == "+08:00"


def test_a_copy_of_the_standin_cannot_pass_as_data(synthetic: Path, tmp_path: Path) -> None:
    content = synthetic.read_bytes()
    lines = content.splitlines(keepends=True)
    disguised = {
        "copy.csv": content,
        "packed.csv.gz": gzip.compress(content),
        "part.csv": b"".join(lines[:5]),
        "mixed.csv": CONTENT + lines[1],
    }
    for name, data in disguised.items():
        path = tmp_path / name
        path.write_bytes(data)
        found = evidence_of(open_trace(str(path)))
        (origin,) = found.inputs
        assert found.provenance is Provenance.SYNTHETIC, name
        assert origin.startswith("seren-standin:"), name


def test_every_user_of_the_standin_is_marked() -> None:
    users = standin.generate(rows=ROWS)["user"].cat.categories
    assert all(catalog._SYNTHETIC_USER.fullmatch(user) for user in users)
    assert not catalog._SYNTHETIC_USER.fullmatch("u5907")


def test_a_dialect_can_be_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(CONTENT)
    assert open_trace(str(path), "seren").dialect.key == "seren"
    with pytest.raises(InputError, match="of dialect 'kalos'"):
        open_trace(str(path), "kalos")


def test_relative_paths_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs.csv").write_bytes(CONTENT)
    monkeypatch.chdir(tmp_path)
    assert check_trace_name("jobs.csv") == str(tmp_path / "jobs.csv")
    assert open_trace("jobs.csv").rows == 1


def test_every_opened_file_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(CONTENT)
    open_trace(str(path))
    assert path.resolve() in paths.recorded_inputs()


@pytest.mark.parametrize("name", ["seren-standin", "seren", "kalos"])
def test_keys_are_accepted_as_they_are(name: str) -> None:
    assert check_trace_name(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope.csv", "trace 'nope.csv': no such file .*seren-standin, seren, kalos or the path"),
        ("", "found a folder|no such file"),
        ("https://example.org/a.csv", "found a URL, expected a path of a local file"),
        (".", "found a folder, expected a trace file"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(name: str, message: str) -> None:
    for call in (check_trace_name, open_trace):
        with pytest.raises(InputError, match=message) as error:
            call(name)
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_the_full_standin_loads_clean() -> None:
    trace = open_trace("seren-standin")
    assert trace.rows == len(trace.jobs) == standin.FULL_ROWS
    assert trace.evidence == observed(Provenance.SYNTHETIC, "seren-standin")


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("acme/seren_rows_from_notebook.csv", "seren"),
        ("acme/kalos_rows_from_notebook.csv", "kalos"),
        ("philly/rfold_philly_trace.csv", "philly-rfold"),
    ],
)
def test_real_files_given_by_path_are_unverified(real_data: Path, name: str, dialect: str) -> None:
    evidence = open_trace(str(real_data / name)).evidence
    assert evidence is not None
    assert evidence.provenance is Provenance.UNVERIFIED
    assert next(iter(evidence.inputs)).startswith(f"file:{dialect}:")


def test_who_opens_traces_only_loads_nothing_of_power() -> None:
    script = "import sys, aidc.catalog.trace, aidc.settings.task_pool; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "aidc.observed.trace" in loaded
    assert [name for name in loaded if name.startswith("aidc.") and "power" in name] == []
