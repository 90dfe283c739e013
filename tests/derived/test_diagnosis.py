from dataclasses import replace

import pytest

from aidc.constructed.limits import Reserve, SupplyCap
from aidc.constructed.technology import CostWeights, Technology
from aidc.derived.case import InitialCharge, storage_case
from aidc.derived.envelope import operate, size
from aidc.derived.plan import StorageSize
from aidc.derived.solver import Solver, silence_highs
from aidc.evidence import InputError

EVEN = (CostWeights.of(),)


def message_of(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_deficit_over_the_horizon_names_hours_power_and_the_way_out(load_case):
    found = message_of(lambda: size(load_case([150, 160, 50], initial="cyclic"), EVEN))
    assert "supply_cap_kw: found 100 kW, which is 20 kW short from hour 0 to hour 3" in found
    assert "highest load 160 kW at hour 1" in found
    assert "raise it to at least 120 kW" in found


def test_what_it_asks_for_is_enough_and_no_less(load_case):
    """Losses count: the least cap lies above the mean load."""
    technology = Technology.of(eta_charge=0.8, eta_discharge=0.9)

    def make(cap):
        return load_case([150, 160, 50, 40], cap=cap, technology=technology, initial="cyclic")

    found = message_of(lambda: size(make(90), EVEN))
    least = float(found.split("at least ")[1].split(" kW")[0])
    assert least > 100
    assert size(make(least + 1e-3), EVEN).power_kw[0] > 0
    message_of(lambda: size(make(least - 1e-2), EVEN))


def test_a_replay_gives_local_times(drawn):
    found = message_of(lambda: size(drawn(60.0, share=0.5), EVEN))
    assert "from 2023-03-01" in found
    assert "no storage or slack makes up for a deficit" in found


def test_a_cap_given_as_a_share_is_answered_in_shares(drawn):
    found = message_of(lambda: size(drawn(60.0, share=0.5), EVEN))
    assert found.startswith("supply_cap_share: found 0.5, a cap of ")
    least = float(found.split("raise it to at least ")[1].split(" (")[0])
    assert size(drawn(60.0, share=least), EVEN).power_kw[0] > 0
    message_of(lambda: size(drawn(60.0, share=least - 2e-4), EVEN))


def test_a_fleet_too_small_says_how_many_blocks(drawn, fleet_site, minutes):
    def make(blocks, slack=15.0):
        load = fleet_site(blocks)
        return storage_case(
            load,
            SupplyCap.of_kw(500),
            minutes(slack),
            (Technology.of(),),
            Reserve.of_minutes(0),
            InitialCharge.of(),
        )

    found = message_of(lambda: size(make(3.0), EVEN))
    assert found.startswith("fleet_blocks: found 3, but")
    least = float(found.split("at least ")[1].split(" ")[0])
    assert size(make(least + 1e-3), EVEN).dispatch.serve_kw.max() > 0
    message_of(lambda: size(make(least - 1e-2), EVEN))


def test_idle_power_above_the_cap_cannot_be_operated(fleet_site, minutes):
    load = fleet_site(60.0)
    case = storage_case(
        load,
        SupplyCap.of_kw(0.5 * load.idle_kw),
        minutes(15.0),
        (Technology.of(),),
        Reserve.of_minutes(0),
        InitialCharge.of(),
    )
    found = message_of(lambda: operate(case, StorageSize.of(1.0, 1.0)))
    assert f"found {0.5 * load.idle_kw:.6g} kW" in found
    assert "or give more storage" in found


def test_a_reserve_that_the_storage_cannot_keep(load_case):
    case = replace(load_case([50, 60]), reserve=Reserve.of_minutes(60))
    idle = replace(case, horizon=replace(case.horizon, idle_kw=10.0))
    found = message_of(lambda: operate(idle, StorageSize.of(5.0, 5.0)))
    assert "neither its reserve nor its own limits" in found


def test_solver_names_are_checked_and_its_banner_is_silent(capfd):
    silence_highs.cache_clear()
    silence_highs()
    assert capfd.readouterr().out == ""
    assert "expected one of HIGHS, CLARABEL" in message_of(lambda: Solver("GUROBI"))
