"""A plan as plain data that JSON can hold, and back.

A value is what JSON has for it; a list is a tuple. Anything else is a dict that says what it is, such as
`{"is": "BoundedDelay", "delay": 5}`. Muntin's own classes go by their name, others by the module that they are defined
in. Nothing is imported to read data: a class of others is one that was given, or that the process has imported already.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import ModuleType
from typing import Any, Final

import muntin.axis
import muntin.policies
import muntin.progress
import muntin.schemas.fields
import muntin.triggers.composed
import muntin.triggers.elementary
import muntin.triggers.emission
import muntin_engine.plan.code
import muntin_engine.plan.columns
import muntin_engine.plan.inputs
import muntin_engine.plan.join_plan
import muntin_engine.plan.module_plan
import muntin_engine.plan.plan
import muntin_engine.time.lifetimes
import muntin_engine.time.source_rules
from muntin.axis import TimeLength
from muntin.catalog.named_windows import from_dict, kind_named
from muntin.errors import MuntinError, QueryError
from muntin.modules.parameters import spell
from muntin.schemas import Scalar, Struct, Variable
from muntin.windows import WindowSpecification

IS: Final = "is"
"""The entry of a dict that says what it is."""

_HOMES: Final[tuple[ModuleType, ...]] = (
    *(muntin.axis, muntin.triggers.emission, muntin.policies, muntin.progress, muntin.schemas.fields),
    *(muntin.triggers.composed, muntin.triggers.elementary),
    *(muntin_engine.time.lifetimes, muntin_engine.time.source_rules),
    *(muntin_engine.plan.code, muntin_engine.plan.columns, muntin_engine.plan.inputs),
    *(muntin_engine.plan.join_plan, muntin_engine.plan.module_plan, muntin_engine.plan.plan),
)
_OWN: Final[Mapping[str, type]] = {
    name: cls
    for home in _HOMES
    for name, cls in vars(home).items()
    if isinstance(cls, type) and cls.__module__ == home.__name__
}
"""The classes of Muntin's that a plan is made of, by name."""


@dataclass(frozen=True, slots=True)
class Unwritable:
    """A value that data cannot hold, such as a function.

    Attributes:
        text: The value in words.
    """

    text: str


def written(value: Any) -> Any:
    """Return a value as data. What cannot be written is so marked, and comes back as `Unwritable`.

    Example:
        >>> from muntin import tumbling
        >>> written((1, Decimal("2.50"), tumbling(10)))[:2]
        [1, {'is': 'Decimal', 'value': '2.50'}]
    """
    found: Any = value
    if isinstance(value, Enum):
        found = {IS: _name_of(type(value)), "value": value.value}
    elif isinstance(value, str):
        found = str(value)
    elif isinstance(value, WindowSpecification) and _is_known(value):
        found = {IS: "window", **value.to_dict()}
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _number(value)
    elif isinstance(value, Mapping):
        found = _mapping(value)
    elif type(value) is tuple:
        found = [written(part) for part in value]
    elif (kind := type(value).__name__) in _KINDS:
        found = {IS: kind, "value": _KINDS[kind][0](value)}
    elif isinstance(value, tuple) or (is_dataclass(value) and not isinstance(value, type)):
        found = _record(value)
    elif value is not None and not isinstance(value, bool):
        found = {IS: "unwritable", "text": spell(value)}
    return found


def _number(value: float) -> Any:
    if isinstance(value, TimeLength):
        return {IS: "TimeLength", "value": int(value)}
    if isinstance(value, int):
        return int(value)
    return float(value) if math.isfinite(value) else {IS: "float", "value": repr(float(value))}


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    if IS not in value and all(isinstance(name, str) for name in value):
        return {name: written(part) for name, part in value.items()}
    return {IS: "dict", "value": [[written(name), written(part)] for name, part in value.items()]}


def _record(value: Any) -> dict[str, Any]:
    cls: Any = type(value)
    cls = next((base for base in (Scalar, Variable) if isinstance(value, base)), cls)  # a column's own knows Spark
    names = cls._fields if isinstance(value, tuple) else [part.name for part in fields(cls) if part.init]
    parts = {name: getattr(value, name) for name in names}
    if isinstance(value, Struct):  # of columns, whose values are dicts
        del parts["make"]
    return {IS: _name_of(cls), **{name: written(part) for name, part in parts.items()}}


def _is_known(windows: WindowSpecification) -> bool:
    try:
        return kind_named(windows.name) is type(windows)
    except MuntinError:
        return False


def _name_of(cls: type) -> str:
    return cls.__name__ if _OWN.get(cls.__name__) is cls else path_of(cls)


def path_of(cls: type) -> str:
    """Return where a class is defined: its module and its name there.

    Example:
        >>> path_of(Decimal)
        'decimal:Decimal'
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def imported(path: str) -> Any:
    """Return what the process has at a path already; None if it has not imported it."""
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def read(data: Any, given: Mapping[str, type] = {}) -> Any:  # it is only read
    """Return the value that `written` wrote.

    Args:
        data: The data.
        given: Classes that may not be imported yet, by their paths, or by their names behind a colon.

    Raises:
        QueryError: It names a class that is not there, or is not what this version writes.
    """
    if isinstance(data, list):
        return tuple(read(part, given) for part in data)
    if not isinstance(data, Mapping):
        return data
    kind = data.get(IS)
    if kind is None:
        return {name: read(part, given) for name, part in data.items()}
    parts = {name: part for name, part in data.items() if name != IS}
    if kind == "window":
        return from_dict(parts)
    if kind == "unwritable":
        return Unwritable(**parts)
    if kind in _KINDS:
        return _KINDS[kind][1](read(parts["value"], given))
    cls = _class_named(kind, given)
    if issubclass(cls, Struct):
        parts["make"] = None
    values = {name: read(part, given) for name, part in parts.items()}
    if issubclass(cls, Struct):
        values["make"] = dict
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise QueryError(f"{dict(data)!r:.200} cannot be read: {error}\n  use the Muntin that wrote it") from error


def _class_named(name: str, given: Mapping[str, type]) -> type:
    module, _, cls = name.partition(":")
    found: Any = given.get(name) or given.get(f":{cls}") or (imported(name) if cls else _OWN.get(name))
    if isinstance(found, type) and (issubclass(found, Enum | tuple) or is_dataclass(found)):
        return found
    how = f"import it before: from {module} import {cls}" if cls else "use the Muntin that wrote it"
    raise QueryError(f"the data names {name}, which is not here\n  {how}")


_MICROSECOND: Final = timedelta(microseconds=1)
_KINDS: Final[Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "list": (lambda value: [written(part) for part in value], list),
    "set": (lambda value: sorted(map(written, value), key=repr), set),
    "frozenset": (lambda value: sorted(map(written, value), key=repr), frozenset),
    "dict": (_mapping, dict),  # one whose keys are no text
    "float": (repr, float),
    "TimeLength": (int, TimeLength),
    "Decimal": (str, Decimal),
    "Fraction": (str, Fraction),
    "bytes": (bytes.hex, bytes.fromhex),
    "datetime": (datetime.isoformat, datetime.fromisoformat),
    "date": (date.isoformat, date.fromisoformat),
    "timedelta": (lambda value: value // _MICROSECOND, lambda value: value * _MICROSECOND),
}
"""How the plain values are written and read that JSON has no word for, by the name of their type."""
