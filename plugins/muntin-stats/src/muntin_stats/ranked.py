"""Values that are chosen by another value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from muntin_stats.order import Ordered, is_nan

R = TypeVar("R")
V = TypeVar("V", bound=Ordered)
K = TypeVar("K", bound=Ordered)


class Ranked(NamedTuple, Generic[R, K]):
    """A value, and what it is chosen by; without that it is not chosen."""

    value: R | None
    by: K | None


def ranked(payloads: Iterable[Ranked[R, K] | None]) -> list[Ranked[R, K]]:
    """Return the payloads that have a rank.

    Example:
        >>> ranked([Ranked("a", 1), Ranked("b", None), None])
        [Ranked(value='a', by=1)]
    """
    return [payload for payload in payloads if payload is not None and payload.by is not None]


def rank(payload: Ranked[V, K]) -> tuple[object, ...]:
    """Return the sort key of a payload: NaN comes last, null among equals first."""
    return (*_place(payload.by), payload.value is not None, *_place(payload.value))


def rank_from_below(payload: Ranked[V, K]) -> tuple[object, ...]:
    """Return the sort key of a payload if the first is chosen: NaN comes last, and so does null among equals."""
    return (*_place(payload.by), payload.value is None, *_place(payload.value))


def _place(value: object) -> tuple[bool, object]:
    """Return the sort key of a value; values without an order among them, such as NaNs, are equal."""
    return (True, 0) if is_nan(value) else (False, 0 if value is None else value)
