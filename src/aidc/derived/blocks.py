"""Storage and a schedule made of columns, as arrays for HiGHS.

The class LP, start slots and running slots differ in their columns only. HiGHS is called
directly: a mixed-integer stage goes on from the basis of the relaxation, which a
modelling layer does not hand over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import highspy
import numpy as np
import scipy.sparse as sp

from aidc.constructed.overlap import Floats
from aidc.constructed.technology import CostWeights
from aidc.derived.case import StorageCase
from aidc.derived.plan import StorageSize
from aidc.derived.solver import Infeasible, silence_highs
from aidc.derived.units import Sparse, Units
from aidc.evidence import InputError

MANY_COLUMNS = 20_000

# One block a kind of column (None is zero), lower and upper limits, number of rows.
Row: TypeAlias = tuple[list[Any], Floats | float, Floats | float, int]


@dataclass(frozen=True)
class Arrays:
    """A linear programme: minimise cost x within column and row limits."""

    matrix: Sparse
    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats


@dataclass(frozen=True)
class Columns:
    """Where each block of columns begins: power, energy, then one block a quantity."""

    slots: int

    @property
    def charge(self) -> slice:
        """Charge of each slot, kW."""
        return slice(2, 2 + self.slots)

    @property
    def discharge(self) -> slice:
        """Discharge of each slot, kW."""
        return slice(2 + self.slots, 2 + 2 * self.slots)

    @property
    def usable(self) -> slice:
        """Usable energy at each boundary, kWh."""
        return slice(2 + 2 * self.slots, 3 + 3 * self.slots)

    @property
    def serve(self) -> slice:
        """Power of running jobs of each slot, kW."""
        return slice(3 + 3 * self.slots, 3 + 4 * self.slots)

    @property
    def units(self) -> int:
        """First column of the units."""
        return 3 + 4 * self.slots


def assemble(
    case: StorageCase, units: Units, weights: CostWeights | None, storage: StorageSize | None
) -> Arrays:
    """Return the model of one storage beside a schedule made of units.

    Parameters
    ----------
    case : StorageCase
        With one technology.
    units : Units
        Columns of the schedule.
    weights : CostWeights or None
        Sizing: cost of storage. None in operation, where unserved work is the cost.
    storage : StorageSize or None
        Operation: the storage that stands.
    """
    if len(case.technologies) != 1:
        raise InputError(
            f"flexibility: found {len(case.technologies)} technologies, expected one for "
            "job-level models"
        )
    slots = case.horizon.active
    limits = _column_limits(case, units, storage)
    rows, row_lower, row_upper = _rows(case, units)
    cost = np.zeros(3 + 4 * slots)
    if weights is not None:
        cost[:2] = weights.power, weights.energy
    return Arrays(
        matrix=rows,
        cost=np.concatenate([cost, units.cost]),
        lower=limits[0],
        upper=limits[1],
        row_lower=row_lower,
        row_upper=row_upper,
    )


def _column_limits(
    case: StorageCase, units: Units, storage: StorageSize | None
) -> tuple[Floats, Floats]:
    columns = Columns(case.horizon.active)
    (technology,) = case.technologies
    lower = np.zeros(columns.units + units.upper.size)
    upper = np.full(lower.size, np.inf)
    upper[columns.serve] = case.horizon.fleet_kw
    upper[columns.units :] = units.upper
    if storage is None:
        lower[:2] = units.least_kw, units.least_kwh / technology.usable_share
    else:
        lower[:2] = upper[:2] = storage.power_kw[0], storage.energy_kwh[0]
    return lower, upper


def _rows(case: StorageCase, units: Units) -> tuple[Sparse, Floats, Floats]:
    slots, step_h = case.horizon.active, case.horizon.step_h
    (technology,) = case.technologies
    eye, none = sp.eye_array(slots), None
    inflow, outflow = step_h * technology.eta_charge, step_h / technology.eta_discharge
    one = sp.csr_array(np.ones((slots, 1)))
    at_ends = sp.csr_array(np.ones((slots + 1, 1)))
    span = technology.soc_max - technology.soc_min
    change = sp.eye_array(slots, slots + 1, k=1) - sp.eye_array(slots, slots + 1)
    first = sp.csr_array(([1.0], ([0], [0])), shape=(1, slots + 1))
    last = sp.csr_array(([1.0], ([0], [slots])), shape=(1, slots + 1))
    cap = case.cap_kw[:slots] - case.horizon.idle_kw
    idle = -case.horizon.idle_kw
    limit = technology.power_to_energy_per_h
    hours = 0.0 if limit is None else 1.0 / limit
    begin = [none, none, none, none, first - last, none, none]
    if not case.cyclic:
        begin = [none, sp.csr_array([[-span]]), none, none, first, none, none]
    # Columns: power, energy, charge, discharge, usable, serve, units.
    blocks: list[Row] = [
        ([none, none, eye, -eye, none, eye, none], idle, cap, slots),
        ([none, none, -inflow * eye, outflow * eye, change, none, none], 0.0, 0.0, slots),
        ([-one, none, eye, none, none, none, none], -np.inf, 0.0, slots),
        ([-one, none, none, eye, none, none, none], -np.inf, 0.0, slots),
        (
            [none, -span * at_ends, none, none, sp.eye_array(slots + 1), none, none],
            -np.inf,
            0.0,
            slots + 1,
        ),
        ([none, none, none, none, none, eye, -units.power], 0.0, 0.0, slots),
        ([none, none, none, none, none, none, units.groups], units.low, units.high, units.low.size),
        (begin, 0.0, 0.0, 1),
        ([sp.csr_array([[hours]]), sp.csr_array([[-1.0]]), *[none] * 5], -np.inf, 0.0, 1),
    ]
    blocks += _reserve_rows(case)
    widths = (1, 1, slots, slots, slots + 1, slots, units.upper.size)
    matrix = sp.vstack(
        [
            sp.hstack(
                [
                    sp.csr_array((rows, width)) if block is None else block
                    for block, width in zip(row, widths, strict=True)
                ]
            )
            for row, _, _, rows in blocks
        ]
    )
    low = np.concatenate([np.broadcast_to(value, rows) for _, value, _, rows in blocks])
    high = np.concatenate([np.broadcast_to(value, rows) for _, _, value, rows in blocks])
    return sp.csc_array(matrix), low, high


def _reserve_rows(case: StorageCase) -> list[Row]:
    """An outage may begin at either end of a slot and find that slot's load running."""
    reserve, slots, none = case.reserve, case.horizon.active, None
    if not reserve.required:
        return []
    (technology,) = case.technologies
    eye = sp.eye_array(slots)
    carried = reserve.share * case.horizon.idle_kw
    before = technology.eta_discharge * sp.eye_array(slots, slots + 1)
    after = technology.eta_discharge * sp.eye_array(slots, slots + 1, k=1)
    load = -reserve.share * reserve.hours * eye
    power = sp.csr_array(np.ones((slots, 1)))
    kept = reserve.hours * carried
    return [
        ([none, none, none, none, before, load, none], kept, np.inf, slots),
        ([none, none, none, none, after, load, none], kept, np.inf, slots),
        ([power, none, none, none, none, -reserve.share * eye, none], carried, np.inf, slots),
    ]


