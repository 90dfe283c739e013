"""`reproduced` can be reached, and only by the registered file itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from aidc.catalog.trace import open_trace
from aidc.evidence import InputError
from aidc.evidence.registry import Claim, Source
from aidc.observed.fetch import fetch
from aidc.observed.funnel import select_pool
from aidc.observed.trace import JobTrace
from aidc.publish.ledger import verdicts
from aidc.publish.results import Results
from aidc.standin.trace import write_trace
from tests.local_server import serving_folder

HEADER = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    "duration,queue,gpu_time\n"
)
ROW = (
    "{0},u1,1,8,128,Eval,{1},2023-03-01 00:0{0}:00+08:00,2023-03-01 00:0{0}:10+08:00,"
    "2023-03-01 00:0{0}:40+08:00,30,10,240.0\n"
)
STATES = ("COMPLETED", "FAILED", "COMPLETED")
CONTENT = (HEADER + "".join(ROW.format(i, s) for i, s in enumerate(STATES))).encode()


def registered(address: str, content: bytes = CONTENT) -> dict[str, Source]:
    blob = b"blob %d\0" % len(content) + content
    source = Source(
        key="acme-seren",
        title="a small trace",
        path="trace_seren.csv",
        url=f"{address}/trace.csv",
        git_blob=hashlib.sha1(blob).hexdigest(),  # noqa: S324  # git's own hash
        licence=("CC BY 4.0",),
        citation="someone",
        dialect="seren",
    )
    return {source.key: source}


def claim(value: int) -> Claim:
    return Claim(
        id="pool.jobs",
        value=value,
        unit="jobs",
        exact=True,
        tolerance=0,
        population="completed GPU jobs",
        definition="number",
        section="3.1",
        source="someone",
        input="acme-seren",
        calibrated=True,
        number="pool.jobs",
    )


def verdict(trace: JobTrace, value: int, folder: Path) -> str:
    """Publish the size of the pool, read it back, and judge a claim on it."""
    pool = select_pool(trace)
    out = Results("31_task_pool", "3.1", folder / "results", {})
    out.number("pool.jobs", len(pool.jobs), "jobs", of=pool)
    out.finish()
    numbers = json.loads((folder / "results" / "numbers.json").read_text())["numbers"]
    return verdicts([claim(value)], numbers)[0].kind.value


@pytest.fixture
def fetched(tmp_path: Path) -> tuple[Path, dict[str, Source]]:
    """A cache with the registered file, fetched from a local server."""
    served, cache = tmp_path / "served", tmp_path / "cache"
    served.mkdir()
    (served / "trace.csv").write_bytes(CONTENT)

    with serving_folder(served) as address:
        sources = registered(address)
        fetch(["acme-seren"], cache, sources=sources)
    return cache, sources


@pytest.mark.parametrize(("published", "expected"), [(2, "reproduced"), (3, "differs")])
def test_the_fetched_file_reproduces_or_contradicts(
    fetched: tuple[Path, dict[str, Source]], tmp_path: Path, published: int, expected: str
) -> None:
    cache, sources = fetched
    trace = open_trace("seren", cache=cache, sources=sources)
    assert verdict(trace, published, tmp_path) == expected


def test_the_same_content_by_path_is_the_registered_file(
    fetched: tuple[Path, dict[str, Source]], tmp_path: Path
) -> None:
    path = tmp_path / "renamed.csv"
    path.write_bytes(CONTENT)
    trace = open_trace(str(path), sources=fetched[1])
    assert verdict(trace, 2, tmp_path) == "reproduced"


def test_one_changed_byte_cannot_reproduce(
    fetched: tuple[Path, dict[str, Source]], tmp_path: Path
) -> None:
    cache, sources = fetched
    changed = CONTENT.replace(b",u1,", b",u2,", 1)
    path = tmp_path / "mine.csv"
    path.write_bytes(changed)
    trace = open_trace(str(path), sources=sources)
    assert verdict(trace, 2, tmp_path) == "not testable on this data"
    (cache / "trace_seren.csv").write_bytes(changed)
    with pytest.raises(InputError, match="acme-seren"):
        open_trace("seren", cache=cache, sources=sources)


def test_a_stand_in_cannot_reproduce_even_under_a_registered_name(tmp_path: Path) -> None:
    path = tmp_path / "trace_seren.csv"
    write_trace(path, rows=200, seed=1)
    sources = registered("http://127.0.0.1:9")
    trace = open_trace(str(path), sources=sources)
    agreed = len(select_pool(trace).jobs)
    assert verdict(trace, agreed, tmp_path) == "not testable on this data"
