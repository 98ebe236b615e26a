"""The order of events: by time, at one time by the query's order, and those alike in both by their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, TypeVar

from muntin.schemas.value_order import sorted_by_value

T = TypeVar("T")


def in_sequence(events: Iterable[T], place: Callable[[T], tuple[Any, ...]], content: Callable[[T], object]) -> list[T]:
    """Sort events; the result does not depend on the order in which they came.

    Args:
        events: The events.
        place: Returns a sort key: the time of an event, and its order by the query.
        content: Returns the value that decides between events with equal sort keys.

    Cost: a sort by place; the contents of events are compared only where places are equal.
    """
    ordered: list[T] = []
    for _, group in groupby(sorted(events, key=place), key=place):
        events_of_place = list(group)
        if len(events_of_place) > 1:
            events_of_place = sorted_by_value(events_of_place, content)
        ordered += events_of_place
    return ordered
