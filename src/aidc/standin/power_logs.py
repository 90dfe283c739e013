"""Write a synthetic run as the WattAMeter logs of two nodes, with the tool's own faults."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aidc.standin.power_curve import Floats, running_mean

Ints = NDArray[np.int64]

NODES: Final = 2
GPUS: Final = 4  # a node
SOCKETS: Final = 2  # a node
BATCH_ROWS: Final = 3_600
IDLE_SOCKET_W: Final = 64.1
# A counter of 32 bits in units of 2^-16 J, as the processors of such nodes have it.
COUNTER_RANGE_UJ: Final = 65_532_610_987
START: Final = np.datetime64("2025-09-01T10:00:00", "ns")
_STEP_S: Final = (0.20022, 0.20027)
_START_S: Final = (0.0, 0.083)
_BATCH_DELAY_S: Final = (0.08, 0.35)
_READ_NS: Final = {"nvml": 45_000, "rapl": 65_000}
_NANO: Final = 1e9


@dataclasses.dataclass(frozen=True)
class NodeLogs:
    """The readings of one node.

    Attributes
    ----------
    node : str
        Name of the node.
    gpu_ns, cpu_ns : ndarray of int, shape (n,)
        Times of the rows in ns since the run's start.
    gpu_mw : ndarray of int, shape (n, GPUS)
        GPU power, mW.
    gpu_c : ndarray of int, shape (n, GPUS)
        GPU temperature, deg C.
    counter_uj : ndarray of int, shape (n, 2 x SOCKETS)
        Package and core counters by socket, uJ, wrapped.
    read_ns : dict of str to ndarray of int
        Duration of each read by domain.
    """

    node: str
    gpu_ns: Ints
    cpu_ns: Ints
    gpu_mw: Ints
    gpu_c: Ints
    counter_uj: Ints
    read_ns: dict[str, Ints]

    @property
    def derived_w(self) -> Floats:
        """Watts from the counters, shape (n - 1, 2 x SOCKETS)."""
        gained = np.diff(self.counter_uj, axis=0)
        gained = np.where(gained < 0, gained + COUNTER_RANGE_UJ, gained)
        return np.asarray(gained / np.diff(self.cpu_ns)[:, None] * 1e3, dtype=np.float64)

    @property
    def batch_ends(self) -> NDArray[np.bool_]:
        """Rows that a batch ends with: their derived watts are not written."""
        rows = np.arange(1, self.cpu_ns.size + 1)
        return np.asarray((rows % BATCH_ROWS == 0) | (rows == rows[-1]), dtype=np.bool_)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything about the logs that is drawn once, whatever the curve.

    Attributes
    ----------
    times_ns : tuple of ndarray of int
        Times of each node's GPU rows, ns since the run's start.
    begin_s : float
        First time that all logs cover, s: the curve's zero.
    tilt : tuple of ndarray, shape (GPUS,)
        Share of each GPU in its node's GPU power.
    gpu_noise : tuple of ndarray, shape (n, GPUS)
        W, summing to zero over the GPUs of a node.
    socket_noise : tuple of ndarray, shape (n, SOCKETS)
        W, slow.
    """

    times_ns: tuple[Ints, ...]
    begin_s: float
    tilt: tuple[Floats, ...]
    gpu_noise: tuple[Floats, ...]
    socket_noise: tuple[Floats, ...]
    read_ns: tuple[dict[str, Ints], ...]
    counter_start: tuple[Ints, ...]


