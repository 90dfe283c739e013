"""A log with many missing readings: every result of it says so, or it is refused in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from aidc.constructed.template import power_template
from aidc.evidence import InputError
from aidc.observed.aggregate import Aggregation, AggregationRules
from aidc.observed.power_audit import PowerAudit, examine
from aidc.observed.power_read import read_power
from aidc.observed.power_rules import PowerAuditSettings
from aidc.observed.profile import power_summary
from aidc.publish.results import footer

ROWS = 1000


def log(folder: Path, rows: Iterable[str], header: str = "time_s,power_w") -> Path:
    path = folder / "p.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return path


def audited(path: Path, rules: AggregationRules | None = None) -> PowerAudit:
    settings = PowerAuditSettings(aggregation=rules or AggregationRules())
    return examine([read_power(path)], settings)


def with_missing(folder: Path, missing: Callable[[int], bool]) -> Path:
    """Write a log whose readings vary and are missing in some rows."""
    return log(folder, (f"{i},{'nan' if missing(i) else 500 + i % 7}" for i in range(ROWS)))


@pytest.mark.parametrize("aggregation", list(Aggregation))
def test_a_share_of_missing_readings_goes_with_every_result(
    tmp_path: Path, aggregation: str
) -> None:
    path = with_missing(tmp_path, lambda i: i % 5 == 2)
    total = audited(path, AggregationRules(aggregation=aggregation)).total
    assert total.missing_share == 0.2
    noted = ("20.0% of the power readings",)
    assert total.not_evaluable == noted
    assert power_summary(total).not_evaluable == noted
    assert power_template(total).not_evaluable == noted
    assert footer(total).endswith("not evaluable: 20.0% of the power readings")


def test_a_few_missing_readings_are_counted_and_not_noted(tmp_path: Path) -> None:
    total = audited(with_missing(tmp_path, lambda i: i % 100 == 50)).total
    assert (total.missing_share, total.not_evaluable) == (0.01, ())


def test_more_than_half_is_refused_however_it_is_spread(tmp_path: Path) -> None:
    path = with_missing(tmp_path, lambda i: i % 5 < 3)
    with pytest.raises(InputError, match=r"60\.0% of the values are missing, more than 50%"):
        power_summary(audited(path).total)
    allowed = audited(path, AggregationRules(max_missing=0.7)).total
    assert power_summary(allowed).mean_w == pytest.approx(503, rel=0.01)


def test_the_last_row_of_a_counter_is_not_missing(tmp_path: Path) -> None:
    rows = (f"  2025-10-07_09:00:{i:02d}.000000 45560 {80_000_000 * i + 10**9}" for i in range(10))
    header = "# wattameter\n# timestamp reading-time[ns] cpu-0[uJ]"
    total = audited(log(tmp_path, rows, header)).total
    assert (total.missing_share, total.refused) == (0.0, ())


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("-5", "line 2: found -5 W; power has no usable value (9 negative, or more than"),
        ("nan", "line 2: found no number; power has no usable value (9 unreadable)"),
        ("1e12", "line 2: found 1e+12 W; power has no usable value (9 of a magnitude that"),
    ],
)
def test_why_no_value_can_be_used_is_told_with_file_and_line(
    tmp_path: Path, cells: str, message: str
) -> None:
    path = log(tmp_path, (f"{i},{cells}" for i in range(9)))
    with pytest.raises(InputError) as error:
        power_summary(audited(path).total)
    assert f"{path}, {message}" in str(error.value)
    assert "python -m aidc audit" in str(error.value)
    assert "\n" not in str(error.value)


NVIDIA = "timestamp, index, power.draw [W]"
WATTAMETER = "# timestamp reading-time[ns] gpu-0[mW]"


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("time_s,power_w", "x,5", "line 2: found 'x,5' (time: not readable)"),
        (NVIDIA, "31.01.2025, 0, 9 W", "line 2: found '31.01.2025, 0, 9.0' (timestamp: not a time"),
        (WATTAMETER, "  7.10. 4 5", "line 2: found '7.10. 4 5' (timestamp: not a time)"),
        ("time_s,power_w", None, "found a header and no row"),
        (NVIDIA, None, "found a header and no row"),
        (WATTAMETER, None, "found a header and no row"),
    ],
)
def test_a_log_without_a_usable_row_says_what_it_found_and_what_to_do(
    tmp_path: Path, header: str, row: str | None, message: str
) -> None:
    with pytest.raises(InputError) as error:
        read_power(log(tmp_path, [row] * 3 if row else [], header))
    assert message in str(error.value)
    assert "expected rows such as" in str(error.value)
    assert "; check how" in str(error.value) or "; write the log" in str(error.value)
