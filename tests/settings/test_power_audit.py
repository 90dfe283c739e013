"""The parameters of the power audit: what is accepted, and what is said of what is not."""

from pathlib import Path
from typing import Any

import pytest

from aidc.evidence import InputError
from aidc.settings.power_audit import PowerMeasurement


def test_the_defaults_are_the_standin_under_our_rule() -> None:
    settings = PowerMeasurement()
    assert (settings.power, settings.aggregation, settings.resample_s) == ("nlr-standin", "aidc", 0)
    assert settings.results_dir == ""


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"ramp_windows_s": "1,30"}, "ramp_windows_s", (1.0, 30.0)),
        ({"demand_min": [15]}, "demand_min", (15.0,)),
        ({"aggregation": "nlr"}, "aggregation", "nlr"),
        ({"resample_s": "0.5"}, "resample_s", 0.5),
        ({"power": "nlr"}, "power", "nlr"),
    ],
)
def test_values_arrive_as_text_or_themselves(
    given: dict[str, Any], name: str, expected: object
) -> None:
    assert getattr(PowerMeasurement.parse(given), name) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"power": "nope.log"}, "parameter 'power': found 'nope.log'; power 'nope.log': no such"),
        ({"aggregation": "sum"}, "parameter 'aggregation': found 'sum'.*aidc.*nlr"),
        ({"resample_s": 0.001}, r"expected 0, or at least 0\.01"),
        ({"resample_s": -1}, "parameter 'resample_s': found -1"),
        ({"ramp_windows_s": "0"}, "parameter 'ramp_windows_s', item 0"),
        ({"demand_min": "inf"}, "parameter 'demand_min', item 0"),
        ({"demand_min": []}, "parameter 'demand_min'"),
        ({"ramp_window_s": 1}, r"did you mean 'ramp_windows_s'\?"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        PowerMeasurement.parse(given)
    assert "\n" not in str(caught.value)


def test_paths_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_text("x")
    (tmp_path / "b.log").write_text("x")
    monkeypatch.chdir(tmp_path)
    expected = ",".join(str(tmp_path / name) for name in ("a.log", "b.log"))
    assert PowerMeasurement.parse({"power": "a.log,b.log"}).power == expected


def test_every_parameter_has_a_meaning_and_a_unit() -> None:
    for name, field in PowerMeasurement.model_fields.items():
        assert field.description, name
        assert name == "seed" or PowerMeasurement.unit(name) != "-", name
