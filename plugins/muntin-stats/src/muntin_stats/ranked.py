"""Values that are chosen by another value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

from muntin_stats.order import Ordered, is_nan

R = TypeVar("R")
V = TypeVar("V", bound=Ordered)
K = TypeVar("K", bound=Ordered)


class Ranked(NamedTuple, Generic[R, K]):
    """A value and the value it is chosen by; where `by` is null it is not chosen."""

    value: R | None
    by: K | None


def ranked(payloads: Iterable[Ranked[R, K] | None]) -> list[Ranked[R, K]]:
    """Return the payloads whose `by` is not null.

    Example:
        >>> ranked([Ranked("a", 1), Ranked("b", None), None])
        [Ranked(value='a', by=1)]
    """
    return [payload for payload in payloads if payload is not None and payload.by is not None]


def rank(payload: Ranked[V, K]) -> tuple[object, ...]:
    """Return the sort key of a payload where the last one is chosen: NaN comes last, null first among equals."""
    return (*_place(payload.by), payload.value is not None, *_place(payload.value))


def rank_from_below(payload: Ranked[V, K]) -> tuple[object, ...]:
    """Return the sort key of a payload where the first one is chosen: NaN comes last, null last among equals."""
    return (*_place(payload.by), payload.value is None, *_place(payload.value))


def _place(value: object) -> tuple[bool, object]:
    """Return the sort key of a value: NaN comes last.

    All nulls are equal. They are compared with nulls alone, as the element before in `rank` tells nulls from values.
    """
    if is_nan(value):
        return True, 0
    return False, 0 if value is None else value
