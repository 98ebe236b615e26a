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
    # A key begins with 0 for null, 1 for a value and 2 for NaN, so that these are never compared with one another.
    if value is None:
        return (0,)
    if isinstance(value, float):
        if isnan(value):
            return (2,)
        return (1, value, copysign(1, value))  # -0.0 comes before 0.0
    if isinstance(value, dict):
        item_keys = [(value_key(name), value_key(part)) for name, part in value.items()]
        return (1, *item_keys)
    if is_dataclass(value) and not isinstance(value, type):
        field_keys = [value_key(getattr(value, field.name)) for field in fields(value)]
        return (1, type(value).__name__, *field_keys)
    if isinstance(value, list | tuple):
        return (1, *map(value_key, value))
    return (1, value)


def sorted_by_value(items: Iterable[T], value: Callable[[T], object], *, descending: bool = False) -> list[T]:
    """Sort items by a value of each; items with equal values keep their order.

    Values of several types, or of a type without an order, are ordered by their text.

    Args:
        items: The items.
        value: The function from an item to its value.
        descending: True to begin with the largest value.
    """
    unsorted = list(items)  # it is read a second time if values have no order
    try:
        return sorted(unsorted, key=lambda item: value_key(value(item)), reverse=descending)
    except TypeError:
        return sorted(unsorted, key=lambda item: repr(value(item)), reverse=descending)


def comes_after(value: object, other: object) -> bool:
    """Return True if a value comes after another one; values without an order are compared by their text.

    Example:
        >>> comes_after((10.0, None), (9.0, "a")), comes_after(None, 3), comes_after(3, 3)
        (True, False, False)
    """
    try:
        return value_key(value) > value_key(other)
    except TypeError:
        return repr(value) > repr(other)
