"""Loading a trace: what is written comes back, and every other row is set aside with a reason."""

from __future__ import annotations

import dataclasses
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aidc.evidence import Evidence, InputError, Layer, Provenance
from aidc.observed import textfile
from aidc.observed.formats import KALOS, PHILLY_RFOLD, SEREN, Dialect
from aidc.observed.trace import JobTrace, load_trace
from tests.observed.seren_lines import HEADER, SEREN_ROW, row

EVIDENCE = Evidence(Layer.OBSERVED, Provenance.UNVERIFIED, frozenset({"file:test"}))
LINE = row()
FIELDS = len(SEREN_ROW)

# tmp_path is shared by the examples of a property; each overwrites its file.
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def load(path: Path, dialect: str | Dialect = "auto") -> JobTrace:
    trace = load_trace(path, dialect, evidence=EVIDENCE)
    assert trace.rows == len(trace.jobs) + len(trace.set_aside)
    assert trace.set_aside["line"].is_monotonic_increasing
    assert len(trace.extras) == len(trace.jobs)
    return trace


def load_lines(folder: Path, *lines: str, header: str = HEADER, end: str = "\n") -> JobTrace:
    path = folder / "jobs.csv"
    path.write_bytes(end.join([header, *lines, ""]).encode())
    return load(path)


# --- what is written comes back ---------------------------------------------------------

seconds = st.integers(0, 10**8)
words = st.sampled_from(["COMPLETED", "Eval", "Grüße", "a b", 'say "hi"', "x,y", "UNHEARD_OF"])
offsets = st.sampled_from(["+08:00", "+00:00", "-03:30"])


@st.composite
def acme_jobs(draw: st.DrawFn, offset: str) -> pd.DataFrame:
    """Jobs in canonical form; some without an end, a queue, GPU time, a state or a user."""
    n = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    def moments() -> pd.Series[Any]:
        after = pd.to_timedelta(column(st.none() | seconds), unit="s")
        return pd.Series(pd.Timestamp(f"2023-01-01 00:00:00{offset}").as_unit("ns") + after)

    return pd.DataFrame(
        {
            "job_id": column(st.text("abcdef0123456789", min_size=1).filter(lambda t: t != "-")),
            "user": pd.Categorical(column(st.none() | words)),
            "node_num": np.array(column(st.integers(0, 1000)), np.int32),
            "gpu_num": np.array(column(st.integers(0, 10_000)), np.int32),
            "cpu_num": np.array(column(st.integers(0, 100_000)), np.int32),
            "type": pd.Categorical(column(words)),
            "state": pd.Categorical(column(st.none() | words)),
            "submit_time": pd.Timestamp(f"2023-01-01 00:00:00{offset}").as_unit("ns")
            + pd.to_timedelta(column(seconds), unit="s"),
            "start_time": moments(),
            "end_time": moments(),
            "duration_s": column(seconds),
            "queue_s": column(st.none() | seconds),
            "gpu_time_s": column(st.none() | st.floats(0, 1e9)),
        }
    ).astype({"queue_s": np.float64, "gpu_time_s": np.float64})


def write(jobs: pd.DataFrame, dialect: Dialect, path: Path) -> None:
    text = jobs.rename(columns=dict(dialect.columns))
    for column in dialect.signature:
        text[column] = "kept aside"
    text.to_csv(path, index=False)


@shared_folder
@given(data=st.data(), offset=offsets, dialect=st.sampled_from([SEREN, KALOS]))
def test_jobs_written_in_a_dialect_load_back_the_same(
    tmp_path: Path, data: st.DataObject, offset: str, dialect: Dialect
) -> None:
    jobs = data.draw(acme_jobs(offset))
    write(jobs, dialect, tmp_path / "jobs.csv")
    trace = load(tmp_path / "jobs.csv")
    assert trace.dialect is dialect
    assert (trace.utc_offset, trace.clock) == (offset, "calendar")
    assert list(trace.extras) == list(dialect.signature)
    assert trace.jobs["line"].tolist() == list(range(2, len(jobs) + 2))
    pd.testing.assert_frame_equal(
        trace.jobs.drop(columns="line"), jobs, check_dtype=False, check_categorical=False
    )


