"""A time-sensitive incremental aggregate: a state that is updated by events with their lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin import ClipPolicy, Event, IncrementalAggregate, Window


@dataclass(frozen=True)
class Weighted:
    """The state of a window; plain data, as a checkpoint stores it.

    Attributes:
        total: Sum of the payloads, each times the ticks of its lifetime.
        ticks: Ticks of all lifetimes.
    """

    total: float = 0.0
    ticks: int = 0


class AverageOverTime(IncrementalAggregate[float, Weighted, float]):
    """Return the mean of the payloads, each weighted by how long it lasts inside the window.

    There is no `remove_events`: a sum of floats that is subtracted from again keeps rounding errors.

    Example:
        >>> average, window = AverageOverTime(), Window(0, 10)
        >>> state = average.add_events(average.create_state(window), [Event(0, 9, 1.0), Event(9, 10, 11.0)], window)
        >>> average.compute_result(state, window)
        2.0
    """

    name, version = "myplugin.average_over_time", "0.1.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def create_state(self, window: Window) -> Weighted:
        """Return the state of no events."""
        return Weighted()

    def add_events(self, state: Weighted, events: Sequence[Event[float]], window: Window) -> Weighted:
        """Return the state with more events."""
        return Weighted(
            state.total + sum(event.payload * event.duration for event in events),
            state.ticks + sum(event.duration for event in events),
        )

    def compute_result(self, state: Weighted, window: Window) -> float:
        """Return the average."""
        return state.total / state.ticks
