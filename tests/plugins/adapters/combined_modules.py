"""Modules of each shape for combinators to combine, with every capability that can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from muntin import Aggregate, ClipPolicy, ColumnarAggregate, Component, Event, IncrementalAggregate, Operator, Window

T = TypeVar("T")


class Total(IncrementalAggregate[int, int, int]):
    """The sum, some times over, with all methods that an incremental aggregate may have."""

    name, version = "demo.total", "1.0.0"

    def __init__(self, times: int = 1) -> None:
        self.times = times

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        assert payloads
        return state + sum(payloads)

    def remove_events(self, state: int, payloads: Sequence[int]) -> int:
        assert payloads
        return state - sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def deduct(self, state: int, other: int) -> int:
        return state - other

    def compute_result(self, state: int) -> int:
        return state * self.times


class Values(IncrementalAggregate[int, list[int], list[int]]):
    """All payloads; its states are lists that it changes, so that two windows that share one would be wrong."""

    name, version = "demo.values", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        state.extend(payloads)
        return state

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            state.remove(payload)
        return state

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        state.extend(other)
        return state

    def compute_result(self, state: list[int]) -> list[int]:
        return sorted(state)


class Mean(ColumnarAggregate[float, float]):
    """The average, on arrays."""

    name, version = "demo.mean", "1.0.0"

    def components(self) -> dict[str, Component]:
        return {"total": Component.sum(), "count": Component.count()}

    def lift(self, payloads: Any) -> dict[str, Any]:
        return {"total": payloads}

    def compute_results(self, components: Any) -> Any:
        return components["total"] / components["count"]


class Largest(Aggregate[T, T]):
    """The largest payload of any type."""

    name, version = "demo.largest", "1.0.0"

    def compute_result(self, payloads: Sequence[Any]) -> Any:
        return max(payloads)


class Coverage(Aggregate[int, float]):
    """The time of the events over that of the window."""

    name, version = "demo.coverage", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> float:
        assert events
        return sum(event.duration for event in events) / window.duration


class Busy(IncrementalAggregate[int, int, float]):
    """The payloads, weighted by the time of their events, over the time of the window."""

    name, version = "demo.busy", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})

    def create_state(self, window: Window) -> int:
        return 0

    def add_events(self, state: int, events: Sequence[Event[int]], window: Window) -> int:
        return state + sum(event.duration * event.payload for event in events)

    def remove_events(self, state: int, events: Sequence[Event[int]], window: Window) -> int:
        return state - sum(event.duration * event.payload for event in events)

    def compute_result(self, state: int, window: Window) -> float:
        return state / window.duration


class Distinct(Operator[int, int]):
    """A row of each different payload."""

    name, version = "demo.distinct", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        assert payloads
        return sorted(set(payloads))


class Starts(Operator[int, int]):
    """A point of each payload, at the start of its event if that is in the window."""

    name, version = "demo.starts", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[Event[int]]:
        inside = [event for event in events if event.start >= window.start]
        return [Event.point(event.start, event.payload) for event in inside]
