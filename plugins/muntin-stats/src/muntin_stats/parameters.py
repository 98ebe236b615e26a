"""Checks of a module's parameters: a query with a wrong one is refused where it is built."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite


def flag(name: str, value: object) -> bool:
    """Return a parameter that is True or False.

    Raises:
        ValueError: The value is neither.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return value


def one_of(name: str, value: object, words: Sequence[str]) -> str:
    """Return a parameter that is one of `words`.

    Raises:
        ValueError: The value is none of them.
    """
    if isinstance(value, str) and value in words:
        return value
    raise ValueError(f"{name} must be {' or '.join(map(repr, words))}, got {value!r}")


def whole_number(name: str, value: object, *, least: int, most: int | None = None) -> int:
    """Return a parameter that is a whole number.

    Raises:
        ValueError: The value is no whole number, below `least` or above `most`.
    """
    if isinstance(value, int) and not isinstance(value, bool) and least <= value and (most is None or value <= most):
        return value
    limit = "on" if most is None else f"to {most}"
    raise ValueError(f"{name} must be a whole number from {least} {limit}, got {value!r}")


def share(name: str, value: object) -> float:
    """Return a parameter that is a number from 0 to 1.

    Raises:
        ValueError: The value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}; 90 percent is 0.9")
    return value


def positive_share(name: str, value: object) -> float:
    """Return a parameter that is a number above 0 and up to 1.

    Raises:
        ValueError: The value is no such number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError(f"{name} must be a number above 0 and up to 1, got {value!r}")
    return value


def ascending(name: str, values: object) -> list[float]:
    """Return a parameter that is a list of finite numbers, at least one, each larger than the one before.

    The numbers become floats, except for whole numbers that no float holds.

    Raises:
        ValueError: The value is no such list.
    """
    fault = ValueError(f"{name} must be numbers, each larger than the one before, such as [0, 10, 20], got {values!r}")
    if isinstance(values, str | bytes) or not isinstance(values, Sequence) or not values:
        raise fault
    for value in values:
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise fault
    if not all(low < high for low, high in pairwise(values)):
        raise fault
    return [float(value) if float(value) == value else value for value in values]