@shared_folder
@given(
    arrivals=st.lists(st.integers(0, 10**7), min_size=1, max_size=20),
    gpus=st.integers(1, 2048),
    duration=st.floats(0, 1e7),
)
def test_an_elapsed_clock_counts_seconds(
    tmp_path: Path, arrivals: list[int], gpus: int, duration: float
) -> None:
    lines = [f"{i},{at}.0,CLOS,1,{gpus},{duration!r}" for i, at in enumerate(arrivals)]
    trace = load_lines(tmp_path, *lines, header="#job id,arrival time (sec),topology,shape,"
                       "size,duration (sec)")  # fmt: skip
    assert trace.dialect is PHILLY_RFOLD
    assert (trace.clock, trace.utc_offset) == ("elapsed", "none")
    elapsed = (trace.jobs["submit_time"] - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(1, "s")
    assert elapsed.tolist() == arrivals
    assert set(trace.jobs["gpu_num"]) == {gpus}
    assert set(trace.jobs["duration_s"]) == {duration}
    assert list(trace.jobs) == ["job_id", "gpu_num", "submit_time", "duration_s", "line"]
    assert list(trace.extras) == ["topology", "shape"]


def test_a_dialect_in_other_units_is_converted_to_seconds(tmp_path: Path) -> None:
    columns = {"job_id": "id", "gpu_num": "gpus", "submit_time": "at", "duration_s": "took"}
    own = Dialect(key="own", title="own", columns=columns, clock="elapsed", unit="min")
    path = tmp_path / "own.csv"
    path.write_text("id,gpus,at,took\na,1,0.5,2\nb,1,3,0.25\n")
    jobs = load(path, own).jobs
    assert jobs["duration_s"].tolist() == [120, 15]
    assert jobs["submit_time"].diff().dt.total_seconds().tolist()[1:] == [150]


def test_types_are_the_documented_ones(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, LINE, row(state="RUNNING", end_time=""))
    assert {name: str(kind) for name, kind in trace.jobs.dtypes.items()} == {
        "job_id": "str",
        "user": "category",
        "node_num": "int32",
        "gpu_num": "int32",
        "cpu_num": "int32",
        "type": "category",
        "state": "category",
        "submit_time": "datetime64[ns, UTC+08:00]",
        "start_time": "datetime64[ns, UTC+08:00]",
        "end_time": "datetime64[ns, UTC+08:00]",
        "duration_s": "int64",
        "queue_s": "int64",
        "gpu_time_s": "float64",
        "line": "int32",
    }
    assert list(trace.jobs["state"].cat.categories) == ["FAILED", "RUNNING"]
    assert isinstance(trace.jobs.index, pd.RangeIndex)
    assert trace.evidence is EVIDENCE


# --- what the audit judges is kept -------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "PREEMPTED"},
        {"type": "Unheard of"},
        {"end_time": "2023-02-01 00:00:00+08:00"},
        {"duration": "5"},
        {"end_time": ""},
        {"gpu_time": ""},
        {"queue": "NaN"},
        {"user": "None"},
        {"start_time": "-"},
        {"duration": "0"},
        {"queue": "10.0"},
        {"gpu_num": " 8 "},
        {"duration": "1e3"},
        {"submit_time": "2023-03-01T00:18:22+08:00"},
        {"submit_time": "2023-03-01 00:18:22.250+0800"},
    ],
)
def test_a_readable_row_is_kept_whatever_it_says(tmp_path: Path, changes: dict[str, str]) -> None:
    trace = load_lines(tmp_path, LINE, row(**changes), LINE)
    assert trace.set_aside.empty
    assert trace.utc_offset == "+08:00"
    # What becomes of a row does not depend on whether another one is broken.
    beside_broken = load_lines(tmp_path, LINE, row(**changes), LINE, "x")
    assert beside_broken.set_aside["line"].tolist() == [5]
    pd.testing.assert_frame_equal(beside_broken.jobs, trace.jobs)


def test_missing_words_count_as_missing(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, LINE, row(user="None", queue="-", end_time="NaN", cpu_num=""))
    assert trace.jobs[["user", "queue_s", "end_time", "cpu_num"]].isna().all(axis=1).tolist() == [
        False,
        True,
    ]


def test_mixed_offsets_are_kept_and_reported(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, LINE, row(end_time="2023-02-28 16:20:51Z"))
    assert trace.utc_offset == "mixed"
    assert str(trace.jobs["end_time"].dtype) == "datetime64[ns, UTC]"
    assert trace.jobs["end_time"].diff().dt.total_seconds().iloc[1] == 0


