"""Equality of results."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any


def equal(left: object, right: object, tolerance: float = 0.0) -> bool:
    """Return True if two values are equal, numbers within a tolerance, NaN to NaN.

    Lists, tuples, mappings and dataclasses are compared part by part. The numbers in a set get no tolerance.

    Args:
        left: The first value.
        right: The second value.
        tolerance: The relative tolerance of numbers; for numbers below one it is absolute.

    Example:
        >>> equal({"mean": [0.1 + 0.2, float("nan")]}, {"mean": [0.3, float("nan")]}, 1e-9)
        True
        >>> equal(1, "1")
        False
    """
    return alike(left, right, partial(_equal_numbers, tolerance=tolerance))


def alike(left: object, right: object, same_numbers: Callable[[object, object], bool]) -> bool:
    """Return True if two values are equal, with numbers compared by a function.

    Args:
        left: A value.
        right: The other value.
        same_numbers: Returns True if two numbers, also ones inside the values, count as equal.
    """
    if isinstance(left, Real | Decimal) and isinstance(right, Real | Decimal):
        return same_numbers(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        have_same_keys = left.keys() == right.keys()
        return have_same_keys and all(alike(left[key], right[key], same_numbers) for key in left)
    if type(left) is not type(right):
        return False
    left_parts = parts_of(left)
    right_parts = parts_of(right)
    if left_parts is None or right_parts is None:
        return bool(left == right)
    if len(left_parts) != len(right_parts):
        return False
    for left_part, right_part in zip(left_parts, right_parts, strict=True):
        if not alike(left_part, right_part, same_numbers):
            return False
    return True


def same_bag(left: Iterable[Any], right: Iterable[Any], tolerance: float = 0.0) -> bool:
    """Return True if two collections hold equal values equally often, in any order.

    Example:
        >>> same_bag([1, 2, 2], [2, 1, 2]), same_bag([1, 2, 2], [1, 1, 2])
        (True, False)
    """
    values = sorted(left, key=repr)
    unmatched = sorted(right, key=repr)
    if len(values) != len(unmatched):
        return False
    # Sorted values mostly agree pair by pair: then there is no need to search for the equal of each.
    if equal(values, unmatched, tolerance):
        return True
    for value in values:
        place = _place_of(value, unmatched, tolerance)
        if place is None:
            return False
        del unmatched[place]
    return True


def _place_of(value: object, candidates: Sequence[object], tolerance: float) -> int | None:
    """Return the place of the first candidate that is equal to a value; None if there is none."""
    for place, candidate in enumerate(candidates):
        if equal(value, candidate, tolerance):
            return place
    return None


def _equal_numbers(left: Any, right: Any, tolerance: float) -> bool:
    """Return True if two numbers are equal within a tolerance, or both are NaN."""
    if left == right or (math.isnan(left) and math.isnan(right)):
        return True
    return bool(tolerance) and math.isclose(left, right, rel_tol=tolerance, abs_tol=tolerance)


def parts_of(value: object) -> list[object] | None:
    """Return the parts of a list, tuple, dataclass or the like; None for a value that is one whole, also for a set."""
    if isinstance(value, str | bytes | Set):
        return None
    if dataclasses.is_dataclass(value):
        return [getattr(value, field.name) for field in dataclasses.fields(value) if field.compare]
    return list(value) if isinstance(value, Iterable) else None
