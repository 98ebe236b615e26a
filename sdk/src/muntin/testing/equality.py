"""Equality of results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Set
from decimal import Decimal
from numbers import Real
from typing import Any


def equal(left: object, right: object, tolerance: float = 0.0) -> bool:
    """Return True if two values are equal, numbers within a tolerance, NaN to NaN.

    Lists, tuples, mappings and dataclasses are compared part by part, and sets as they are.

    Args:
        left: A value.
        right: Another.
        tolerance: Relative, and absolute for numbers below one.

    Example:
        >>> equal({"mean": [0.1 + 0.2, float("nan")]}, {"mean": [0.3, float("nan")]}, 1e-9)
        True
        >>> equal(1, "1")
        False
    """
    return alike(left, right, lambda one, other: _equal_numbers(one, other, tolerance))


def alike(left: object, right: object, same_numbers: Callable[[object, object], bool]) -> bool:
    """Return True if two values are equal, with numbers compared by a function."""
    if isinstance(left, Real | Decimal) and isinstance(right, Real | Decimal):
        return same_numbers(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(alike(left[key], right[key], same_numbers) for key in left)
    if type(left) is not type(right):
        return False
    parts, others = parts_of(left), parts_of(right)
    if parts is None or others is None:
        return bool(left == right)
    return len(parts) == len(others) and all(alike(a, b, same_numbers) for a, b in zip(parts, others, strict=True))


def same_bag(left: Iterable[Any], right: Iterable[Any], tolerance: float = 0.0) -> bool:
    """Return True if two collections hold equal values equally often, in any order.

    Example:
        >>> same_bag([1, 2, 2], [2, 1, 2]), same_bag([1, 2, 2], [1, 1, 2])
        (True, False)
    """
    values, rest = list(left), list(right)
    if len(values) != len(rest):
        return False
    # Rows mostly agree to the last digit, or once sorted: then there is no need to look for each one's partner.
    values.sort(key=repr)
    rest.sort(key=repr)
    if equal(values, rest, tolerance):
        return True
    for value in values:
        place = next((i for i, other in enumerate(rest) if equal(value, other, tolerance)), None)
        if place is None:
            return False
        del rest[place]
    return True


def _equal_numbers(left: Any, right: Any, tolerance: float) -> bool:
    if left == right or (math.isnan(left) and math.isnan(right)):
        return True
    return bool(tolerance) and math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)


def parts_of(value: object) -> list[object] | None:
    """Return the parts of a list, tuple, dataclass or the like; None for a value that is one whole."""
    if isinstance(value, str | bytes | Set):
        return None
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
    return list(value) if isinstance(value, Iterable) else None