def draw_plan(duration_s: float, random: np.random.Generator) -> Plan:
    """Draw times, noise and the devices' own differences."""
    begin_s = max(_START_S) + 1e-3
    times, tilts, noises, slow, reads, counters = [], [], [], [], [], []
    for node in range(NODES):
        ns = _times(node, begin_s + duration_s, random)
        tilt = random.normal(0, 0.012, GPUS)
        noise = random.normal(0, 0.4, (ns.size, GPUS))
        times.append(ns)
        tilts.append((1 + tilt - tilt.mean()) / GPUS)
        noises.append(noise - noise.mean(axis=1, keepdims=True))
        drift = random.normal(0, 3.0, (ns.size, SOCKETS))
        slow.append(np.stack([running_mean(d, 25) for d in drift.T], axis=1))
        reads.append({k: random.integers(v // 2, 2 * v, ns.size) for k, v in _READ_NS.items()})
        counters.append(random.integers(1, COUNTER_RANGE_UJ // 2, 2 * SOCKETS))
    return Plan(
        times_ns=tuple(times),
        begin_s=begin_s,
        tilt=tuple(tilts),
        gpu_noise=tuple(noises),
        socket_noise=tuple(slow),
        read_ns=tuple(reads),
        counter_start=tuple(counters),
    )


def _times(node: int, end_s: float, random: np.random.Generator) -> Ints:
    """Return times of reads until ``end_s``: a steady step, and a delay after each batch."""
    most = int(end_s / _STEP_S[node]) + 2
    steps = _STEP_S[node] + random.normal(0, 2e-5, most)
    steps[BATCH_ROWS - 1 :: BATCH_ROWS] += random.uniform(
        *_BATCH_DELAY_S, steps[BATCH_ROWS - 1 :: BATCH_ROWS].size
    )
    seconds = _START_S[node] + np.concatenate([[0.0], np.cumsum(steps)])
    rows = int(np.searchsorted(seconds, end_s)) + 1
    return np.rint(seconds[:rows] * _NANO).astype(np.int64)


def node_logs(curve: Floats, step_s: float, gpu_share: float, plan: Plan) -> list[NodeLogs]:
    """Return the readings that add up to a curve of total power.

    Parameters
    ----------
    curve : ndarray, shape (n,)
        Package, core and GPU power of all nodes, W, every ``step_s``.
    gpu_share : float
        Share of the GPUs in its energy.
    plan : Plan
        What was drawn.
    """
    core_ratio = 0.0037
    at = np.arange(curve.size) * step_s
    sockets = NODES * SOCKETS
    # Packages idle at a fixed power and take a fixed part of what the run adds to it.
    package_mean = (1 - gpu_share) * curve.mean() / (1 + core_ratio)
    slope = (package_mean - sockets * IDLE_SOCKET_W) / (curve.mean() - curve.min())
    found = []
    for node, ns in enumerate(plan.times_ns):
        cpu_ns = ns + 60_000  # the tool reads one domain after the other
        total = np.interp(ns / _NANO - plan.begin_s, at, curve) / NODES
        package = IDLE_SOCKET_W + slope * (NODES * total - curve.min()) / sockets
        packages = package[:, None] + plan.socket_noise[node]
        domains = np.repeat(packages, 2, axis=1)
        domains[:, 1::2] *= core_ratio
        gpu_w = total - domains.sum(axis=1)
        gpus = gpu_w[:, None] * plan.tilt[node] + plan.gpu_noise[node]
        gained = np.rint(domains[:-1] * np.diff(cpu_ns)[:, None] * 1e-3).astype(np.int64)
        counter = np.concatenate([np.zeros((1, 2 * SOCKETS), np.int64), np.cumsum(gained, axis=0)])
        warm = np.stack([running_mean(g, 300) for g in gpus.T], axis=1)
        found.append(
            NodeLogs(
                node=f"syn{node + 1}",
                gpu_ns=ns,
                cpu_ns=cpu_ns,
                gpu_mw=np.rint(1e3 * gpus).astype(np.int64),
                gpu_c=np.rint(33 + 0.045 * warm).astype(np.int64),
                counter_uj=(counter + plan.counter_start[node]) % COUNTER_RANGE_UJ,
                read_ns=plan.read_ns[node],
            )
        )
    return found


def official_total(logs: list[NodeLogs], begin_s: float, samples: int, step_s: float) -> Floats:
    """Return what the official aggregation makes of the logs: zero at batch ends, cores added."""
    grid = begin_s + step_s * np.arange(samples)
    total = np.zeros(samples)
    for log in logs:
        total += np.interp(grid, log.gpu_ns / _NANO, log.gpu_mw.sum(axis=1) / 1e3)
        watts = np.append(log.derived_w.sum(axis=1), 0.0)
        watts[log.batch_ends] = 0.0
        total += np.interp(grid, log.cpu_ns / _NANO, watts)
    return total


def write_logs(logs: list[NodeLogs], job: str, folder: Path) -> None:
    """Write two logs a node into a folder, named as the data set names them."""
    for log in logs:
        name = f"wattameter_emissions_parsed_slurmid_{job}_node_{log.node}.log"
        gpu = [f"gpu-{i}" for i in range(GPUS)]
        _write(
            folder / f"nvml_{name}",
            _head(job, log.gpu_ns, [f"{g}[mW]" for g in gpu] + [f"{g}[C]" for g in gpu]),
            log.gpu_ns,
            np.column_stack([log.read_ns["nvml"], log.gpu_mw, log.gpu_c]),
            [""] * log.gpu_ns.size,
        )
        cpu = [f"cpu-{i // 2}{'-core' if i % 2 else ''}" for i in range(2 * SOCKETS)]
        ends = log.batch_ends
        derived = [" " + " ".join(map(repr, row)) for row in log.derived_w.tolist()] + [""]
        _write(
            folder / f"rapl_{name}",
            _head(job, log.cpu_ns, [f"{c}[uJ]" for c in cpu] + [f"{c}[W]" for c in cpu]),
            log.cpu_ns,
            np.column_stack([log.read_ns["rapl"], log.counter_uj]),
            ["" if end else text for end, text in zip(ends, derived, strict=True)],
        )


def _head(job: str, ns: Ints, columns: list[str]) -> str:
    first = _stamp(ns[:1])[0]
    return (
        f"# {first} - Power data for run {job}\n"
        f"# {first} - SYNTHETIC stand-in drawn by aidc: no measurement\n"
        f"# {first} - Tracking started\n"
        f"# timestamp                  reading-time[ns] {' '.join(columns)}\n"
    )


def _stamp(ns: Ints) -> list[str]:
    """Return times as the tool writes them: local, whole microseconds."""
    moments = START + ((ns + 500) // 1000 * 1000).astype("timedelta64[ns]")
    text = np.datetime_as_string(moments.astype("datetime64[us]"))
    return [stamp.replace("T", "_") for stamp in text.tolist()]


def _write(path: Path, head: str, ns: Ints, numbers: Ints, tails: list[str]) -> None:
    text = io.StringIO()
    text.write(head)
    for stamp, row, tail in zip(_stamp(ns), numbers.tolist(), tails, strict=True):
        text.write(f"  {stamp} {' '.join(map(str, row))}{tail}\n")
    path.write_bytes(text.getvalue().encode())
