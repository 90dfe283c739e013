"""The boundary table and its counts, against a register that can be counted by hand."""

from pathlib import Path

from aidc.evidence.register import read_register
from aidc.evidence.registry import Status
from aidc.publish.boundaries import (
    UNLABELLED,
    boundary_table,
    labels_and_statuses,
    status_counts,
)
from tests.evidence.registers import small_register


def test_the_table_has_every_variable_in_order(tmp_path: Path) -> None:
    table = boundary_table(small_register(tmp_path))
    assert list(table["key"]) == ["seen", "follows", "unseen", "chosen"]
    row = table.set_index("key").loc["follows"]
    assert (row["works"], row["status"], row["paper_label"]) == (
        "a_work, b_work",
        "computed field",
        UNLABELLED,
    )
    assert (row["first_use"], row["limitation"]) == ("use", "limit")


def test_every_status_is_counted_also_when_nothing_has_it(tmp_path: Path) -> None:
    counts = status_counts(small_register(tmp_path)).set_index("status")
    assert len(counts) == len(Status)
    assert list(counts.loc["observed"]) == [1, 0, 1]
    assert list(counts.loc["computed field"]) == [0, 1, 1]
    assert list(counts.loc["derived"]) == [0, 0, 0]


def test_counts_add_up_on_the_shipped_register() -> None:
    register = read_register()
    counts = status_counts(register)
    assert counts["total"].sum() == len(register.variables)
    assert (counts["in_paper_table"] + counts["elsewhere"] == counts["total"]).all()
    assert labels_and_statuses(register)["variables"].sum() == len(register.variables)


def test_labels_stand_beside_each_status_they_meet(tmp_path: Path) -> None:
    labels = labels_and_statuses(small_register(tmp_path))
    assert list(zip(labels["paper_label"], labels["status"], strict=True)) == [
        ("直接观测", "observed"),
        (UNLABELLED, "computed field"),
        (UNLABELLED, "not observed"),
        (UNLABELLED, "experimental setting"),
    ]
    assert labels["names"].iloc[0] == "name of seen"
