"""How a number is written for a reader."""

import math

SIGNIFICANT = 4


def display_number(value: float, significant: int = SIGNIFICANT) -> str:
    """Return ``value`` with thousands separators and a true minus sign.

    Integers are written in full. Other values get ``significant`` digits, but the
    integer part is never rounded away.

    Examples
    --------
    >>> display_number(207378)
    '207,378'
    >>> display_number(3697.0)
    '3,697'
    >>> display_number(51.1286)
    '51.13'
    >>> display_number(-0.5)
    '−0.5'
    >>> display_number(1234567.8)
    '1,234,568'
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number to publish")
    if float(value).is_integer():
        text = f"{abs(value):,.0f}"
    else:
        magnitude = math.floor(math.log10(abs(value)))
        decimals = max(significant - 1 - magnitude, 0)
        text = f"{abs(value):,.{decimals}f}"
        if decimals:
            text = text.rstrip("0").rstrip(".")
    return f"−{text}" if value < 0 else text