def test_the_offset_of_a_row_set_aside_does_not_count(tmp_path: Path) -> None:
    other = row(submit_time="2023-02-28 16:18:22+00:00", duration="-1")
    assert load_lines(tmp_path, LINE, other).utc_offset == "+08:00"


# --- faulty rows -------------------------------------------------------------------------

Fault = tuple[str, str]  # the text of a row, the reason to expect
FAULTS: list[Fault] = [
    (LINE.rsplit(",", 1)[0], f"{FIELDS - 1} fields, expected {FIELDS}"),
    (LINE + ",1", f"{FIELDS + 1} fields, expected {FIELDS}"),
    ("x", f"1 fields, expected {FIELDS}"),
    (row(user='"two\nlines"'), "line break inside a quoted field"),
    (row(user='"open'), "quoted field is never closed"),
    (row(user="a\rb"), "carriage return inside the line"),
    (row(job_id=""), "job_id: missing"),
    (row(job_id="NaN"), "job_id: missing"),
    (row(gpu_num=""), "gpu_num: missing"),
    (row(gpu_num="eight"), "gpu_num: not a number"),
    (row(gpu_num="0.5"), "gpu_num: not a whole number"),
    (row(node_num="-1"), "node_num: negative"),
    (row(cpu_num="1e7"), "cpu_num: larger than 1e+06"),
    (row(duration=""), "duration: missing"),
    (row(duration="-"), "duration: missing"),
    (row(duration="-117"), "duration: negative"),
    (row(duration="inf"), "duration: not a number"),
    (row(duration="1e999"), "duration: not a number"),
    (row(duration="1e99"), "duration: larger than 3.15576e+09"),
    (row(duration="9" * 400), "duration: not a number"),
    (row(queue="0x10"), "queue: not a number"),
    (row(submit_time=""), "submit_time: missing"),
    (row(submit_time="2023-03-01 00:18:22"), "submit_time: time without a UTC offset"),
    (row(submit_time="01/03/2023 00:18"), "submit_time: not a time"),
    (row(submit_time="1677629902"), "submit_time: not a time"),
    (row(end_time="2023-02-30 00:00:00+08:00"), "end_time: not a time"),
    (row(end_time="2023-03-01 25:00:00+08:00"), "end_time: not a time"),
    (row(end_time="2023-03-01 00:00:00+99:00"), "end_time: not a time"),
    (row(start_time="1066-10-14 09:00:00+00:00"), "start_time: time outside 1970 to 2100"),
    (row(start_time="9999-12-31 23:59:59+08:00"), "start_time: time outside 1970 to 2100"),
]


@pytest.mark.parametrize(("text", "reason"), FAULTS, ids=[reason for _, reason in FAULTS])
def test_each_fault_sets_its_row_aside(tmp_path: Path, text: str, reason: str) -> None:
    trace = load_lines(tmp_path, LINE, text, LINE)
    assert trace.set_aside[["line", "reason"]].to_numpy().tolist() == [[3, reason]]
    assert trace.set_aside["text"].item() == text
    assert trace.jobs["job_id"].tolist() == ["17", "17"]
    assert trace.jobs["line"].tolist() == [2, 4 + text.count("\n")]
    beside_broken = load_lines(tmp_path, LINE, text, LINE, "x")
    pd.testing.assert_frame_equal(beside_broken.set_aside.iloc[:1], trace.set_aside)
    pd.testing.assert_frame_equal(beside_broken.jobs, trace.jobs)


@shared_folder
@given(
    rows=st.lists(st.none() | st.sampled_from(FAULTS), min_size=1, max_size=40),
    end=st.sampled_from(["\n", "\r\n"]),
    blank_after=st.sets(st.integers(0, 40)),
)
def test_any_mix_of_faults_adds_up(
    tmp_path: Path, rows: list[Fault | None], end: str, blank_after: set[int]
) -> None:
    texts, expected, good, line = [], [], [], 2
    for position, fault in enumerate(rows):
        text, reason = fault or (LINE, "")
        (expected.append([line, reason]) if fault else good.append(line))
        texts.append(text)
        line += 1 + text.count("\n")
        if position in blank_after:
            texts.append("")
            line += 1
    trace = load_lines(tmp_path, *texts, end=end)
    assert trace.rows == len(rows)
    assert trace.set_aside[["line", "reason"]].to_numpy().tolist() == expected
    assert trace.jobs["line"].tolist() == good
    assert set(trace.jobs["duration_s"]) <= {117}


