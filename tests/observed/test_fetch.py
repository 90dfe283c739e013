"""Fetching against a local server that is good, broken, lying, slow or gone."""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from aidc.evidence import InputError
from aidc.evidence.registry import Source, load_sources
from aidc.observed.fetch import fetch
from aidc.observed.identity import verify
from tests.local_server import serving

CONTENT = b"job_id,user\n1,u1\n" * 1000
SLOW_S = 1.0


class Handler(BaseHTTPRequestHandler):
    """What the paths answer."""

    requested: list[str]

    def do_GET(self) -> None:
        type(self).requested.append(self.path)
        match self.path:
            case "/good":
                self.answer(CONTENT)
            case "/flaky":
                first = type(self).requested.count("/flaky") == 1
                self.answer(CONTENT[:50] if first else CONTENT, promised=len(CONTENT))
            case "/truncated":
                self.answer(CONTENT[:50], promised=len(CONTENT))
            case "/corrupted":
                self.answer(CONTENT.replace(b"u1", b"u2", 1))
            case "/slow":
                time.sleep(SLOW_S)
            case _:
                self.send_error(404)

    def answer(self, body: bytes, promised: int | None = None) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body) if promised is None else promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.requested = []
    with serving(Handler) as address:
        yield address


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324


def source(url: str = "http://127.0.0.1:9/", **known: object) -> Source:
    fields = {"git_blob": git_blob(CONTENT)} | known
    return Source.model_validate(
        {
            "key": "jobs",
            "title": "jobs",
            "path": "jobs.csv",
            "url": url,
            "licence": ["CC-BY-4.0"],
            "citation": "someone",
            **fields,
        }
    )


def get(server: str, path: str, cache: Path, **options: float) -> Path:
    url = f"{server}/{path}"
    settings = {"retries": 0, "timeout_s": 5.0} | options
    return fetch(["jobs"], cache, sources={"jobs": source(url)}, **settings)["jobs"]  # type: ignore[arg-type]


def test_a_good_file_is_fetched_once_and_then_reused_offline(server: str, tmp_path: Path) -> None:
    path = get(server, "good", tmp_path)
    assert path == tmp_path / "jobs.csv"
    assert path.read_bytes() == CONTENT
    assert get(server, "gone", tmp_path) == path
    assert Handler.requested == ["/good"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("truncated", f"the download failed .*50 bytes read, {len(CONTENT) - 50} more expected"),
        ("corrupted", f"found git blob [0-9a-f]{{40}} .*, expected {git_blob(CONTENT)}"),
        ("missing", "404"),
        ("slow", "stalled"),
    ],
)
def test_a_failed_download_leaves_nothing_behind(
    server: str, tmp_path: Path, path: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"source jobs: .*{message}") as error:
        get(server, path, tmp_path, timeout_s=SLOW_S / 5)
    assert "\n" not in str(error.value)
    assert "try again later" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_refused_connection_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"source jobs: no connection \(.*refused"):
        fetch(["jobs"], tmp_path, sources={"jobs": source()}, retries=0)


def test_a_broken_download_is_tried_again(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    assert get(server, "flaky", tmp_path, retries=1).read_bytes() == CONTENT
    assert Handler.requested == ["/flaky", "/flaky"]


def test_what_the_server_does_not_have_is_asked_for_once(server: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="404"):
        get(server, "missing", tmp_path, retries=3)
    assert Handler.requested == ["/missing"]


def test_a_bad_cached_file_is_reported_and_kept(server: str, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_bytes(b"mine")
    with pytest.raises(
        InputError,
        match=f"jobs.csv: found git blob {git_blob(b'mine')} .*expected {git_blob(CONTENT)}"
        ".*left as it is: move it away and run 'python -m aidc fetch jobs'",
    ):
        get(server, "good", tmp_path)
    assert (tmp_path / "jobs.csv").read_bytes() == b"mine"
    assert Handler.requested == []


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"bytes": len(CONTENT) + 1}, f"found {len(CONTENT)} bytes, expected {len(CONTENT) + 1}"),
        ({"sha256": "0" * 64}, "found SHA-256 .*, expected 0{64}"),
        ({"git_blob": "0" * 40}, "found git blob .*, expected 0{40}"),
    ],
)
def test_everything_registered_is_checked(
    tmp_path: Path, known: dict[str, object], message: str
) -> None:
    (tmp_path / "jobs.csv").write_bytes(CONTENT)
    with pytest.raises(InputError, match=message):
        fetch(["jobs"], tmp_path, sources={"jobs": source(**known)}, retries=0)


def test_an_unknown_key_lists_the_registered_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="source 'jobz' is not registered; expected one of jobs"):
        fetch(["jobz"], tmp_path, sources={"jobs": source()})


def test_no_key_means_all(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_bytes(CONTENT)
    assert fetch((), tmp_path, sources={"jobs": source()}) == {"jobs": tmp_path / "jobs.csv"}


@pytest.mark.parametrize(
    ("content", "key"),
    [(CONTENT, "jobs"), (gzip.compress(CONTENT), "jobs"), (CONTENT + b"\n", None), (b"", None)],
)
def test_a_file_is_recognised_by_what_it_holds(
    tmp_path: Path, content: bytes, key: str | None
) -> None:
    path = tmp_path / "renamed"
    path.write_bytes(content)
    assert verify(path, {"jobs": source()}) == key


def test_a_registered_archive_is_recognised_as_it_is(tmp_path: Path) -> None:
    packed = gzip.compress(CONTENT, mtime=0)
    path = tmp_path / "jobs.csv"
    path.write_bytes(packed)
    archive = source(git_blob=git_blob(packed))
    assert verify(path, {"jobs": archive}) == "jobs"
    assert fetch(["jobs"], tmp_path, sources={"jobs": archive}) == {"jobs": path}


def test_registered_sources_are_pinned() -> None:
    sources = load_sources()
    assert {"acme-seren", "acme-kalos", "acme-cluster-summary"} <= set(sources)
    for entry in sources.values():
        assert entry.commit is None or entry.commit in entry.url


@pytest.mark.real_data
def test_the_real_summary_is_recognised(real_data: Path) -> None:
    summary = real_data / "acme" / "cluster_summary.csv"
    assert verify(summary) == "acme-cluster-summary"
    assert verify(real_data / "acme" / "seren_rows_from_notebook.csv") is None
