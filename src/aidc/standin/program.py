"""A small integer programme: stay near expected values under linear conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix

# Relative deviation up to which each slope of the penalty holds; the slopes make it a
# piecewise linear chi-square, which spreads a deviation over cells instead of heaping it.
_BREAKS: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, np.inf)
_SLOPES: Final = (0.025, 0.075, 0.15, 0.3, 0.6, 1.2, 3.0)


class NearestCounts:
    """Integer counts as near as possible to expected ones under linear conditions."""

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._cost: list[float] = []
        self._integer: list[int] = []
        self._rows: list[dict[int, float]] = []
        self._bounds: list[tuple[float, float]] = []

    def _variable(self, lower: float, upper: float, cost: float, integer: bool) -> int:
        self._lower.append(lower)
        self._upper.append(upper)
        self._cost.append(cost)
        self._integer.append(int(integer))
        return len(self._cost) - 1

    def count(self, expected: float, upper: float = np.inf) -> int:
        """Add an integer count in [0, upper] and return its index."""
        index = self._variable(0, upper, 0.0, integer=True)
        scale = max(expected, 1.0)
        terms = {index: 1.0}
        previous = 0.0
        for reach, slope in zip(_BREAKS, _SLOPES, strict=True):
            width = (reach - previous) * scale
            terms[self._variable(0, width, slope, integer=False)] = -1.0
            terms[self._variable(0, width, slope, integer=False)] = 1.0
            previous = reach
        self.require(terms, expected, expected)
        return index

    def require(self, terms: Mapping[int, float], lower: float, upper: float) -> None:
        """Add the condition ``lower <= sum(coefficient * count) <= upper``."""
        self._rows.append(dict(terms))
        self._bounds.append((lower, upper))

    def solve(self, gap: float = 1e-3) -> NDArray[np.int64]:
        """Return the counts in the order in which variables were added.

        Raises
        ------
        RuntimeError
            If no counts satisfy the conditions.
        """
        data = [value for row in self._rows for value in row.values()]
        columns = [index for row in self._rows for index in row]
        pointers = np.cumsum([0, *(len(row) for row in self._rows)])
        matrix = csr_matrix((data, columns, pointers), shape=(len(self._rows), len(self._cost)))
        lower, upper = np.array(self._bounds).T
        found = milp(
            np.array(self._cost),
            integrality=np.array(self._integer),
            bounds=Bounds(np.array(self._lower), np.array(self._upper)),
            constraints=LinearConstraint(matrix, lower, upper),
            options={"mip_rel_gap": gap, "time_limit": 120.0},
        )
        if found.x is None:
            raise RuntimeError(f"no integer counts satisfy the conditions: {found.message}")
        return np.rint(found.x).astype(np.int64)
