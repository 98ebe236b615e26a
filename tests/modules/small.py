"""Small modules that show which events are in a window and with which lifetimes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muntin import Aggregate, Event, IncrementalAggregate, Operator, Window


class Names(Aggregate[str, str]):
    """The payloads of a window in order, as one text."""

    name, version = "show.names", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return "".join(sorted(payloads))


class Count(IncrementalAggregate[Any, int, int]):
    """How many members a window has."""

    name, version = "show.count", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[Any]) -> int:
        return state + len(payloads)

    def compute_result(self, state: int) -> int:
        return state


class TimeWeightedAverage(Aggregate[float, float]):
    """The average of payloads, each weighted by how long its event lasts in the window: the paper's example (SI-61)."""

    name, version = "show.time_weighted_average", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[float]], window: Window) -> float:
        return sum(event.payload * event.duration for event in events) / window.duration


class Seen(Operator[Any, tuple[int, int]]):
    """A row for each event with the start and end that the module sees; the rows have the lifetime of the window."""

    name, version = "show.seen", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> Iterable[tuple[int, int]]:
        return sorted((event.start, event.end) for event in events)


class Echo(Operator[Any, Any]):
    """The events of a window, as rows with the same lifetimes."""

    name, version = "show.echo", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> Iterable[Event[Any]]:
        return sorted(events, key=lambda event: event.start)


class Stamps(Echo):
    """An operator that writes times and does not read them."""

    reads_times = False
