"""Speed and memory of the power audit: 64 GPUs, three hours at 0.1 s, raw logs of 8 nodes.

``python -m tests.bench_power [--nodes 8] [--rows 108000] [--folder DIR]`` writes the logs,
then measures each of these in a process of its own: pandas' bare parse of all files, the
audit with profile, and, where ``wattameter`` can be imported, its own post-processing.
``--faults`` compares the two on one small job for every fault of the tests instead.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from tests.bench_harness import Job, Prepare, measure

GPUS, SOCKETS, BATCH, INTERVAL_S = 8, 2, 3600, 0.1001
START = np.datetime64("2025-10-07T09:00:00", "us")


def write_set(folder: Path, nodes: int, rows: int) -> None:
    """Write an NVML and a RAPL log a node."""
    for node in range(nodes):
        random = np.random.default_rng(node)
        micros = np.rint((np.arange(rows) * INTERVAL_S + 0.01 * node) * 1e6).astype(np.int64)
        stamps = [t.replace("T", "_") for t in np.datetime_as_string(START + micros).tolist()]
        wave = 450 + 150 * np.sin(np.arange(rows) * INTERVAL_S / 10 * 2 * np.pi)
        milli = np.rint(1e3 * wave[:, None] + random.normal(0, 3e3, (rows, GPUS))).astype(int)
        warm = " 61" * GPUS
        names = " ".join(
            [f"gpu-{i}[mW]" for i in range(GPUS)] + [f"gpu-{i}[C]" for i in range(GPUS)]
        )
        write(
            folder / f"nvml_wattameter_node_n{node}.log",
            names,
            (
                f"  {stamp} 45560 {' '.join(map(str, row))}{warm}"
                for stamp, row in zip(stamps, milli.tolist(), strict=True)
            ),
        )
        domains = [f"cpu-{i // 2}{'-core' if i % 2 else ''}" for i in range(2 * SOCKETS)]
        gained = random.integers(5_000_000, 15_000_000, (rows, 2 * SOCKETS))
        gained[:, 1::2] //= 200
        counter = np.cumsum(gained, axis=0)
        derived = np.diff(counter, axis=0) / np.diff(micros)[:, None]
        tails = [" " + " ".join(map(repr, row)) for row in derived.tolist()] + [""]
        write(
            folder / f"rapl_wattameter_node_n{node}.log",
            " ".join([f"{d}[uJ]" for d in domains] + [f"{d}[W]" for d in domains]),
            (
                f"  {stamps[i]} 65530 {' '.join(map(str, row))}"
                + (tails[i] if (i + 1) % BATCH else "")
                for i, row in enumerate(counter.tolist())
            ),
        )


def write(path: Path, names: str, rows: object) -> None:
    """Write one log."""
    head = f"# bench\n# timestamp                  reading-time[ns] {names}\n"
    path.write_text(head + "\n".join(rows) + "\n")  # type: ignore[call-overload]


def bare() -> Job:
    """Let pandas split every file into typed columns, and nothing more."""

    def job(*paths: str) -> str:
        cells = 0
        for path in paths:
            with Path(path).open() as file:
                next(file)
                names = next(file).split()[1:]
            cells += pd.read_csv(path, sep=r"\s+", comment="#", header=None, names=names).size
        return f"{cells:,} cells"

    return job


def audit() -> Job:
    """Audit and profile the files as one job."""
    from aidc.observed import profile
    from aidc.observed.power_audit import audit_record, examine
    from aidc.observed.power_mean import mean_interval
    from aidc.observed.power_read import read_power
    from aidc.observed.spectrum import spectrum

    def job(*paths: str) -> str:
        found = examine([read_power(path) for path in paths])
        record = audit_record(found)
        for statistic in (
            profile.load_duration,
            profile.block_demand,
            profile.ramps,
            spectrum,
            mean_interval,
        ):
            statistic(found.total)
        failed = ", ".join(f"{r['id']} {r['failed']}" for r in record["rules"] if r["failed"])
        return f"{record['profile']['mean_w']:.1f} W; failed: {failed}"

    return job


def wattameter_mean() -> Callable[[list[Path]], float]:
    """Return a function that reads and aligns files as wattameter does, and adds them up."""
    from wattameter.utils.postprocessing import align_and_concat_df, file_to_df

    def mean(paths: list[Path]) -> float:
        frames = []
        for path in paths:
            with path.open() as file:
                frames.append(file_to_df(file, skip_lines=1))
        with contextlib.redirect_stdout(io.StringIO()):
            table = align_and_concat_df(frames, start_at_0=True)
        packages = [n for n in table.columns if n.endswith("[W]") and "core" not in n]
        total = 1e-3 * table.filter(like="[mW]").sum(axis=1) + table[packages].sum(axis=1)
        return float(total.mean())

    return mean


def wattameter() -> Job:
    """Read and align the files as wattameter's own post-processing does, and add them up."""
    mean = wattameter_mean()
    return lambda *paths: f"{mean([Path(path) for path in paths]):.1f} W; no fault named"


TASKS: tuple[Prepare, ...] = (bare, audit, wattameter)


def compare_faults() -> None:
    """Print, for one synthetic job a fault, how far each mean is off the truth."""
    from aidc.observed.power_audit import audit_power
    from tests.observed import test_power_audit as faulty

    add_up = wattameter_mean()
    for fault, _, _ in faulty.RECOVERABLE:
        with tempfile.TemporaryDirectory() as temporary:
            job = faulty.pair()
            fault(job)
            paths = faulty.written(job, Path(temporary))
            ours = audit_power(paths)["profile"]["mean_w_without_gaps"]
            try:
                theirs = f"{add_up(paths) / faulty.TRUE_W - 1:+.3%}"
            except Exception as error:
                theirs = f"{type(error).__name__}: {str(error)[:60]}"
        print(f"{fault.__name__:16} ours {ours / faulty.TRUE_W - 1:+.4%}   wattameter {theirs}")


def main() -> None:
    """Write the logs and print one line a task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=108_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--faults", action="store_true", help="compare on faulty jobs instead")
    told = parser.parse_args()
    if told.faults:
        compare_faults()
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = told.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        if not any(folder.glob("*.log")):
            write_set(folder, told.nodes, told.rows)
        paths = sorted(folder.glob("*.log"))
        size = sum(path.stat().st_size for path in paths)
        print(f"{told.nodes} nodes, {told.rows:,} rows a log, {size / 1e6:.0f} MB")
        best: dict[str, float] = {}
        for task in TASKS:
            name = task.__name__
            try:
                runs = [
                    measure(task, *paths) for _ in range(1 if task is wattameter else told.repeat)
                ]
            except RuntimeError as error:
                print(f"{name:10}  not run: {error}")
                continue
            best[name] = min(run.seconds for run in runs)
            peak = max(run.mib for run in runs)
            print(f"{name:10} {best[name]:8.2f} s {peak:7.0f} MiB  {runs[0].said}")
        print(f"audit / bare parse = {best['audit'] / best['bare']:.2f} (allowed: 2)")


if __name__ == "__main__":
    main()
