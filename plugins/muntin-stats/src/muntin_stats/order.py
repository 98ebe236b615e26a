"""Nulls, NaN and order as in Spark SQL: nulls are left out; NaN is larger than any number and equal to itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol

from typing_extensions import TypeVar


class Ordered(Protocol):
    """A value that can be compared with its like: numbers, text, bytes, dates."""

    def __lt__(self, other: Any, /) -> bool: ...


P = TypeVar("P")
T = TypeVar("T", bound=Ordered)
H = TypeVar("H", bound=Hashable, default=Any)


def present(payloads: Iterable[P | None]) -> list[P]:
    """Return the payloads that are not null.

    Example:
        >>> present([1, None, 2])
        [1, 2]
    """
    return [payload for payload in payloads if payload is not None]


def is_nan(value: object) -> bool:
    """True for NaN, which alone differs from itself.

    Example:
        >>> is_nan(float("nan")), is_nan("nan")
        (True, False)
    """
    return value != value  # noqa: PLR0124


def unsigned(value: P) -> P:
    """Return a result with 0.0 in the place of -0.0: the two are equal, so which one was chosen is arbitrary.

    Example:
        >>> unsigned(-0.0), unsigned("a"), unsigned({"km": [-0.0]})
        (0.0, 'a', {'km': [0.0]})
    """
    if isinstance(value, float):
        return value + 0.0  # type: ignore[return-value]  # a float stays one
    if isinstance(value, dict):
        return {unsigned(name): unsigned(part) for name, part in value.items()}  # type: ignore[return-value]
    if isinstance(value, list):
        return [unsigned(part) for part in value]  # type: ignore[return-value]
    return value


def sort_key_of(value: object) -> tuple[Any, ...]:
    """Return the sort key of a value of any type, structs, lists and maps too: null comes first, NaN last.

    A struct is ordered by its fields from the first, as in Spark; a map, which has no order there, by its entries.

    Example:
        >>> rows = [{"shop": "b", "n": 1}, {"shop": "a", "n": 2}, {"shop": "a", "n": None}]
        >>> [row["n"] for row in sorted(rows, key=sort_key_of)]
        [None, 2, 1]
    """
    # The first element is 0 for a null, 2 for NaN and 1 for any other value, so that only other values are compared.
    if value is None:
        return (0,)
    if isinstance(value, dict):
        return (1, *((sort_key_of(name), sort_key_of(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return (1, *map(sort_key_of, value))
    if is_nan(value):
        return (2,)
    return (1, value)


def ordinary(values: Iterable[P]) -> list[P]:
    """Return the values that are not NaN.

    Example:
        >>> ordinary([1.0, float("nan"), float("inf")])
        [1.0, inf]
    """
    return [value for value in values if value == value]  # noqa: PLR0124


def nans(values: Iterable[P]) -> list[P]:
    """Return the values that are NaN.

    Example:
        >>> nans([1.0, float("nan"), float("inf")])
        [nan]
    """
    return [value for value in values if value != value]  # noqa: PLR0124


def in_order(values: Sequence[T]) -> list[T]:
    """Return values from the smallest to the largest, NaN last.

    Example:
        >>> in_order([float("nan"), 2.0, 1.0])
        [1.0, 2.0, nan]
    """
    return sorted(ordinary(values)) + nans(values)
