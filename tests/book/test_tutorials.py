"""The tutorials do what they say: every command is run, every output shown is found."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from aidc import paths

TUTORIALS = ("tutorial_audit", "tutorial_dialect")
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """Commands, and lines that their output has to show."""

    commands: str
    shown: tuple[str, ...]


def steps(page: str) -> Iterator[Step]:
    """Yield each block of commands with the output that follows it."""
    blocks = [(found["info"], found["body"]) for found in FENCE.finditer(page)]
    assert {info for info, _ in blocks} <= {"bash", "{code-block} text"}
    for (info, body), (following, output) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if info == "bash":
            lines = output.splitlines() if following == "{code-block} text" else []
            yield Step(body, tuple(x for x in lines if x and not x.startswith(":class:")))


def pieces(shown: Iterable[str]) -> Iterator[str]:
    """Yield what has to be found in order: whole lines, or the parts that "..." joins."""
    for line in shown:
        yield from (part.strip() for part in line.split("...") if part.strip())


def run_in(folder: Path, step: Step) -> str:
    """Run a block line by line in a folder like the repository; the first failure ends it."""
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", step.commands],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, f"{step.commands}\n{ended.stdout}"
    return ended.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the environment where the repository has it."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_every_command_of_a_tutorial_runs_and_shows_what_is_printed(
    name: str, folder: Path
) -> None:
    found = list(steps((paths.ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")))
    assert len(found) >= 4
    for step in found:
        output = run_in(folder, step)
        for piece in pieces(step.shown):
            _, found_it, output = output.partition(piece)
            assert found_it, f"{step.commands}\nlacks {piece!r} in:\n{output}"


def test_a_command_that_fails_fails_the_test(folder: Path) -> None:
    with pytest.raises(AssertionError, match="false"):
        run_in(folder, Step("false\ntrue\n", ()))


def test_blocks_and_their_outputs_are_told_apart() -> None:
    page = "```bash\nls\n```\n\n```{code-block} text\n:class: x\n\na\n```\n\n```bash\npwd\n```\n"
    assert list(steps(page)) == [Step("ls\n", ("a",)), Step("pwd\n", ())]
