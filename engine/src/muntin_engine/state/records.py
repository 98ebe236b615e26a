"""Records: dataclasses and named tuples, which are written by name and values."""

from __future__ import annotations

import dataclasses
import inspect
from functools import lru_cache
from itertools import starmap
from typing import Any

from muntin.errors.safe_text import safe_cause, safe_message, safe_repr
from muntin_engine.errors import StateError


def record_name(cls: type) -> str:
    """Return the name under which a class is written."""
    return f"{cls.__module__}.{cls.__qualname__}"


def field_names(cls: Any) -> list[str]:
    """Return the names of a record's fields."""
    return list(cls._fields) if hasattr(cls, "_fields") else [field.name for field in dataclasses.fields(cls)]


def make_record(cls: Any, values: dict[str, object]) -> Any:
    """Make a record of a class from the values of its fields.

    Fields that the constructor of a dataclass does not take are set afterwards, also if the dataclass is frozen.
    """
    set_later: set[str] = set()
    if dataclasses.is_dataclass(cls):
        set_later = {field.name for field in dataclasses.fields(cls) if not field.init}
    record = cls(**{name: value for name, value in values.items() if name not in set_later})
    for name in set_later:
        object.__setattr__(record, name, values[name])
    return record


def check_record(record: Any) -> None:
    """Check that the class of a record can make it again from its fields, as when it is read back.

    A record may have been changed to values that its class refuses.

    Raises:
        StateError: The class refuses the values of the fields.
    """
    cls = type(record)
    if not hasattr(cls, "__post_init__"):
        return
    try:
        make_record(cls, {name: getattr(record, name) for name in field_names(cls)})
    except Exception as error:
        raise StateError(
            f"{safe_repr(record)} cannot be stored: {cls.__qualname__} refuses it: {safe_message(error)}\n"
            "  expected: a record that its class can create again from its fields, as when the state is read back"
        ) from safe_cause(error)


def make_records(cls: Any, names: list[str], columns: list[list[object]]) -> list[object]:
    """Make many records of a class from the values of each field; `dict` makes dicts of the fields."""
    if cls is not dict and _takes_in_order(cls, tuple(names)):
        return list(starmap(cls, zip(*columns, strict=True)))
    return [make_record(cls, dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


@lru_cache
def _takes_in_order(cls: type, names: tuple[str, ...]) -> bool:
    """Return True if the constructor of a record takes the named fields by place, in this order, and nothing else."""
    parameters = inspect.signature(cls).parameters.values()
    by_place = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    return by_place == list(names) == field_names(cls) and len(by_place) == len(parameters)
