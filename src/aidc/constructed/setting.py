"""How an experimental setting is declared and checked."""

from __future__ import annotations

import math

from aidc.evidence import Carrier, Evidence, EvidenceError, InputError, Layer, Provenance


def declared(*names: str) -> Evidence:
    """Return the evidence of a value that the experimenter chose.

    Parameters
    ----------
    *names : str
        Names of the settings, e.g. ``"supply_cap_kw"``.
    """
    inputs = frozenset(f"setting:{name}" for name in names)
    return Evidence(Layer.CONSTRUCTED, Provenance.VERIFIED, inputs)


def number(
    name: str,
    value: object,
    unit: str,
    *,
    least: float = 0.0,
    most: float = math.inf,
    above: bool = False,
) -> float:
    """Return ``value`` as a float, or refuse it in one line.

    Parameters
    ----------
    name, unit : str
        For the message.
    least, most : float
        Bounds, included.
    above : bool
        Whether ``least`` itself is refused.

    Raises
    ------
    InputError
        If it is no finite number within the bounds.
    EvidenceError
        If it is a carrier: a result is no setting.
    """
    if isinstance(value, Carrier):
        raise EvidenceError(
            f"rule 'a setting is chosen, not taken from a result': {name} got a "
            f"{type(value).__name__}; allowed is a plain number"
        )
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (
        isinstance(value, (int, float))
        and plain
        and math.isfinite(value)
        and (value > least if above else value >= least)
        and value <= most
    ):
        return float(value)
    low = f"above {least:g}" if above else f"of at least {least:g}"
    high = f" and at most {most:g}" if math.isfinite(most) else ""
    raise InputError(f"{name}: found {value!r}, expected a number {low}{high} ({unit})")
