"""Speed of the derived layer: ``python -m tests.bench_derived [--long]``.

Prints ratios, which hold on other machines where seconds do not. The jobs are drawn here;
they say nothing about any site. linopy and PyPSA are measured where they are installed.
"""

import argparse
import importlib.util
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import highspy
import numpy as np
import pandas as pd

from aidc.constructed.limits import (
    BlockMapping,
    BlockPower,
    Fleet,
    Reserve,
    SiteOverhead,
    SupplyCap,
)
from aidc.constructed.replay import replay, site_load
from aidc.constructed.setting import declared
from aidc.constructed.technology import CostWeights, Technology
from aidc.constructed.window import ReplayWindow
from aidc.derived.case import InitialCharge, StorageCase, storage_case
from aidc.derived.certificate import certify
from aidc.derived.envelope import size
from aidc.derived.problem import StorageProblem, compiled
from aidc.derived.rigid import Flexibility, class_bound, size_jobs
from aidc.derived.solver import HIGHS, silence_highs
from aidc.derived.stage import Ceilings, Goal, Shape
from aidc.evidence import Carrier, Evidence, Layer, Provenance

WEIGHTS = CostWeights.of(1.0, 1.0)
REPEATS = 7


@dataclass(frozen=True, kw_only=True)
class Jobs(Carrier):
    """Drawn jobs."""

    jobs: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Minutes(Carrier):
    """A slack."""

    minutes: float


def draw(days: int = 184, per_day: int = 1125) -> Jobs:
    """Draw bursts of mostly short jobs on few GPUs, as many as the paper's pool holds."""
    random = np.random.default_rng(0)
    weight = random.gamma(0.6, 1.0, days * 24)
    hour = random.choice(days * 24, days * per_day, p=weight / weight.sum())
    release = np.sort(hour * 3600 + random.integers(0, 3600, hour.size))
    processing = np.clip(np.exp(random.normal(np.log(300), 1.5, hour.size)).round(), 1, 5e5)
    share = [0.54, 0.1, 0.1, 0.2, 0.04, 0.015, 0.005]
    frame = pd.DataFrame(
        {
            "submit_time": pd.Timestamp("2023-03-01") + pd.to_timedelta(release, unit="s"),
            "duration_s": processing,
            "gpu_num": random.choice([1, 2, 4, 8, 16, 32, 64], hour.size, p=share),
        }
    )
    source = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"bench"}))
    return Jobs(jobs=frame, evidence=source)


def case_of(
    jobs: Jobs, days: int, step_min: float, slack_min: float, share: float = 1.5, eta: float = 0.95
) -> StorageCase:
    """Return a case of the drawn jobs; the cap is a share of the mean load."""
    window = ReplayWindow.of("2023-03-01", days, step_min)
    component = replay(
        jobs, window, BlockMapping.of(8), BlockPower.of_kw(5.27), Fleet.of_blocks(None)
    )
    technology = Technology.of(
        eta_charge=eta, eta_discharge=eta, soc_min=0.1, soc_max=0.9, power_to_energy_per_h=1.0
    )
    return storage_case(
        site_load(component, SiteOverhead.of_factor(1.2)),
        SupplyCap.of_share(share, "mean"),
        Minutes(minutes=slack_min, evidence=declared("slack_min")),
        (technology,),
        Reserve.of_minutes(0),
        InitialCharge.of(),
    )


