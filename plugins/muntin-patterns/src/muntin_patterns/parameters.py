"""Checks of a module's parameters: a query with a wrong one is refused where it is built."""

from __future__ import annotations

from collections.abc import Collection
from math import inf, isfinite


def number(name: str, value: object, *, least: float = -inf) -> float:
    """Return a parameter that is a finite number.

    Raises:
        ValueError: The value is no finite number, or below `least`.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or value < least:
        bound = f" from {least} on" if isfinite(least) else ""
        raise ValueError(f"{name} must be a finite number{bound}, got {value!r}")
    return value


def whole_number(name: str, value: object, *, least: int) -> int:
    """Return a parameter that is a whole number.

    Raises:
        ValueError: The value is no whole number, or below `least`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on, got {value!r}")
    return value


def choice(name: str, value: object, choices: Collection[str]) -> str:
    """Return a parameter that is one of `choices`.

    Raises:
        ValueError: The value is none of them.
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value
