"""Settings of the derived layer: every bad value is one line, before anything is computed."""

from pathlib import Path
from typing import Any, get_args

import pytest

from aidc.derived.rigid import FLEXIBILITIES
from aidc.derived.solver import SOLVERS
from aidc.evidence import InputError
from aidc.settings.break_even import BreakEvenScan
from aidc.settings.storage import Flexible, SolverName, StorageSettings
from aidc.settings.storage_sizing import StorageSizing
from aidc.settings.task_schedule import TaskSchedule

ALL = (TaskSchedule, StorageSizing, BreakEvenScan)


@pytest.mark.parametrize("settings", ALL)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"slack_min": "-1"}, "'slack_min', item 0: found '-1'.*unit min"),
        ({"slack_min": "[]"}, "'slack_min'"),
        ({"eta_charge": 1.2}, "'eta_charge': found 1.2"),
        ({"eta_discharge": 0}, "'eta_discharge': found 0"),
        ({"step_min": 7}, "step_min: found 7, expected minutes that divide a day"),
        ({"days": 0}, "'days': found 0"),
        ({"days": 0.3, "step_min": 60}, "days: found 0.3, expected a whole number of slots"),
        ({"start": "soon"}, "start: found 'soon'"),
        ({"supply_cap_kw": 0}, "'supply_cap_kw', item 0: found 0"),
        ({"supply_cap_share": 0}, "'supply_cap_share', item 0: found 0"),
        ({"supply_cap_kw": 5, "supply_cap_share": 0.9}, "expected one of them"),
        ({"solver": "simplex"}, "'solver': found 'SIMPLEX'"),
        ({"flexibility": "elastic"}, "'flexibility', item 0: found 'elastic'"),
        ({"soc_min": 0.9, "soc_max": 0.2}, "soc_min: found 0.9 with soc_max 0.2"),
        ({"site_overhead": 0.9}, "'site_overhead': found 0.9"),
        ({"idle_kw_per_block": 1}, "idle_kw_per_block: found 1 kW without fleet_blocks"),
        ({"fleet_blocks": -1}, "'fleet_blocks': found -1"),
        ({"weight_power": 0, "weight_energy": 0}, "expected one above 0"),
        ({"initial_soc": "half"}, "'initial_soc': found 'half'"),
        ({"jobs": "some"}, "'jobs': found 'some'"),
        ({"power": "nowhere.csv"}, "power 'nowhere.csv': no such file"),
        ({"trace": "nowhere.csv"}, "nowhere.csv"),
        ({"slak_min": 3}, "did you mean 'slack_min'"),
    ],
)
def test_a_bad_value_is_one_line(
    settings: type[StorageSettings], given: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        settings.parse(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("settings", ALL)
def test_defaults_are_consistent_and_every_parameter_has_unit_and_meaning(
    settings: type[StorageSettings],
) -> None:
    assert settings.parse({}).changed() == {}
    for name, field in settings.model_fields.items():
        assert field.description, name
        assert settings.unit(name), name
        assert settings.type_name(name), name


def test_the_names_are_those_of_the_model() -> None:
    assert get_args(Flexible) == FLEXIBILITIES
    assert set(get_args(SolverName)) == set(SOLVERS)


def test_values_are_put_in_order_and_none_is_no_limit() -> None:
    settings = StorageSizing.parse(
        {
            "slack_min": "60,0,60",
            "supply_cap_kw": "200,100",
            "flexibility": "rigid,malleable",
            "power_to_energy_per_h": "none",
            "solver": "clarabel",
        }
    )
    assert settings.slack_min == (0, 60)
    assert [cap.value for cap in settings.caps()] == [100, 200]
    assert settings.flexibility == ("malleable", "rigid")
    assert settings.technology().power_to_energy_per_h is None
    assert settings.solver == "CLARABEL"


def test_a_schedule_is_one_case(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="slack_min: found 2 values, expected one"):
        TaskSchedule.parse({"slack_min": "0,60"})
    with pytest.raises(InputError, match="supply_cap_kw: found 2 values, expected one"):
        TaskSchedule.parse({"supply_cap_kw": "100,200"})
    with pytest.raises(InputError, match="expected both or none"):
        TaskSchedule.parse({"storage_power_kw": 5})


def test_a_challenger_is_checked_too() -> None:
    with pytest.raises(InputError, match="soc_min"):
        BreakEvenScan.parse({"challenger_soc_min": 1, "challenger_soc_max": 0.5})
    scan = BreakEvenScan.parse({"challenger_eta": "0.9,1", "challenger_power_to_energy_per_h": "1"})
    assert [one.eta_charge for one in scan.challengers()] == [0.9, 1.0]


def test_a_break_even_is_of_malleable_jobs_only() -> None:
    message = "item 1: found 'rigid', expected 'malleable'.*the boundary is exact for it"
    with pytest.raises(InputError, match=message):
        BreakEvenScan.parse({"flexibility": "malleable,rigid"})


def test_two_technologies_are_varied_over_the_same_ranges() -> None:
    scan = BreakEvenScan()
    variants = [
        (one.eta_charge, one.power_to_energy_per_h, one.soc_min, one.soc_max)
        for one in scan.challengers()
    ]
    reference = scan.reference()
    assert (
        reference.eta_charge,
        reference.power_to_energy_per_h,
        reference.soc_min,
        reference.soc_max,
    ) in variants
    assert len(set(variants)) == len(variants) > 1
