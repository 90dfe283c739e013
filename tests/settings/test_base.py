"""Parameters are checked before anything runs; a mistake ends in one helpful line."""

from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from aidc.evidence import InputError
from aidc.settings.base import NotebookSettings

Share = Annotated[float, Field(lt=1)]


class Tiny(NotebookSettings):
    """Parameters of no real notebook."""

    notebook: ClassVar[str] = "99_tiny"
    section: ClassVar[str] = "9.9"
    defining: ClassVar[tuple[str, ...]] = ("shares",)

    slack_min: float = Field(
        default=30.0,
        ge=0,
        allow_inf_nan=False,
        description="extra time",
        json_schema_extra={"unit": "min"},
    )
    shares: tuple[Share, ...] = Field(default=(0.5, 0.9), min_length=1, description="shares")
    names: tuple[str, ...] = Field(default=("A",), description="names")
    strict: bool = Field(default=True, description="be strict")
    limit: float | None = Field(default=None, description="a limit, if any")
    seed: int = Field(default=1, gt=0, description="a seed")
    rule: Literal["one", "two"] = Field(default="one", description="a rule")


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
        (
            {"zzz": 3},
            "valid parameters: results_dir, slack_min, shares, names, strict, limit, seed, rule",
        ),
        ({"slack_min": "soon"}, "parameter 'slack_min': found 'soon'.*unit min; default 30\\)"),
        ({"slack_min": -1}, "parameter 'slack_min': found -1, expected a number of at least 0 "),
        ({"slack_min": "inf"}, "found 'inf', expected a finite number"),
        ({"shares": "[x]"}, "parameter 'shares', item 0: found 'x', expected a number"),
        ({"shares": True}, "parameter 'shares': found True, expected a list of values"),
        ({"shares": "1"}, "item 0: found '1', expected a number below 1 "),
        ({"shares": ""}, "found no value, expected at least 1; several with commas between"),
        ({"strict": "perhaps"}, "parameter 'strict': found 'perhaps', expected true or false"),
        ({"seed": 0.5}, "found 0.5, expected a whole number"),
        ({"seed": 0}, "found 0, expected a number above 0 "),
        ({"rule": "all"}, "found 'all', expected 'one' or 'two'"),
        ({"names": [3]}, "item 0: found 3, expected text"),
    ],
)
def test_a_mistake_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Tiny.parse(given)
    assert "\n" not in str(caught.value)
    # The words of pydantic name no unit and no remedy.
    assert "Input should" not in str(caught.value)
    assert "after validation" not in str(caught.value)


def test_types_and_defaults_are_shown_as_one_would_type_them() -> None:
    shown = {name: (Tiny.type_name(name), Tiny.default_text(name)) for name in Tiny.model_fields}
    assert shown == {
        "results_dir": ("text", '""'),
        "slack_min": ("number", "30"),
        "shares": ("list of number", "0.5,0.9"),
        "names": ("list of text", "A"),
        "strict": ("true/false", "True"),
        "limit": ("number or none", "none"),
        "seed": ("integer", "1"),
        "rule": ("text", "one"),
    }


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