@pytest.mark.parametrize("faulty", [False, True])
def test_a_line_too_long_to_be_a_row_is_cut_where_it_is_shown(tmp_path: Path, faulty: bool) -> None:
    text = row(user="u" * textfile.MAX_LINE_BYTES)
    trace = load_lines(tmp_path, LINE, text, *["x"] * faulty)
    assert trace.set_aside["reason"].iloc[0] == f"line longer than {textfile.MAX_LINE_BYTES} bytes"
    assert len(trace.set_aside) == 1 + faulty
    shown = trace.set_aside["text"].iloc[0]
    assert shown.endswith(f"... ({len(text)} characters)")
    assert text.startswith(shown[:1000])


@pytest.mark.parametrize("faulty", [False, True])
def test_a_long_line_within_the_limit_is_a_row(tmp_path: Path, faulty: bool) -> None:
    text = row(user="u" * (textfile.MAX_LINE_BYTES - 200))
    assert load_lines(tmp_path, LINE, text, *["x"] * faulty).jobs["line"].tolist() == [2, 3]


def test_faults_are_found_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfile, "BLOCK_BYTES", 256)
    broken = row(user='"two\nlines"')
    lines = [LINE, broken] * 40
    trace = load_lines(tmp_path, *lines)
    assert trace.set_aside["line"].tolist() == list(range(3, 3 + 40 * 3, 3))
    assert set(trace.set_aside["text"]) == {broken}


def test_bytes_that_are_no_text_are_set_aside_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    latin = row(user="Müller").encode("latin-1")
    path.write_bytes(b"\n".join([HEADER.encode(), LINE.encode(), latin, LINE.encode()]))
    trace = load(path)
    assert trace.set_aside[["line", "reason"]].to_numpy().tolist() == [[3, "not UTF-8 text"]]
    assert "M\\xfcller" in trace.set_aside["text"].item()


def test_a_stray_quote_does_not_swallow_the_rows_below(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, row(user='"open'), *[LINE] * 100)
    assert trace.set_aside["line"].tolist() == [2]
    assert len(trace.jobs) == 100


def test_quoted_fields_are_read(tmp_path: Path) -> None:
    quoted = ",".join(f'"{value}"' for value in SEREN_ROW.values())
    trace = load_lines(tmp_path, quoted, row(user='"a,""b"""'), "x")
    assert trace.jobs["user"].tolist() == ["u5907", 'a,"b"']
    assert trace.set_aside["line"].tolist() == [4]


def test_a_file_of_faulty_rows_only_is_still_accounted_for(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, "x", row(duration="x"))
    assert (trace.rows, len(trace.jobs), trace.utc_offset) == (2, 0, "none")
    structural = load_lines(tmp_path, "x", "y,z")
    assert (structural.rows, len(structural.jobs)) == (2, 0)


def test_a_truncated_last_line_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(f"{HEADER}\n{LINE}\n{LINE[:60]}")
    assert load(path).set_aside["line"].tolist() == [3]


# --- files -------------------------------------------------------------------------------


