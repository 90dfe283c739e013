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
from aidc.derived.dispatch import Dispatch
from aidc.derived.plan import StorageSize
from aidc.derived.solver import Infeasible, silence_highs
from aidc.derived.units import Sparse, Units
from aidc.evidence import InputError

# A search over more columns than this is not carried to its end, as rounds of searches gain
# more: it ends within a share of the best schedule it could find, or after so many ever
# better ones. What is published is the gap to the relaxation, which is wider.
SEARCHED_THROUGH = 500
SEARCH_GAP = 0.03
SEARCH_IMPROVEMENTS = 3

# Coefficients by kind of column, lower and upper limits.
Row: TypeAlias = tuple[dict[str, Any], Floats | float, Floats | float]


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
    slots, idle = case.horizon.active, case.horizon.idle_kw
    eye = sp.eye_array(slots)
    rows: list[Row] = [
        ({"serve": eye, "charge": eye, "discharge": -eye}, -idle, case.cap_kw[:slots] - idle),
        ({"serve": eye, "units": -units.power}, 0.0, 0.0),
        ({"units": units.groups}, units.low, units.high),
        *_storage_rows(case),
        *_reserve_rows(case),
    ]
    widths = {
        "power": 1,
        "energy": 1,
        "charge": slots,
        "discharge": slots,
        "usable": slots + 1,
        "serve": slots,
        "units": units.upper.size,
    }
    heights = [next(iter(blocks.values())).shape[0] for blocks, _, _ in rows]
    matrix = sp.vstack(
        [
            sp.hstack(
                [blocks.get(name, sp.csr_array((height, width))) for name, width in widths.items()]
            )
            for (blocks, _, _), height in zip(rows, heights, strict=True)
        ]
    )
    low = [
        np.broadcast_to(least, height) for (_, least, _), height in zip(rows, heights, strict=True)
    ]
    high = [
        np.broadcast_to(most, height) for (_, _, most), height in zip(rows, heights, strict=True)
    ]
    return sp.csc_array(matrix), np.concatenate(low), np.concatenate(high)


def _storage_rows(case: StorageCase) -> list[Row]:
    slots, step_h = case.horizon.active, case.horizon.step_h
    (technology,) = case.technologies
    span = technology.soc_max - technology.soc_min
    inflow, outflow = step_h * technology.eta_charge, step_h / technology.eta_discharge
    eye, at_ends = sp.eye_array(slots), sp.eye_array(slots + 1)
    change = sp.eye_array(slots, slots + 1, k=1) - sp.eye_array(slots, slots + 1)
    power = -sp.csr_array(np.ones((slots, 1)))
    full = sp.csr_array(np.full((slots + 1, 1), -span))
    first, last = at_ends.tocsr()[[0]], at_ends.tocsr()[[slots]]
    begin = {"usable": first - last} if case.cyclic else {"usable": first, "energy": full[[0]]}
    limit = technology.power_to_energy_per_h
    hours = 0.0 if limit is None else 1.0 / limit
    return [
        ({"usable": change, "charge": -inflow * eye, "discharge": outflow * eye}, 0.0, 0.0),
        ({"charge": eye, "power": power}, -np.inf, 0.0),
        ({"discharge": eye, "power": power}, -np.inf, 0.0),
        ({"usable": at_ends, "energy": full}, -np.inf, 0.0),
        (begin, 0.0, 0.0),
        ({"power": sp.csr_array([[hours]]), "energy": sp.csr_array([[-1.0]])}, -np.inf, 0.0),
    ]


def _reserve_rows(case: StorageCase) -> list[Row]:
    """An outage may begin at either end of a slot and find that slot's load running."""
    reserve, slots = case.reserve, case.horizon.active
    if not reserve.required:
        return []
    (technology,) = case.technologies
    carried = reserve.share * case.horizon.idle_kw
    load = -reserve.share * sp.eye_array(slots)
    before, after = (technology.eta_discharge * sp.eye_array(slots, slots + 1, k=k) for k in (0, 1))
    return [
        ({"usable": before, "serve": reserve.hours * load}, reserve.hours * carried, np.inf),
        ({"usable": after, "serve": reserve.hours * load}, reserve.hours * carried, np.inf),
        ({"power": sp.csr_array(np.ones((slots, 1))), "serve": load}, carried, np.inf),
    ]


def dispatch_of(case: StorageCase, columns: Floats) -> Dispatch:
    """Return what the columns of a solution say about slots."""
    where = Columns(case.horizon.active)
    return Dispatch.of(
        case,
        serve_kw=columns[where.serve],
        charge_kw=columns[None, where.charge],
        discharge_kw=columns[None, where.discharge],
        first_kwh=columns[where.usable][:1],
    )


class Highs:
    """A HiGHS model that can be solved, changed, and solved again."""

    def __init__(self, arrays: Arrays, seed: int = 0) -> None:
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
        self.highs.setOptionValue("random_seed", seed)
        # Not in parallel, so that the same search ends at the same schedule on any machine.
        self.highs.setOptionValue("parallel", "off")
        # Ten times as fast here as an interior point with crossover.
        self.highs.setOptionValue("solver", "simplex")
        self.highs.passModel(model)

    @property
    def cut_off(self) -> bool:
        """Whether the last search ended at its time limit."""
        return bool(self.highs.getModelStatus() == highspy.HighsModelStatus.kTimeLimit)

    @property
    def cost(self) -> float:
        """Cost of the last solution."""
        return float(self.highs.getInfo().objective_function_value)

    @property
    def columns(self) -> Floats:
        """Columns of the last solution."""
        return np.array(self.highs.getSolution().col_value)

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
        primal = self.highs.getInfo().primal_solution_status
        found = primal == highspy.SolutionStatus.kSolutionStatusFeasible
        if status == known.kInfeasible or (status == known.kTimeLimit and not found):
            raise Infeasible(str(status))
        # A search also ends at its number of improvements: the "solution limit".
        if status not in (known.kOptimal, known.kTimeLimit, known.kSolutionLimit):
            raise InputError(f"solver: HiGHS ended with {status}, expected an optimal solution")
        return self.cost, self.columns

    def fix(self, columns: np.ndarray[tuple[int], np.dtype[np.int64]], values: Floats) -> None:
        """Fix columns to values."""
        self.highs.changeColsBounds(columns.size, columns.astype(np.int32), values, values)

    def make_whole(self, columns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        """Require whole values in columns."""
        if columns.size > SEARCHED_THROUGH:
            self.highs.setOptionValue("mip_rel_gap", SEARCH_GAP)
            self.highs.setOptionValue("mip_max_improving_sols", SEARCH_IMPROVEMENTS)
        kinds = np.full(columns.size, highspy.HighsVarType.kInteger)
        self.highs.changeColsIntegrality(columns.size, columns.astype(np.int32), kinds)
