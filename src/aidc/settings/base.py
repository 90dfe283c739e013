"""What every notebook's parameters share: checking, and one clear line when they are wrong."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aidc import paths
from aidc.evidence import InputError, Setting
from aidc.publish.results import Results

# What a notebook's namespace holds beside its parameters.
_IPYTHON_NAMES = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open"})

# What pydantic refuses, by its name of the error, as what a user should have given.
_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "int_type": "a whole number",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "literal_error": "{expected}",
    "string_type": "text",
    "too_short": "at least {min_length}; several with commas between",
    "tuple_type": "a list of values, with commas between",
}


class NotebookSettings(BaseModel):
    """Parameters of one notebook: frozen, typed, each with a unit and a meaning.

    Subclasses set `notebook`, `section` and `defining` (the parameters that
    change what a published number means, so that a claim is no longer testable).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    notebook: ClassVar[str]
    section: ClassVar[str]
    defining: ClassVar[tuple[str, ...]] = ()

    results_dir: str = Field(
        default="",
        description='folder for the results; "" means the folder of the current run',
        json_schema_extra={"unit": "folder"},
    )

    @model_validator(mode="before")
    @classmethod
    def _lists_from_text(cls, values: Any) -> Any:
        """Accept "0.5,0.9", "[0.5, 0.9]" and 0.5 for a list: papermill's ``-p`` passes these."""
        if not isinstance(values, Mapping):
            return values
        parsed = dict(values)
        for name, value in values.items():
            if name in cls.model_fields and cls.is_list(name):
                parsed[name] = _listed(value)
            elif name in cls.model_fields and cls.may_be_none(name):
                parsed[name] = None if value in ("", "none", "None") else value
        return parsed

    @classmethod
    def is_list(cls, name: str) -> bool:
        """Whether a parameter takes a list of values."""
        return get_origin(cls.model_fields[name].annotation) is tuple

    @classmethod
    def may_be_none(cls, name: str) -> bool:
        """Whether a parameter may be left open: "none" on a command line."""
        return type(None) in get_args(cls.model_fields[name].annotation)

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings for the given values and the defaults of all others.

        Raises
        ------
        InputError
            One line: the parameter, what was found and expected, and the valid names
            when the name is unknown.
        """
        unknown = [name for name in values if name not in cls.model_fields]
        if unknown:
            raise InputError(cls._unknown(unknown[0]))
        try:
            return cls.model_validate(dict(values))
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0]) if first["loc"] else "parameters"
            item = f", item {first['loc'][1]}" if len(first["loc"]) > 1 else ""
            found = repr(first["input"]) if first["input"] not in ([], ()) else "no value"
            raise InputError(
                f"{cls.notebook}: parameter {name!r}{item}: found {found}{_expected(first)}"
                f" ({cls.describe(name)})"
            ) from error

    @classmethod
    def from_namespace(cls, namespace: Mapping[str, Any]) -> Self:
        """Return the settings that a notebook's parameters cells have defined.

        Call it first, with ``globals()``: any other name defined by then is a
        misspelt parameter, which papermill itself only warns about.

        Raises
        ------
        InputError
            As `parse`.
        """
        given = {
            name: value
            for name, value in namespace.items()
            if not name.startswith("_") and name not in _IPYTHON_NAMES and name != cls.__name__
        }
        return cls.parse(given)

    @classmethod
    def describe(cls, name: str) -> str:
        """Return meaning, unit and default of a parameter in one phrase."""
        field = cls.model_fields.get(name)
        if field is None:
            return f"valid parameters: {', '.join(cls.model_fields)}"
        unit, default = cls.unit(name), cls.default_text(name)
        return f"{name}: {field.description}; unit {unit}; default {default}"

    @classmethod
    def unit(cls, name: str) -> str:
        """Return the unit of a parameter, "-" for a pure number or a name."""
        extra = cls.model_fields[name].json_schema_extra
        return str(extra["unit"]) if isinstance(extra, dict) and "unit" in extra else "-"

    @classmethod
    def type_name(cls, name: str) -> str:
        """Return the type of a parameter in plain words."""
        annotation = cls.model_fields[name].annotation
        if cls.may_be_none(name):
            return "number or none"
        if cls.is_list(name):
            return f"list of {_type_word(get_args(annotation)[0])}"
        return _type_word(annotation)

    @classmethod
    def default_text(cls, name: str) -> str:
        """Return the default of a parameter as one would type it after ``-p``."""
        default = cls.model_fields[name].default
        if default is None:
            return "none"
        if isinstance(default, tuple):
            return ",".join(_typed(item) for item in default) or "[]"
        return _typed(default)

    @classmethod
    def registered_as(cls, name: str) -> str | None:
        """Return the key of the registered setting that a parameter takes, if any."""
        extra = cls.model_fields[name].json_schema_extra
        return str(extra["setting"]) if isinstance(extra, dict) and "setting" in extra else None

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, in JSON types."""
        values = self.model_dump(mode="json")
        defaults = type(self)().model_dump(mode="json")
        return {name: value for name, value in values.items() if value != defaults[name]}

    def recorded(self) -> dict[str, Any]:
        """Return the parameters that a result depends on, in JSON types."""
        return self.model_dump(mode="json", exclude={"results_dir"})

    def setting(self, name: str) -> Setting:
        """Return a parameter as a carrier, to publish it as what it is: chosen."""
        return Setting.of(name, getattr(self, name))

    def results(self) -> Results:
        """Return where this notebook publishes its numbers, tables and figures."""
        return Results(
            notebook=self.notebook,
            section=self.section,
            folder=paths.results_folder(self.notebook, self.results_dir),
            parameters=self.recorded(),
            redefined=tuple(name for name in self.changed() if name in self.defining),
        )

    @classmethod
    def _unknown(cls, name: str) -> str:
        close = difflib.get_close_matches(name, cls.model_fields, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        return (
            f"{cls.notebook}: unknown parameter {name!r}; {hint}"
            f"valid parameters: {', '.join(cls.model_fields)}"
        )


def _type_word(annotation: Any) -> str:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return {int: "integer", float: "number", bool: "true/false"}.get(annotation, "text")


def _typed(value: object) -> str:
    """Return a value as one would type it on a command line."""
    return f"{value:g}" if isinstance(value, float) else str(value) or '""'


def _expected(error: Any) -> str:
    """Return what was expected, in plain words where pydantic has its own."""
    plain = _EXPECTED.get(error["type"])
    if plain:
        return f", expected {plain.format(**error.get('ctx', {}))}"
    return f"; {error['msg'].removeprefix('Value error, ')}"


def _listed(value: object) -> object:
    if isinstance(value, str):
        return _split(value)
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [value] if plain else value


def _split(text: str) -> list[str]:
    inner = text.strip().removeprefix("[").removesuffix("]")
    return [item.strip().strip("'\"") for item in inner.split(",") if item.strip()]
