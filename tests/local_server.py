"""A web server on this machine, for tests of what fetches."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import (
    BaseHTTPRequestHandler,
    SimpleHTTPRequestHandler,
    ThreadingHTTPServer,
)
from pathlib import Path


class Server(ThreadingHTTPServer):
    """One that waits for its answers to end when it is closed."""

    daemon_threads = False

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a request is no event of the test."""


@contextmanager
def serving(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with a handler; yields the address to put before a path."""
    with Server(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def serving_folder(folder: Path) -> AbstractContextManager[str]:
    """Serve the files of a folder; yields the address to put before a path."""
    return serving(functools.partial(_Quiet, directory=str(folder)))
