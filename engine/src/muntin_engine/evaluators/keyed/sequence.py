"""The order of events: by time, at one time by the query's order, and those alike in both by what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, TypeVar

from muntin.schemas.value_order import sorted_by_value

T = TypeVar("T")


def in_sequence(events: Iterable[T], place: Callable[[T], tuple[Any, ...]], held: Callable[[T], object]) -> list[T]:
    """Return events in order, whatever the order in which they came.

    Args:
        events: The events.
        place: Returns a sort key: the time and the order of an event.
        held: Returns what tells two events of one place apart.

    Cost: a sort by place; what events hold is looked at where places are equal.
    """
    found: list[T] = []
    for _, alike in groupby(sorted(events, key=place), key=place):
        some = list(alike)
        found += sorted_by_value(some, held) if len(some) > 1 else some
    return found