def timed(*actions: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the least processor time of each action, s.

    They take turns, and processor time is counted, so that other work on the machine
    does not decide.
    """
    seconds = np.full((repeats, len(actions)), np.inf)
    for turn in range(repeats):
        for place, action in enumerate(actions):
            begun = time.process_time()
            action()
            seconds[turn, place] = time.process_time() - begun
    best: list[float] = seconds.min(axis=0).tolist()
    return best


def cold(case: StorageCase) -> StorageProblem:
    """Compile and solve the first stage from nothing."""
    problem = StorageProblem(Shape.of(case))
    problem.solve(case, Goal.least_cost((WEIGHTS,)), Ceilings(), HIGHS)
    return problem


def arrays_of(problem: StorageProblem) -> highspy.HighsLp:
    """Return the very linear programme that cvxpy passed to HiGHS."""
    data, _, _ = problem.problem.get_problem_data("HIGHS")
    matrix, equal = data["A"].tocsc(), data["dims"].zero
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = data["c"]
    low = np.full(matrix.shape[0], -np.inf)
    low[:equal] = data["b"][:equal]
    model.row_lower_, model.row_upper_ = low, data["b"]
    model.col_lower_, model.col_upper_ = data["lower_bounds"], data["upper_bounds"]
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model


def direct(model: highspy.HighsLp) -> None:
    """Solve arrays with HiGHS alone."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("random_seed", 0)
    highs.passModel(model)
    highs.run()


def against_direct(jobs: Jobs, days: int, step_min: float) -> None:
    """Print cvxpy over direct HiGHS, and the others where they are installed."""
    total = np.zeros(4)
    others = importlib.util.find_spec("pypsa") is not None
    for slack_min in (15.0, 60.0, 240.0):
        case = case_of(jobs, days, step_min, slack_min, share=1.3)
        model = arrays_of(cold(case))
        total[:2] += timed(lambda: direct(model), lambda: cold(case))  # noqa: B023 - called now
        if others:
            total[2:] += second(case)
    ratio = total / total[0]
    line = f"cvxpy / direct {ratio[1]:.2f}"
    if others:
        line += f", linopy / direct {ratio[2]:.1f}, PyPSA / direct {ratio[3]:.1f}"
    print(
        f"{days:4d} days, {step_min:g} min, three slacks: {model.num_col_} columns, "
        f"direct HiGHS {total[0] / 3:.2f} s each, {line}",
        flush=True,
    )


def second(case: StorageCase) -> list[float]:
    """Return the time of linopy and of PyPSA."""
    from tests.second_models import by_linopy, by_pypsa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(lambda: by_linopy(case, WEIGHTS), lambda: by_pypsa(case, WEIGHTS), repeats=2)


def scan(jobs: Jobs) -> None:
    """Print 42 points on one compiled problem against building each anew."""
    points = [
        case_of(jobs, 7, 15, slack, share, eta)
        for slack in (0, 15, 30, 60, 120, 240, 480)
        for share in (1.3, 2.0, 3.0)
        for eta in (0.9, 1.0)
    ]
    goal = Goal.least_cost((WEIGHTS,))

    def on_one() -> None:
        compiled.cache_clear()
        for case in points:
            compiled(Shape.of(case)).solve(case, goal, Ceilings(), HIGHS)

    one, rebuilt = timed(on_one, lambda: [cold(case) for case in points], repeats=2)
    print(
        f"{len(points)}-point scan, 7 days, 15 min: compiled once {one:.2f} s, "
        f"rebuilt {rebuilt:.2f} s, {rebuilt / one:.1f} times as long",
        flush=True,
    )


def bounds(jobs: Jobs, days: int, step_min: float) -> None:
    """Print every bound of one case with its time."""
    case = case_of(jobs, days, step_min, 60.0)
    lower = size(case, (WEIGHTS,))
    sure = certify(case, lower, weights=(WEIGHTS,))
    print(f"{days} days, {step_min:g} min, slack 60 min, {len(case.require_jobs().jobs)} jobs:")
    print(
        f"  envelope {lower.cost:.2f} ({lower.run.seconds:.1f} s), certified {sure.cost:.2f}"
        f" (inflation {sure.inflation:g}, unserved {sure.unserved_kwh:.3g} kWh,"
        f" {sure.run.seconds:.1f} s)"
    )
    classes = class_bound(case, WEIGHTS)
    print(f"  classes {classes.cost:.2f} ({classes.run.seconds:.1f} s)")
    for rule in ("on_off", "rigid"):
        found = size_jobs(case, WEIGHTS, Flexibility.of(rule), time_limit_s=30)
        print(
            f"  {rule}: {found.lower.cost:.2f} to {found.feasible.cost:.2f}, gap "
            f"{100 * found.gap:.2f} %, {found.fractional_jobs} jobs split, "
            f"{found.feasible.run.seconds:.1f} s",
            flush=True,
        )


def half_a_year(jobs: Jobs) -> None:
    """Print time and memory of six months at 15 min, both stages and the certificate."""
    begun = time.perf_counter()
    case = case_of(jobs, 184, 15, 60.0)
    plan = size(case, (WEIGHTS,))
    sized = time.perf_counter() - begun
    sure = certify(case, plan, weights=(WEIGHTS,))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"184 days, 15 min: replay and both stages {sized:.1f} s, certificate "
        f"{sure.run.seconds:.1f} s (inflation {sure.inflation:g}, unserved "
        f"{sure.unserved_kwh:.3g} of {case.horizon.work_kwh:.6g} kWh), peak {memory:.2f} GB",
        flush=True,
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--long", action="store_true", help="also every bound of a week and a month"
    )
    arguments = parser.parse_args()
    silence_highs()
    jobs = draw()
    half_a_year(jobs)
    against_direct(jobs, 7, 15)
    against_direct(jobs, 30, 15)
    scan(jobs)
    if arguments.long:
        bounds(jobs, 7, 5)
        bounds(jobs, 30, 15)


if __name__ == "__main__":
    main()
