"""``python -m aidc audit``: each bad input is audited with its reason, or refused in a line."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aidc.__main__ import main
from aidc.observed import textfile
from tests.observed.seren_lines import HEADER, row, sound_rows

KEYS = [
    "path", "dialect", "offset", "rows", "kept", "set_aside", "rules", "funnel", "findings",
]  # fmt: skip
RULE_KEYS = ["id", "field", "n", "not_evaluable", "passed", "failed", "examples"]
SUMMARY_HEADER = "id,job_num,cpu_job_num,gpu_job_num,complete_rate_gpu,med_run_time_gpu"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command line and return its exit status, output and errors."""

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["aidc", "audit", *arguments])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        output = capsys.readouterr()
        return status, output.out, output.err

    return command


def audited(run: Run, *arguments: str) -> dict[str, Any]:
    status, out, err = run("--json", *arguments)
    assert (status, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    for one in document.get("files", [document]):
        assert list(one) == KEYS
        assert one["rows"] == one["kept"] + len(one["set_aside"])
        for rule in one["rules"]:
            assert list(rule) == RULE_KEYS
            assert rule["n"] == one["rows"]
            assert rule["n"] == rule["not_evaluable"] + rule["passed"] + rule["failed"]
            assert min(rule["not_evaluable"], rule["passed"], rule["failed"]) >= 0
            assert len(rule["examples"]) == min(rule["failed"], 5)
            lines = [example["line"] for example in rule["examples"]]
            assert lines == sorted(lines)
    return document


def written(folder: Path, content: bytes, name: str = "jobs.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def rows_file(folder: Path, *rows: str, end: str = "\n", name: str = "jobs.csv") -> str:
    return str(written(folder, end.join([HEADER, *rows, ""]).encode(), name))


def failed(document: dict[str, Any]) -> dict[str, int]:
    return {rule["id"]: rule["failed"] for rule in document["rules"] if rule["failed"]}


# --- each bad input of the list: refused ------------------------------------------------

GOOD = "\n".join([HEADER, *sound_rows(3), ""]).encode()


def _zip_of_two(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", GOOD)
        archive.writestr("b.csv", GOOD)


REFUSED: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "found an empty file"),
    "header only": (HEADER.encode() + b"\n", "found a header and no rows"),
    "missing column": (GOOD.replace(b"gpu_num,", b""), "missing column 'gpu_num'"),
    "renamed column": (GOOD.replace(b"state", b"status"), "missing column 'state'"),
    "semicolons": (GOOD.replace(b",", b";"), "separated by ';'"),
    "tabs": (GOOD.replace(b",", b"\t"), r"separated by '\t'"),
    "NUL bytes": (GOOD + b"a\0b\n", "found a NUL byte"),
    "Latin-1 header": (GOOD.replace(b"user", b"us\xe9r"), "expected UTF-8 text"),
    "gzip cut off": (gzip.compress(GOOD * 99, mtime=0)[:-30], "cut off or damaged"),
    "10 MB single line": (b"x" * 10_000_000, "found no line end"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_audited_is_refused_in_one_line(run: Run, tmp_path: Path, name: str) -> None:
    content, message = REFUSED[name]
    path = written(tmp_path, content)
    for options in ((), ("--json",)):
        status, out, err = run(*options, str(path))
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert err.startswith("error: ")
        assert "jobs.csv" in err
        assert message in err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: str(folder), "found a folder"),
        (lambda folder: str(folder / "nope.csv"), "no such file"),
        (lambda _: "https://example.org/jobs.csv", "found a URL"),
        (lambda folder: (_zip_of_two(folder / "two.zip"), str(folder / "two.zip"))[1], "2 members"),
    ],
    ids=["a directory", "no file", "a URL", "a zip with two members"],
)
def test_what_is_no_one_file_is_refused_in_one_line(
    run: Run, tmp_path: Path, make: Callable[[Path], str], message: str
) -> None:
    status, out, err = run(make(tmp_path))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_compression_bomb_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "MAX_DECOMPRESSED_BYTES", 100_000)
    status, out, err = run(str(written(tmp_path, gzip.compress(GOOD + b"x" * 10**7))))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "found more than 100000 bytes" in err


def test_a_file_without_permission_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, GOOD)
    opened = Path.open

    def refuse(self: Path, *args: Any, **options: Any) -> Any:
        if self == path:  # by hand, as root may read anything
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    status, out, err = run(str(path))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "Permission denied" in err


def test_one_bad_file_among_several_leaves_no_partial_output(run: Run, tmp_path: Path) -> None:
    good, bad = written(tmp_path, GOOD, "good.csv"), written(tmp_path, b"", "bad.csv")
    status, out, err = run(str(good), str(bad))
    assert (status, out, err.count("\n")) == (2, "", 1)


# --- each bad input of the list: audited, the row set aside with its reason ---------------