def _zipped(path: Path, *members: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate(members):
            archive.writestr(f"../jobs{number}.csv", content)


WRITERS: dict[str, Callable[[Path, bytes], object]] = {
    "plain": Path.write_bytes,
    "gzip": lambda path, content: path.write_bytes(gzip.compress(content)),
    "xz": lambda path, content: path.write_bytes(lzma.compress(content)),
    "zip": _zipped,
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("faulty", [False, True])
def test_compression_is_recognised_by_content(
    tmp_path: Path, kind: str, bom: bytes, faulty: bool
) -> None:
    path = tmp_path / "jobs.data"
    lines = [HEADER, LINE, "x", LINE] if faulty else [HEADER, LINE, LINE]
    WRITERS[kind](path, bom + "\r\n".join(lines).encode())
    trace = load(path)
    assert len(trace.jobs) == 2
    assert len(trace.set_aside) == faulty
    assert list(tmp_path.iterdir()) == [path]  # nothing was extracted


GOOD = f"{HEADER}\n{LINE}\n".encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"\n", "line 1: missing columns"),
        (HEADER.encode(), "a header and no rows"),
        (f"{HEADER}\n\n\n".encode(), "a header and no rows"),
        (GOOD.replace(b",", b";"), "line 1: found columns separated by ';', expected ','"),
        (GOOD.replace(b",", b"\t"), r"line 1: found columns separated by '\\t', expected ','"),
        (GOOD + b"a\0b\n", "line 3: found a NUL byte, expected UTF-8"),
        (GOOD.decode().encode("utf-16"), "line 1: found a NUL byte, expected UTF-8"),
        (GOOD.replace(b"user", b"us\xe9r"), "line 1: found byte 0xe9, expected UTF-8"),
        (GOOD.replace(b"queue,", b"user,"), "line 1: found column 'user' 2 times"),
        (GOOD.replace(b"state,", b"status,"), "line 1: missing column 'state'.*'seren'"),
        (b"x" * 200_000, "line 1: found no line end in the first 65536 bytes"),
        (gzip.compress(GOOD * 100, mtime=0)[:-20], "the gzip data is cut off or damaged"),
        (lzma.compress(GOOD * 100)[:-20], "the xz data is cut off or damaged"),
        (b"PK\x03\x04 and no more", "the zip data cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"jobs.csv.*{message}") as error:
        load(path)
    assert "\n" not in str(error.value)


def test_a_zip_holds_one_member(tmp_path: Path) -> None:
    path = tmp_path / "jobs.zip"
    _zipped(path, GOOD, GOOD)
    with pytest.raises(InputError, match="a zip of 2 members, expected exactly one"):
        load(path)


@pytest.mark.parametrize("kind", ["gzip", "xz", "zip"])
def test_a_decompression_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(textfile, "MAX_DECOMPRESSED_BYTES", 100_000)
    path = tmp_path / "jobs.data"
    WRITERS[kind](path, GOOD + LINE.encode() * 10_000)
    with pytest.raises(InputError, match=f"more than 100000 bytes in the {kind} data"):
        load(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found a folder, expected a trace file"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"nope\.csv: no such file"):
        load(tmp_path / "nope.csv")
    with pytest.raises(InputError, match="found a URL, expected a path"):
        load_trace("https://example.org/jobs.csv", evidence=EVIDENCE)


def test_a_file_without_read_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(GOOD)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # root may read anything
    with pytest.raises(InputError, match=r"jobs\.csv: cannot be read \(Permission denied\)"):
        load(path)


def test_the_trace_is_frozen(tmp_path: Path) -> None:
    trace = load_lines(tmp_path, LINE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.rows = 3  # type: ignore[misc]


# --- real rows ---------------------------------------------------------------------------


@pytest.mark.real_data
def test_real_seren_rows(real_data: Path) -> None:
    trace = load(real_data / "acme" / "seren_rows_from_notebook.csv")
    assert (trace.dialect.key, trace.rows, len(trace.set_aside)) == ("seren", 10, 0)
    assert (trace.utc_offset, trace.clock) == ("+08:00", "calendar")
    assert list(trace.extras) == ["row_index"]
    first = trace.jobs.iloc[0]
    assert first["submit_time"] == pd.Timestamp("2023-03-01 00:18:22+08:00")
    assert (first["job_id"], first["duration_s"], first["gpu_time_s"]) == ("5778432", 117, 936.0)


@pytest.mark.real_data
def test_real_kalos_rows(real_data: Path) -> None:
    trace = load(real_data / "acme" / "kalos_rows_from_notebook.csv")
    assert (trace.dialect.key, trace.rows, len(trace.set_aside)) == ("kalos", 17, 0)
    assert trace.utc_offset == "+00:00"
    running = trace.jobs["state"] == "RUNNING"
    assert (trace.jobs["end_time"].isna() == running).all()
    assert running.any()
    assert str(trace.jobs["queue_s"].dtype) == "int64"


@pytest.mark.real_data
def test_real_philly_jobs(real_data: Path) -> None:
    path = real_data / "philly" / "rfold_philly_trace.csv"
    trace = load(path)
    assert (trace.dialect.key, trace.clock, trace.utc_offset) == ("philly-rfold", "elapsed", "none")
    lines = [text for text in path.read_text().splitlines()[1:] if text]
    assert trace.rows == len(trace.jobs) == len(lines)
    last = lines[-1].split(",")
    assert trace.jobs["duration_s"].iloc[-1] == float(last[-1])
