"""Parameters are checked before anything runs; a mistake ends in one helpful line."""

from typing import Any, ClassVar

import pytest
from pydantic import Field

from aidc.evidence import InputError
from aidc.settings.base import NotebookSettings


class Tiny(NotebookSettings):
    """Parameters of no real notebook."""

    notebook: ClassVar[str] = "99_tiny"
    section: ClassVar[str] = "9.9"
    defining: ClassVar[tuple[str, ...]] = ("shares",)

    slack_min: float = Field(
        default=30.0, ge=0, description="extra time", json_schema_extra={"unit": "min"}
    )
    shares: tuple[float, ...] = Field(default=(0.5, 0.9), description="shares")
    names: tuple[str, ...] = Field(default=("A",), description="names")
    strict: bool = Field(default=True, description="be strict")
    limit: float | None = Field(default=None, description="a limit, if any")


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ({"slack_min": "45"}, "slack_min", 45.0),
        ({"shares": "0.5,0.75"}, "shares", (0.5, 0.75)),
        ({"shares": "[0.5, 0.75]"}, "shares", (0.5, 0.75)),
        ({"shares": [0.25]}, "shares", (0.25,)),
        ({"shares": 0.25}, "shares", (0.25,)),
        ({"limit": "none"}, "limit", None),
        ({"limit": "2"}, "limit", 2.0),
        ({"names": "A, 'B'"}, "names", ("A", "B")),
        ({"strict": "false"}, "strict", False),
        ({}, "slack_min", 30.0),
    ],
)
def test_values_arrive_as_text_lists_or_themselves(
    given: dict[str, Any], name: str, expected: object
) -> None:
    assert getattr(Tiny.parse(given), name) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"slak_min": 3}, r"99_tiny: unknown parameter 'slak_min'; did you mean 'slack_min'\?"),
        ({"zzz": 3}, "valid parameters: results_dir, slack_min, shares, names, strict, limit"),
        ({"slack_min": "soon"}, "parameter 'slack_min': found 'soon'.*unit min; default 30.0"),
        ({"slack_min": -1}, "parameter 'slack_min': found -1"),
        ({"shares": "[x]"}, "parameter 'shares', item 0: found 'x'"),
        ({"shares": True}, "parameter 'shares': found True"),
        ({"strict": "perhaps"}, "parameter 'strict': found 'perhaps'"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Tiny.parse(given)
    assert "\n" not in str(caught.value)


def test_a_notebooks_namespace_is_its_parameters() -> None:
    shell = {"In": [], "Out": {}, "_": 1, "get_ipython": None, "exit": 1, "quit": 1, "open": 1}
    parsed = Tiny.from_namespace({**shell, "Tiny": Tiny, "slack_min": 5})
    assert parsed.slack_min == 5
    with pytest.raises(InputError, match="unknown parameter 'slack_mins'"):
        Tiny.from_namespace({**shell, "slack_mins": 5})


def test_only_what_differs_is_changed_and_recorded_without_the_folder() -> None:
    settings = Tiny.parse({"slack_min": 30, "shares": [0.1], "results_dir": "out"})
    assert settings.changed() == {"shares": [0.1], "results_dir": "out"}
    assert "results_dir" not in settings.recorded()
    assert Tiny().changed() == {}


def test_a_parameter_is_published_as_chosen_not_as_observed() -> None:
    chosen = Tiny.parse({"slack_min": 5}).setting("slack_min")
    assert chosen.value == 5
    assert str(chosen.evidence) == "constructed layer · declared · from setting:slack_min"