SET_ASIDE: dict[str, tuple[bytes, str]] = {
    "truncated last line": (row()[:60].encode(), "fields, expected 13"),
    "too many fields": (row().encode() + b",1", "14 fields, expected 13"),
    "too few fields": (b"17,u1", "2 fields, expected 13"),
    "quoted newline": (row(user='"a\nb"').encode(), "line break inside a quoted field"),
    "Latin-1": (row(user="Müller").encode("latin-1"), "not UTF-8 text"),
    "naive time": (row(submit_time="2023-03-01 00:18:22").encode(), "without a UTC offset"),
    "day first": (row(submit_time="01/03/2023 00:18:22").encode(), "submit_time: not a time"),
    "impossible time": (
        row(end_time="2023-02-30 00:00:00+08:00").encode(),
        "end_time: not a time",
    ),
    "negative number": (row(duration="-1").encode(), "duration: negative"),
    "fraction": (row(gpu_num="1.5").encode(), "gpu_num: not a whole number"),
    "huge number": (row(gpu_num="1e9").encode(), "gpu_num: larger than 1e+06"),
    "text number": (row(duration="long").encode(), "duration: not a number"),
    "NaN": (row(gpu_num="NaN").encode(), "gpu_num: missing"),
    "None": (row(duration="None").encode(), "duration: missing"),
    "-": (row(job_id="-").encode(), "job_id: missing"),
    "a long line": (row(user="u" * 70_000).encode(), "line longer than 65536 bytes"),
}


@pytest.mark.parametrize("name", SET_ASIDE)
def test_a_bad_row_is_set_aside_with_its_reason(run: Run, tmp_path: Path, name: str) -> None:
    line, reason = SET_ASIDE[name]
    document = audited(run, str(written(tmp_path, GOOD + line + b"\n")))
    assert (document["rows"], document["kept"]) == (4, 3)
    (aside,) = document["set_aside"]
    assert aside["line"] == 5
    assert reason in aside["reason"]
    assert sum(failed(document).values()) == 1
    assert any("1 of 4 rows cannot be used" in finding for finding in document["findings"])


# --- each bad input of the list: audited, and judged by a rule ----------------------------

JUDGED: dict[str, tuple[list[str], dict[str, int]]] = {
    "mixed offsets": (
        [*sound_rows(3), row(job_id="20", end_time="2023-02-28 16:20:51+00:00")],
        {"offset.times": 1},
    ),
    "unknown state": ([*sound_rows(3), row(job_id="20", state="LOST")], {"vocabulary.state": 1}),
    "unknown type": ([*sound_rows(3), row(job_id="20", type="Chat")], {"vocabulary.type": 1}),
    "duplicate id": ([*sound_rows(3), row(job_id="18")], {"unique.job_id": 1}),
    "unsorted": (
        [row(job_id="1", submit_time="2023-03-01 00:18:23+08:00", queue="31"), *sound_rows(3)],
        {"monotone.submit_time": 1},
    ),
    "end before start": (
        [*sound_rows(3), row(job_id="20", end_time="2023-03-01 00:18:53+08:00")],
        {"order.start_end": 1, "identity.duration": 1},
    ),
}


@pytest.mark.parametrize("name", JUDGED)
def test_a_bad_row_is_judged_by_a_rule(run: Run, tmp_path: Path, name: str) -> None:
    rows, expected = JUDGED[name]
    document = audited(run, rows_file(tmp_path, *rows))
    assert document["set_aside"] == []
    assert failed(document) == expected


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + GOOD, GOOD.replace(b"\n", b"\r\n"), gzip.compress(GOOD, mtime=0)],
    ids=["BOM", "CRLF", "gzip"],
)
def test_a_sound_file_in_another_wrapping_is_audited(
    run: Run, tmp_path: Path, content: bytes
) -> None:
    document = audited(run, str(written(tmp_path, content)))
    assert (document["rows"], document["kept"], failed(document)) == (3, 3, {})


# --- what is reported ---------------------------------------------------------------------


def test_the_table_shows_rules_that_pass_and_their_denominators(run: Run, tmp_path: Path) -> None:
    status, out, err = run(rows_file(tmp_path, *sound_rows(2), row(job_id="19", duration="x")))
    assert (status, err) == (0, "")
    assert "3 rows = 2 kept + 1 set aside" in out
    line = next(line for line in out.splitlines() if "order.start_end" in line)
    cells = [cell.strip() for cell in line.split("│")]
    assert cells[4:8] == ["3", "1", "2", "0"]
    assert "duration: not a number" in out
    assert "unverified" in out


def test_marks_in_a_file_do_not_reach_the_terminal(run: Run, tmp_path: Path) -> None:
    path = rows_file(tmp_path, *sound_rows(2), row(user="[red]\x1b[31m", duration="x"))
    out = run(path)[1]
    assert "\x1b" not in out
    assert "[red]" in out


