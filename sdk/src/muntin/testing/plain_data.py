"""The types that a state may be made of, and the values that come back from a checkpoint.

An engine stores states between batches in an encoding of its own. All encodings preserve values, the order of lists,
the members of sets and the entries of dicts; not the identity of objects, nor what an ordered or defaulting dict or a
bounded deque has beyond a plain one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from muntin.schemas.type_advice import advice_about
from muntin.testing.fitting import plain_number

_VALUES: Final = (type(None), bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta)
_ZONES: Final = (type(None), timezone, ZoneInfo)
_COLLECTIONS: Final[dict[type, Callable[[Iterable[Any]], Any]]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    deque: deque,
}
_DICTS: Final[dict[type, Callable[[dict[Any, Any]], Any]]] = {
    dict: dict,
    OrderedDict: dict,
    defaultdict: dict,
    Counter: Counter,
}


def restored(value: Any, records: Collection[type] = ()) -> Any:
    """Return a value as it comes back from a checkpoint: equal, and sharing nothing with the original.

    Args:
        value: The plain data.
        records: The dataclasses and named tuples that may occur in it; `records_in` finds those of an annotation.

    Raises:
        TypeError: A part of the value is not plain data.

    Example:
        >>> state = {"sum": 1.5, "seen": {1, 2}}
        >>> restored(state) == state, restored(state)["seen"] is state["seen"]
        (True, False)
    """
    # NumPy's numbers come back as Python's.
    value = plain_number(value)
    kind = type(value)
    if kind in _VALUES:
        if kind is datetime and type(value.tzinfo) not in _ZONES:
            raise TypeError(
                f"the zone of {value!r} is of the type {type(value.tzinfo).__qualname__}, which is not plain data\n"
                "  expected: no zone, datetime.UTC, a fixed offset (datetime.timezone) or zoneinfo.ZoneInfo"
            )
        return value
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](restored(part, records) for part in value)
    if kind in _DICTS:
        return _DICTS[kind]({restored(key, records): restored(part, records) for key, part in value.items()})
    if kind in records:
        return _record(value, {name: restored(part, records) for name, part in _fields(value).items()})
    raise TypeError(_complaint(value))


def records_in(annotation: Any) -> frozenset[type]:
    """Return the dataclasses and named tuples that an annotation mentions, at any depth.

    Example:
        >>> from muntin import Event
        >>> records_in(dict[str, list[Event[int]]] | None)
        frozenset({<class 'muntin.events.Event'>})
    """
    records: set[type] = set()
    # Records may hold records: a walk over a tree whose nodes are annotations.
    pending = [annotation]
    while pending:
        part = pending.pop()
        cls = get_origin(part) or part
        pending += get_args(part)
        if _is_record(cls) and cls not in records:
            records.add(cls)
            pending += _hints(cls).values()
    return frozenset(records)


def _hints(record: type) -> dict[str, object]:
    """Return the annotations of a record; none where they cannot be read."""
    try:
        return get_type_hints(record)
    except Exception:  # the law of the definition reports it in better words
        return {}


def _is_record(cls: object) -> bool:
    """Return True for a dataclass or a class of named tuples."""
    return isinstance(cls, type) and (dataclasses.is_dataclass(cls) or hasattr(cls, "_fields"))


def _fields(record: Any) -> dict[str, object]:
    """Return the values of a named tuple or a dataclass by the names of its fields."""
    if hasattr(record, "_asdict"):
        return dict(record._asdict())
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def _record(value: Any, parts: dict[str, object]) -> object:
    """Make a record anew from its fields; fields that its constructor does not take are set afterwards.

    Args:
        value: The record.
        parts: The values of its fields as they come back from a checkpoint, by name.

    Raises:
        TypeError: The class refuses the values of the fields.
    """
    cls: Any = type(value)
    set_afterwards: set[str] = set()
    if dataclasses.is_dataclass(cls):
        set_afterwards = {field.name for field in dataclasses.fields(cls) if not field.init}
    arguments = {name: part for name, part in parts.items() if name not in set_afterwards}
    try:
        record: object = cls(**arguments)
    except Exception as error:
        raise TypeError(
            f"{value!r} is refused by its own class: {type(error).__name__}: {error}\n"
            "  expected: a record that its class can create again from its fields, as when a checkpoint is read"
        ) from error
    for name in set_afterwards:
        object.__setattr__(record, name, parts[name])
    return record


def _complaint(value: object) -> str:
    """Return the reason why a value cannot be stored, and what can."""
    if _is_record(type(value)):
        return (
            f"{value!r} is a {type(value).__qualname__}, which the module does not declare\n"
            "  expected: the class of a record appears in the module's state or result type"
        )
    return (
        f"{value!r} of type {type(value).__qualname__} is not plain data\n"
        "  expected: None, bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta, or lists,\n"
        "  tuples, sets, deques, dicts, Counters, dataclasses and named tuples of these"
        f"{advice_about(type(value))}"
    )
