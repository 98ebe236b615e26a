"""The order of events: by time, at one time by the query's order, and those alike in both by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from itertools import groupby
from math import copysign, isnan
from typing import Any, TypeVar

T = TypeVar("T")


def in_sequence(events: Iterable[T], place: Callable[[T], tuple[Any, ...]], held: Callable[[T], object]) -> list[T]:
    """Return events in order, whatever the order in which they came.

    Args:
        events: The events.
        place: Returns a sort key: the time and the order of an event.
        held: Returns what tells two events of one place apart.

    Cost: a sort by place; what events hold is looked at where places are equal.
    """
    found: list[T] = []
    for _, alike in groupby(sorted(events, key=place), key=place):
        some = list(alike)
        found += _by_value(some, held) if len(some) > 1 else some
    return found


def value_key(value: object) -> tuple[Any, ...]:
    """Return a sort key of plain data: null first, numbers by size with NaN last, records field by field.

    Example:
        >>> sorted([(2, None), (10, "b"), (2, "a"), None], key=value_key)
        [None, (2, None), (2, 'a'), (10, 'b')]
    """
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if isnan(value) else (1, value, copysign(1, value))
    if isinstance(value, dict):
        return (1, *((value_key(name), value_key(part)) for name, part in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return (1, type(value).__name__, *(value_key(getattr(value, part.name)) for part in fields(value)))
    return (1, *map(value_key, value)) if isinstance(value, list | tuple) else (1, value)


def _by_value(alike: list[T], held: Callable[[T], object]) -> list[T]:
    try:
        return sorted(alike, key=lambda one: value_key(held(one)))
    except TypeError:  # values of several types, or of one without an order
        return sorted(alike, key=lambda one: repr(held(one)))