def test_several_files_are_compared(run: Run, tmp_path: Path) -> None:
    seren = rows_file(tmp_path, *sound_rows(3), name="seren.csv")
    utc = rows_file(
        tmp_path, *(line.replace("+08:00", "+00:00") for line in sound_rows(3)), name="utc.csv"
    )
    document = audited(run, seren, utc)
    assert [one["offset"] for one in document["files"]] == ["+08:00", "+00:00"]
    assert any("UTC offsets differ" in finding for finding in document["findings"])


def test_a_summary_is_compared_with_its_cluster(run: Run, tmp_path: Path) -> None:
    seren = rows_file(tmp_path, *sound_rows(3), row(job_id="20", gpu_num="0", gpu_time=""))
    table = f"{SUMMARY_HEADER}\nSeren,9,1,8,0.5,122.0\nKalos,2,1,1,0.5,1\n"
    summary = written(tmp_path, table.encode(), "summary.csv")
    document = audited(run, str(summary), seren)
    assert document["path"] == seren
    assert any("5 GPU jobs fewer." in finding for finding in document["findings"])
    assert any("completed 50.0% against 0.0%" in finding for finding in document["findings"])
    same = f"{SUMMARY_HEADER}\nSeren,4,1,3,0,117\n"
    summary = written(tmp_path, same.encode(), "same.csv")
    findings = audited(run, str(summary), seren)["findings"]
    assert any("agree on the number of jobs" in finding for finding in findings)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{SUMMARY_HEADER}\nSeren,9,1,8,0.5,1\n", "a summary of clusters alone"),
        (f"{SUMMARY_HEADER}\nSeren,nine,1,8,0.5,1\n", "line 2: a count is missing or no number"),
    ],
)
def test_a_summary_that_cannot_be_used_is_refused(
    run: Run, tmp_path: Path, content: str, message: str
) -> None:
    status, out, err = run(str(written(tmp_path, content.encode(), "summary.csv")))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_dialect_can_be_described_in_a_file(run: Run, tmp_path: Path) -> None:
    dialect = written(
        tmp_path,
        b"key: own\ntitle: own\nutc_offset: '+01:00'\ncolumns:\n"
        b"  {job_id: id, gpu_num: gpus, submit_time: at, duration_s: took}\n",
        "own.yml",
    )
    jobs = written(tmp_path, b"id,gpus,at,took\na,1,2024-05-01 10:00:00,5\n", "own.csv")
    document = audited(run, str(jobs), "--dialect", str(dialect))
    assert (document["dialect"], document["offset"], document["kept"]) == ("own", "+01:00", 1)
    status, out, err = run(str(jobs), "--dialect", str(jobs))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "or a .yml file that describes one" in err


def test_the_command_runs_as_documented(tmp_path: Path) -> None:
    path = rows_file(tmp_path, *sound_rows(2))
    ended = subprocess.run(
        [sys.executable, "-m", "aidc", "audit", path, "--json"], capture_output=True, text=True
    )
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["rows"] == 2


# --- real files ---------------------------------------------------------------------------


@pytest.mark.real_data
def test_real_kalos_rows_show_that_the_duration_includes_the_queue(
    run: Run, real_data: Path
) -> None:
    document = audited(run, str(real_data / "acme" / "kalos_rows_from_notebook.csv"))
    first = document["findings"][0]
    assert first.startswith("duration is end - submit, not end - start: it includes the queue.")
    text = " ".join(document["findings"])
    for part in ("gpu_time inherits the queue", "RUNNING (2)", "span 92 days", "one moment"):
        assert part in text


@pytest.mark.real_data
def test_real_files_together(run: Run, real_data: Path) -> None:
    acme = real_data / "acme"
    names = ("seren_rows_from_notebook.csv", "kalos_rows_from_notebook.csv", "cluster_summary.csv")
    document = audited(run, *(str(acme / name) for name in names))
    text = " ".join(document["findings"])
    for part in ("UTC offsets differ", "duration_s means different things", "1,031,550 jobs"):
        assert part in text
    assert any("span 169 days" in finding for finding in document["files"][0]["findings"])


@pytest.mark.real_data
def test_real_philly_jobs(run: Run, real_data: Path) -> None:
    document = audited(run, str(real_data / "philly" / "rfold_philly_trace.csv"))
    assert document["offset"] == "none"
    assert document["rows"] == document["kept"] > 100_000


@pytest.mark.slow
def test_the_stand_in_lacks_as_many_gpu_jobs_as_the_release(run: Run, tmp_path: Path) -> None:
    table = f"{SUMMARY_HEADER}\nSeren,1031550,367737,663813,0.497,122.0\n"
    summary = written(tmp_path, table.encode(), "cluster_summary.csv")
    findings = audited(run, "seren-standin", str(summary))["findings"]
    assert any("213,223 GPU jobs fewer" in finding for finding in findings)
    assert any("empty for exactly the 367,737 jobs without GPUs" in finding for finding in findings)
