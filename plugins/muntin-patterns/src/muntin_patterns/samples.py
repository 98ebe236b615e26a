"""Values at points of the axis, in the order in which they came."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from typing import NamedTuple

from muntin import Event, Window


class Sample(NamedTuple):
    """A value and the time from which it holds."""

    at: int
    value: float


def in_order(events: Iterable[Event[float | None]]) -> list[Sample]:
    """Return the samples of events that are in order; their ends do not matter. A null or NaN is no sample.

    Example:
        >>> in_order([Event.point(2, 4.0), Event.point(2, 3.0), Event.point(3, None), Event.point(5, 1.0)])
        [Sample(at=2, value=4.0), Sample(at=2, value=3.0), Sample(at=5, value=1.0)]
    """
    samples: list[Sample] = []
    for event in events:
        if event.payload is not None and not isnan(event.payload):
            samples.append(Sample(event.start, event.payload))
    return samples


def in_window(events: Iterable[Event[float | None]], window: Window) -> list[Sample]:
    """Return the samples that start in a window, in order."""
    return in_order(event for event in events if window.start <= event.start < window.end)
