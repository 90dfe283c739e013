import numpy as np
import pytest
from statsmodels.discrete.discrete_model import NegativeBinomial

from aidc.observed import overdispersion as module
from aidc.observed.arrivals import HourlyArrivals, hourly_arrivals
from aidc.observed.funnel import select_pool
from aidc.observed.intervals import IntervalSettings
from aidc.observed.overdispersion import (
    CONSTANT,
    NEGATIVE_BINOMIAL,
    POISSON,
    WEEKLY,
    Overdispersion,
    overdispersion,
)
from tests.observed.factories import elapsed_jobs, make_trace, seren_jobs

WEEKS = 20
HOURS = np.arange(WEEKS * 168)
RATE = 15 * np.exp(0.8 * np.sin(HOURS / 24 * 2 * np.pi)) * np.where(HOURS // 24 % 7 < 5, 1, 0.5)


def arrivals_with(counts: np.ndarray, clock: str = "calendar") -> HourlyArrivals:
    """Return hourly arrivals; one job in the first and last hour holds the window open."""
    counts = counts.copy()
    counts[[0, -1]] = np.maximum(counts[[0, -1]], 1)
    submit_s = np.repeat(np.arange(counts.size) * 3600, counts)
    ones = np.ones(submit_s.size)
    jobs = (
        seren_jobs(ones, submit_s=submit_s) if clock == "calendar" else elapsed_jobs(ones, submit_s)
    )
    pool = select_pool(make_trace(jobs, clock))
    return hourly_arrivals(pool, settings=IntervalSettings(resamples=0))


def gamma_poisson(alpha: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.poisson(RATE * random.gamma(1 / alpha, alpha, RATE.size))


def dispersion(found: Overdispersion, model: str) -> float:
    return float(found.fits.set_index("model").loc[model, "pearson_dispersion"])


def test_poisson_counts_have_a_dispersion_of_one_and_no_alpha() -> None:
    counts = np.random.default_rng(0).poisson(RATE)
    found = overdispersion(arrivals_with(counts))
    assert found.evaluable
    assert found.design == WEEKLY
    assert (found.hours, found.parameters) == (RATE.size, 30)
    assert dispersion(found, POISSON) == pytest.approx(1, abs=0.08)
    assert found.alpha_low <= found.alpha < 0.005
    assert found.alpha_low == 0
    assert found.likelihood_ratio < 5
    assert found.p_value > 0.01
    assert found.notes == ()


def test_underdispersed_counts_end_at_alpha_zero() -> None:
    found = overdispersion(arrivals_with(np.full(600, 8)))
    assert (found.alpha, found.alpha_low, found.likelihood_ratio, found.p_value) == (0, 0, 0, 1)
    assert found.alpha_high > 0


@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_negative_binomial_counts_give_their_alpha_back(alpha: float) -> None:
    found = overdispersion(arrivals_with(gamma_poisson(alpha, seed=1)))
    assert found.alpha == pytest.approx(alpha, rel=0.08)
    assert found.alpha_low < alpha < found.alpha_high
    assert dispersion(found, POISSON) > 4
    assert dispersion(found, NEGATIVE_BINOMIAL) == pytest.approx(1, abs=0.15)
    aic = found.fits.set_index("model")["aic"]
    assert aic[NEGATIVE_BINOMIAL] < aic[POISSON]
    assert found.p_value < 1e-6
    assert found.fits["converged"].all()


def test_the_fit_is_the_joint_maximum_likelihood() -> None:
    arrivals = arrivals_with(gamma_poisson(0.7, seed=2))
    found = overdispersion(arrivals)
    hours, _ = module._hours(arrivals)
    design = hours.design[hours.cell]  # a row an hour: the regression as it is defined
    start = np.append(np.zeros(design.shape[1]), 1.0)
    start[0] = np.log(arrivals.counts.mean())
    joint = NegativeBinomial(hours.counts, design).fit(
        start_params=start, method="bfgs", maxiter=500, disp=0
    )
    assert found.alpha == pytest.approx(joint.params[-1], rel=1e-3)
    fits = found.fits.set_index("model")
    assert fits.loc[NEGATIVE_BINOMIAL, "log_likelihood"] == pytest.approx(joint.llf, abs=1e-2)


def test_the_interval_covers_alpha_as_often_as_it_says() -> None:
    random = np.random.default_rng(6)
    covered = 0
    for _ in range(40):
        counts = random.poisson(10 * random.gamma(2, 1 / 2, 250))
        found = overdispersion(arrivals_with(counts, "elapsed"), confidence=0.9)
        covered += found.alpha_low <= 0.5 <= found.alpha_high
    assert covered / 40 > 0.78


def test_a_clock_without_calendar_has_a_constant_mean() -> None:
    found = overdispersion(arrivals_with(np.random.default_rng(0).poisson(9, 500), "elapsed"))
    assert found.design == CONSTANT
    assert found.parameters == 1
    assert len(found.cells) == 1
    assert found.notes == ()
    assert dispersion(found, POISSON) == pytest.approx(1, abs=0.2)


def test_hours_that_never_have_an_arrival_are_left_out_and_said() -> None:
    counts = np.random.default_rng(0).poisson(RATE)
    counts[HOURS % 24 == 4] = 0
    found = overdispersion(arrivals_with(counts))
    assert found.hours == RATE.size - WEEKS * 7
    assert found.parameters == 29
    assert found.notes[0].startswith(f"{WEEKS * 7} hours left out")
    assert dispersion(found, POISSON) == pytest.approx(1, abs=0.08)


@pytest.mark.parametrize("counts", [[5], [5, 0, 3], [1] * 60])
def test_too_short_a_window_is_said_and_not_fitted(counts: list[int]) -> None:
    found = overdispersion(arrivals_with(np.array(counts)))
    assert not found.evaluable
    assert np.isnan([found.alpha, found.likelihood_ratio, found.p_value]).all()
    assert "too few" in found.notes[-1]


def test_a_fit_that_does_not_converge_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hasty(module.GLM):
        def fit(self, **options: object) -> object:
            return super().fit(**options, maxiter=1)

    monkeypatch.setattr(module, "GLM", Hasty)
    found = overdispersion(arrivals_with(gamma_poisson(2.0, seed=1)))
    assert not found.fits["converged"].any()
    assert np.isnan([found.alpha, found.alpha_low, found.alpha_high]).all()
    assert f"{POISSON} did not converge" in found.notes


def test_as_many_coefficients_as_hours_of_the_week_need_no_iteration() -> None:
    counts = np.zeros(60 * 168, dtype=int)
    counts[::168] = np.random.default_rng(0).poisson(3, 60)  # Monday midnight only
    counts = counts[: 59 * 168 + 1]
    found = overdispersion(arrivals_with(counts))
    assert (found.hours, found.parameters) == (60, 1)
    assert found.fits["converged"].all()
    assert [note for note in found.notes if "left out" not in note] == []
    assert dispersion(found, POISSON) == pytest.approx(1, abs=0.4)


def test_the_cells_show_variance_and_mean_by_hour_of_week() -> None:
    arrivals = arrivals_with(gamma_poisson(0.3, seed=1))
    found = overdispersion(arrivals)
    assert len(found.cells) == 168
    assert found.cells["hours"].sum() == RATE.size
    monday_nine = arrivals.counts[9::168]
    assert found.cells["mean_per_hour"].iloc[9] == pytest.approx(monday_nine.mean())
    assert found.cells["variance_per_hour2"].iloc[9] == pytest.approx(monday_nine.var(ddof=1))
