"""The order of events: by time, at one time by the query's order, and those alike in both by their content."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any, TypeVar

from muntin.schemas.value_order import sorted_by_value

T = TypeVar("T")


def in_sequence(
    events: Iterable[T], sort_key: Callable[[T], tuple[Any, ...]], content: Callable[[T], object]
) -> list[T]:
    """Sort events; the result does not depend on the order in which they came.

    Args:
        events: The events.
        sort_key: Returns the time of an event, and its order by the query.
        content: Returns the value that decides between events with equal sort keys.

    Cost: a sort by key; the contents of events are compared only where keys are equal.
    """
    ordered: list[T] = []
    for _, group in groupby(sorted(events, key=sort_key), key=sort_key):
        equal_events = list(group)
        if len(equal_events) > 1:
            equal_events = sorted_by_value(equal_events, content)
        ordered += equal_events
    return ordered
