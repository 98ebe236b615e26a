"""A total order of plain data of mixed types: null first, numbers by size with NaN last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from math import copysign, isnan
from typing import Any, TypeVar

T = TypeVar("T")


def value_key(value: object) -> tuple[Any, ...]:
    """Return a sort key of plain data: null first, numbers by size with NaN last, records field by field.

    Example:
        >>> sorted([(2, None), (10, "b"), (2, "a"), None], key=value_key)
        [None, (2, None), (2, 'a'), (10, 'b')]
    """
    # Each key begins with its rank, so that nulls, values and NaN are never compared with one another.
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (2,) if isnan(value) else (1, value, copysign(1, value))  # -0.0 comes before 0.0
    if isinstance(value, dict):
        return (1, *((value_key(name), value_key(part)) for name, part in value.items()))
    if is_dataclass(value) and not isinstance(value, type):
        return (1, type(value).__name__, *(value_key(getattr(value, part.name)) for part in fields(value)))
    if isinstance(value, list | tuple):
        return (1, *map(value_key, value))
    return (1, value)


def sorted_by_value(items: Iterable[T], value: Callable[[T], object], *, descending: bool = False) -> list[T]:
    """Sort items by a value of each; those with equal values keep their order.

    Values of several types, or of one without an order, go by their text.
    """
    unsorted = list(items)  # walked twice if values have no order
    try:
        return sorted(unsorted, key=lambda item: value_key(value(item)), reverse=descending)
    except TypeError:
        return sorted(unsorted, key=lambda item: repr(value(item)), reverse=descending)


def comes_after(value: object, other: object) -> bool:
    """Return True if a value comes after another one of its kind; two without an order go by their text.

    Example:
        >>> comes_after((10.0, None), (9.0, "a")), comes_after(None, 3), comes_after(3, 3)
        (True, False, False)
    """
    try:
        return value_key(value) > value_key(other)
    except TypeError:
        return repr(value) > repr(other)
