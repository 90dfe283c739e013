"""What the rules of every audit have in common: counts with their denominator."""

from __future__ import annotations

from dataclasses import dataclass

MAX_EXAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class RuleCount:
    """Of how many a rule could not be asked, and how many passed and failed it.

    What counts, what an example says and what follows differ between audits: a rule of a
    trace counts rows of one file, one of power logs counts readings, devices or nodes of
    several.

    Attributes
    ----------
    id : str
        Kind of rule and what it looks at, e.g. ``"order.start_end"``.
    field : str
        What it looks at.
    n : int
        How many it counts; ``n = not_evaluable + passed + failed``.
    not_evaluable : int
        Of which the data cannot answer.
    failed : int
        Of which broke the rule.
    """

    id: str
    field: str
    n: int
    not_evaluable: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        if min(self.not_evaluable, self.failed, self.passed) < 0:
            raise ValueError(
                f"rule {self.id}: {self.not_evaluable} not evaluable and {self.failed} failed "
                f"are no part of {self.n}"
            )

    @property
    def passed(self) -> int:
        """How many obey the rule."""
        return self.n - self.not_evaluable - self.failed

    @property
    def evaluable(self) -> int:
        """How many the rule was asked of."""
        return self.passed + self.failed

    def counts(self) -> dict[str, str | int]:
        """Return id, field and counts as plain values."""
        return {
            "id": self.id,
            "field": self.field,
            "n": self.n,
            "not_evaluable": self.not_evaluable,
            "passed": self.passed,
            "failed": self.failed,
        }
