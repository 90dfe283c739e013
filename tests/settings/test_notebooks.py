"""The settings of the notebooks on evidence: what they accept, refuse and record."""

import pytest

from aidc.evidence import InputError
from aidc.run import notebooks
from aidc.settings.data_boundaries import DataBoundaries
from aidc.settings.evidence_framework import EvidenceFramework


def test_a_notebook_is_known_by_the_number_of_its_section() -> None:
    found = notebooks()
    assert (found["21_evidence_framework"], found["32_data_boundaries"]) == (
        EvidenceFramework,
        DataBoundaries,
    )
    for settings in (EvidenceFramework, DataBoundaries):
        assert settings.notebook.startswith(settings.section.replace(".", "") + "_")


@pytest.mark.parametrize("value", [-1, "inf", "soon"])
def test_a_slack_is_a_number_of_minutes_of_at_least_zero(value: object) -> None:
    with pytest.raises(InputError, match=r"21_evidence_framework: parameter 'slack_min'"):
        EvidenceFramework.parse({"slack_min": value})


def test_a_register_takes_no_parameter_but_the_folder() -> None:
    assert DataBoundaries().recorded() == {}
    with pytest.raises(InputError, match=r"valid parameters: results_dir$"):
        DataBoundaries.parse({"slack_min": 3})
