"""Which solver ran, and the only door to it."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import cvxpy as cp
import highspy

from aidc.evidence import InputError

# Distribution that each solver's version is read from.
SOLVERS = {"HIGHS": "highspy", "CLARABEL": "clarabel"}


@dataclass(frozen=True)
class SolverRun:
    """Record of what solved a model.

    Attributes
    ----------
    solver, version : str
        E.g. ``"HIGHS"`` and its version.
    status : str
        ``"optimal"``; ``"feasible"`` if it is enough but not proven to be the least,
        ``"time limit"`` if the search was cut off besides, ``"not certified"`` if jobs are
        left short.
    seconds : float
        Wall clock of all stages, compilation included.
    """

    solver: str
    version: str
    status: str
    seconds: float


class Infeasible(Exception):  # noqa: N818 - an outcome that the caller turns into a diagnosis
    """No schedule satisfies all constraints."""


@dataclass(frozen=True)
class Solver:
    """Which solver answers, and the seed by which HiGHS breaks ties.

    OSQP is left out on purpose: it returned wrong objectives for these problems.

    Attributes
    ----------
    name : str
        ``"HIGHS"`` or ``"CLARABEL"``; Clarabel draws nothing.
    seed : int
        At least 0. Costs do not depend on it; among equal optima the choice may.
    """

    name: str = "HIGHS"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.name not in SOLVERS:
            raise InputError(f"solver: found {self.name!r}, expected one of {', '.join(SOLVERS)}")


HIGHS = Solver()


@cache
def silence_highs() -> None:
    """Let HiGHS print its banner, once a process and regardless of options, to nowhere."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        highspy.Highs()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def solve(problem: cp.Problem, solver: Solver) -> None:
    """Solve a compiled problem to optimality.

    The warm start is off because cvxpy passes a point, not a basis, and its effect on the
    time swings.

    Raises
    ------
    Infeasible
        If there is no solution.
    InputError
        For every status other than optimal.
    """
    silence_highs()
    options = {"random_seed": solver.seed} if solver.name == HIGHS.name else {}
    try:
        problem.solve(solver=solver.name, warm_start=False, **options)
    except cp.error.SolverError as error:
        raise InputError(
            f"solver: {solver.name} failed ({error}); try another of {', '.join(SOLVERS)}"
        ) from error
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE, "infeasible_or_unbounded"):
        raise Infeasible(problem.status)
    if problem.status != cp.OPTIMAL:
        raise InputError(
            f"solver: {solver.name} ended with status {problem.status!r}, expected 'optimal'; "
            f"try another of {', '.join(SOLVERS)}"
        )


class Stopwatch:
    """Wall clock since it was made."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time so far, s."""
        return time.perf_counter() - self.begun

    def run(self, solver: str, status: str = "optimal") -> SolverRun:
        """Return the record of a finished run."""
        return SolverRun(solver, version(SOLVERS[solver]), status, self.seconds)
