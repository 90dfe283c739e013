"""Whether arrivals vary more than a Poisson process with a weekly pattern would.

Two regressions of the hourly counts on the same design, by statsmodels: Poisson, whose
variance is its mean mu, and negative binomial (NB2), whose variance is mu + alpha mu^2.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import optimize, stats
from statsmodels.genmod import families
from statsmodels.genmod.generalized_linear_model import GLM

from aidc.evidence import Carrier, Layer, step
from aidc.observed.arrivals import HourlyArrivals
from aidc.observed.intervals import Floats, IntervalSettings
from aidc.observed.window import HOURS_PER_DAY

WEEKLY = "hour of day + day of week"
CONSTANT = "constant"
POISSON, NEGATIVE_BINOMIAL = "Poisson", "negative binomial"

_LOG_ALPHA = (math.log(1e-6), math.log(1e4))
_MIN_HOURS_PER_PARAMETER = 3


@dataclass(frozen=True, kw_only=True)
class Overdispersion(Carrier):
    """Poisson and negative-binomial regression of the arrivals per hour.

    Attributes
    ----------
    fits : DataFrame
        One row a model: ``model``, ``log_likelihood``, ``aic``, ``pearson_dispersion``
        (Pearson chi-square over its degrees of freedom: about 1 if the model's variance is
        right), ``converged``. Empty if not evaluable.
    alpha, alpha_low, alpha_high : float
        Overdispersion of the NB2 model and its profile-likelihood interval. 0 says that
        Poisson fits as well; NaN that nothing was fitted or the fit did not converge.
    likelihood_ratio : float
        2 (log-likelihood of NB2 - of Poisson).
    p_value : float
        Of that ratio if arrivals were Poisson (half a chi-square of 1 degree: alpha = 0
        lies on the boundary).
    cells : DataFrame
        Per distinct mean that the design can tell apart (an hour of the week, or all
        hours): ``hours``, ``mean_per_hour``, ``variance_per_hour2``.
    design : str
        `WEEKLY`, or `CONSTANT` for a clock without a calendar.
    hours, parameters : int
        Hours that entered the fit, and coefficients of the design.
    confidence : float
        Of the interval.
    notes : tuple of str
        Everything a reader must know about the fit: what was left out, what did not
        converge, why nothing was fitted.
    """

    fits: pd.DataFrame
    alpha: float
    alpha_low: float
    alpha_high: float
    likelihood_ratio: float
    p_value: float
    cells: pd.DataFrame
    design: str
    hours: int
    parameters: int
    confidence: float
    notes: tuple[str, ...]

    @property
    def evaluable(self) -> bool:
        """Whether the regressions were fitted."""
        return len(self.fits) > 0


@dataclass(frozen=True)
class _Hours:
    """The hours to fit, and the cells in which the design cannot tell them apart."""

    counts: Floats  # (hours,)
    cell: npt.NDArray[np.int64]  # (hours,): row of the design
    design: Floats  # (cells, columns)

    @property
    def parameters(self) -> int:
        return int(np.linalg.matrix_rank(self.design)) if self.counts.size else 0


@dataclass(frozen=True)
class _Fit:
    coefficients: Floats | None  # None: the fit is in closed form
    log_likelihood: float
    pearson_chi2: float
    converged: bool


@dataclass(frozen=True)
class _Alpha:
    value: float
    low: float
    high: float
    fit: _Fit


@step(Layer.OBSERVED)
def overdispersion(arrivals: HourlyArrivals, confidence: float = 0.95) -> Overdispersion:
    """Compare Poisson and negative-binomial regression of the arrivals per hour.

    The counts of an hour are regressed on hour of day and day of week (on a constant for a
    clock without a calendar). Hours that neither model can give a finite coefficient,
    as their hour of day or weekday never has an arrival, add nothing to either likelihood
    and are left out. Consecutive hours are taken as independent given the design, so the
    interval is too narrow where arrivals cluster over hours.
    """
    IntervalSettings(confidence=confidence, resamples=0)
    hours, dropped = _hours(arrivals)
    parameters = hours.parameters
    notes = [f"{dropped} hours left out: their hour of day or weekday never has an arrival"]
    notes = notes if dropped else []
    fits = pd.DataFrame(
        columns=["model", "log_likelihood", "aic", "pearson_dispersion", "converged"]
    )
    alpha = low = high = ratio = p_value = math.nan
    if hours.counts.size < max(2, _MIN_HOURS_PER_PARAMETER * parameters):
        notes.append(
            f"not fitted: {hours.counts.size} hours are too few for {parameters} coefficients"
        )
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            poisson = _fit(hours, families.Poisson())
            found = _fit_alpha(hours, poisson, confidence)
        notes += sorted({f"statsmodels: {warning.message}" for warning in caught})
        rows = [(POISSON, poisson, parameters), (NEGATIVE_BINOMIAL, found.fit, parameters + 1)]
        fits = pd.DataFrame([_row(*row, hours.counts.size) for row in rows])
        notes += [f"{model} did not converge" for model, fit, _ in rows if not fit.converged]
        gain = found.fit.log_likelihood - poisson.log_likelihood
        ratio = 2 * max(0.0, gain) if found.value > 0 else 0.0
        p_value = float(0.5 * stats.chi2.sf(ratio, 1)) if ratio > 0 else 1.0
        if all(fit.converged for _, fit, _ in rows):
            alpha, low, high = found.value, found.low, found.high
    return Overdispersion(
        fits=fits,
        alpha=alpha,
        alpha_low=low,
        alpha_high=high,
        likelihood_ratio=ratio,
        p_value=p_value,
        cells=_cells(arrivals),
        design=WEEKLY if arrivals.calendar else CONSTANT,
        hours=hours.counts.size,
        parameters=parameters,
        confidence=confidence,
        notes=tuple(notes),
    )


def _hours(arrivals: HourlyArrivals) -> tuple[_Hours, int]:
    """Return the hours to fit and how many were left out."""
    counts = arrivals.counts.astype(np.float64)
    if not arrivals.calendar:
        cell = np.zeros(counts.size, dtype=np.int64)
        return _Hours(counts=counts, cell=cell, design=np.ones((1, 1))), 0
    hour_of_week = arrivals.window.hour_of_week()
    used = np.ones(counts.size, dtype=bool)
    present = []
    for factor in np.divmod(hour_of_week, HOURS_PER_DAY):
        totals = np.bincount(factor, weights=counts)
        used &= totals[factor] > 0
        present.append(np.flatnonzero(totals))
    cells, cell = np.unique(hour_of_week[used], return_inverse=True)
    columns = [np.ones(cells.size)]
    for factor, levels in zip(np.divmod(cells, HOURS_PER_DAY), present, strict=True):
        columns += [(factor == level).astype(np.float64) for level in levels[1:]]
    fitted = _Hours(counts=counts[used], cell=cell, design=np.column_stack(columns))
    return fitted, int(np.count_nonzero(~used))


def _fit(hours: _Hours, family: families.Family, start: Floats | None = None) -> _Fit:
    """Fit one model.

    Hours of one cell have one mean, so their average with their number as weight gives the
    coefficients of the regression over all hours, on a far smaller matrix.
    """
    number = np.bincount(hours.cell)
    average = np.bincount(hours.cell, weights=hours.counts) / number
    if hours.parameters == average.size:
        # As many coefficients as cells: each cell's average is its fit, in closed form.
        fitted, coefficients, converged = average, None, True
    else:
        model = GLM(average, hours.design, family=family, var_weights=number)
        fit = model.fit(start_params=start)
        fitted, coefficients, converged = fit.fittedvalues, fit.params, bool(fit.converged)
    mean = fitted[hours.cell]
    return _Fit(
        coefficients=coefficients,
        log_likelihood=float(family.loglike(hours.counts, mean)),
        pearson_chi2=float(np.sum((hours.counts - mean) ** 2 / family.variance(mean))),
        converged=converged,
    )


def _fit_alpha(hours: _Hours, poisson: _Fit, confidence: float) -> _Alpha:
    """Maximise the profile likelihood of alpha, and cut it for the interval."""
    fits: dict[float, _Fit] = {}

    def profile(log_alpha: float) -> float:
        family = families.NegativeBinomial(alpha=math.exp(log_alpha))
        fits[log_alpha] = _fit(hours, family, poisson.coefficients)
        return fits[log_alpha].log_likelihood

    least, most = _LOG_ALPHA
    best = optimize.minimize_scalar(
        lambda log_alpha: -profile(log_alpha), bounds=_LOG_ALPHA, method="bounded"
    )
    top, log_alpha = -float(best.fun), float(best.x)
    threshold = top - 0.5 * float(stats.chi2.ppf(confidence, 1))

    def excess(log_alpha: float) -> float:
        return profile(log_alpha) - threshold

    if excess(most) > 0:
        return _Alpha(math.exp(log_alpha), math.nan, math.nan, fits[log_alpha])
    high = math.exp(optimize.brentq(excess, log_alpha, most, xtol=1e-4))
    at_zero = poisson.log_likelihood >= top
    low = 0.0
    if not at_zero and excess(least) < 0:
        low = math.exp(optimize.brentq(excess, least, log_alpha, xtol=1e-4))
    return _Alpha(0.0 if at_zero else math.exp(log_alpha), low, high, fits[log_alpha])


def _row(model: str, fit: _Fit, parameters: int, hours: int) -> dict[str, object]:
    return {
        "model": model,
        "log_likelihood": fit.log_likelihood,
        "aic": 2 * parameters - 2 * fit.log_likelihood,
        "pearson_dispersion": fit.pearson_chi2 / (hours - parameters),
        "converged": fit.converged,
    }


def _cells(arrivals: HourlyArrivals) -> pd.DataFrame:
    cells = arrivals.window.hour_of_week() if arrivals.calendar else np.zeros(arrivals.counts.size)
    grouped = pd.Series(arrivals.counts).groupby(cells)
    frame = pd.DataFrame(
        {
            "hours": grouped.size(),
            "mean_per_hour": grouped.mean(),
            "variance_per_hour2": grouped.var(ddof=1),
        }
    )
    return frame.reset_index(drop=True)
