"""Values with their times, in an order that leaves nothing to chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from muntin import Event
from muntin_stats.order import T, is_nan

Timed: TypeAlias = tuple[int, int, bool, T]
"""Start, end, whether the value is NaN, and the value: compared from left to right."""


def timed(events: Iterable[Event[T | None]], earlier: Timed[T] | None) -> list[Timed[T]]:
    """Return the events that have a value, after the last one of earlier batches.

    Example:
        >>> timed([Event(2, 9, 1.5), Event(3, 4, None)], None)
        [(2, 9, False, 1.5)]
    """
    found = [(e.start, e.end, is_nan(e.payload), e.payload) for e in events if e.payload is not None]
    return found if earlier is None else [earlier, *found]