class Highs:
    """A HiGHS model that can be solved, changed, and solved again."""

    def __init__(self, arrays: Arrays) -> None:
        silence_highs()
        model = highspy.HighsLp()
        rows, columns = arrays.matrix.shape
        model.num_col_, model.num_row_ = columns, rows
        model.col_cost_ = arrays.cost
        model.col_lower_, model.col_upper_ = arrays.lower, arrays.upper
        model.row_lower_, model.row_upper_ = arrays.row_lower, arrays.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = arrays.matrix.indptr
        model.a_matrix_.index_ = arrays.matrix.indices
        model.a_matrix_.value_ = arrays.matrix.data
        self.highs = highspy.Highs()
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("random_seed", 0)
        # An interior point with crossover splits fewer jobs, and is faster when they are many.
        self.highs.setOptionValue("solver", "ipm" if columns > MANY_COLUMNS else "choose")
        self.highs.passModel(model)

    def solve(self, *, within_s: float | None = None) -> tuple[float, Floats]:
        """Solve; return cost and columns.

        Parameters
        ----------
        within_s : float, optional
            Time limit of a mixed-integer stage: the best schedule found by then counts.

        Raises
        ------
        Infeasible
            If there is no solution, or none was found in time.
        InputError
            For any other status than optimal, or than a feasible one at the limit.
        """
        if within_s is not None:
            # HiGHS counts from the first run of this model.
            self.highs.setOptionValue("solver", "choose")
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + within_s)
        self.highs.run()
        status = self.highs.getModelStatus()
        known = highspy.HighsModelStatus
        info = self.highs.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        if status == known.kInfeasible or (status == known.kTimeLimit and not found):
            raise Infeasible(str(status))
        if status != known.kOptimal and status != known.kTimeLimit:
            raise InputError(f"solver: HiGHS ended with {status}, expected an optimal solution")
        return info.objective_function_value, np.array(self.highs.getSolution().col_value)

    def fix(self, columns: np.ndarray[tuple[int], np.dtype[np.int64]], values: Floats) -> None:
        """Fix columns to values."""
        self.highs.changeColsBounds(columns.size, columns.astype(np.int32), values, values)

    def make_whole(self, columns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Require whole values in columns."""
        kinds = np.full(columns.size, highspy.HighsVarType.kInteger)
        self.highs.changeColsIntegrality(columns.size, columns.astype(np.int32), kinds)
