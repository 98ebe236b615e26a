"""Modules whose results show the events that they were called with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    Instant,
    Operator,
    Window,
)


class Members(Aggregate[int, list[int]]):
    """The payloads of a window, in order."""

    name, version = "show.members", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return sorted(payloads)


class Count(IncrementalAggregate[Any, int, int]):
    """How many members a window has."""

    name, version = "show.count", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[Any]) -> int:
        return state + len(payloads)

    def remove_events(self, state: int, payloads: Sequence[Any]) -> int:
        return state - len(payloads)

    def compute_result(self, state: int) -> int:
        return state


class Total(IncrementalAggregate[float, float, float]):
    """The sum of the payloads, which are small enough for a float to be exact."""

    name, version = "show.total", "1.0.0"

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> float:
        return state + sum(payloads)

    def remove_events(self, state: float, payloads: Sequence[float]) -> float:
        return state - sum(payloads)

    def compute_result(self, state: float) -> float:
        return state


class Leg(NamedTuple):
    """The start of a part of a journey and its length; neither may be null."""

    since: int
    km: float


class Farthest(Aggregate[Leg, float]):
    """The longest of the legs."""

    name, version = "show.farthest", "1.0.0"

    def compute_result(self, payloads: Sequence[Leg]) -> float:
        return max(leg.km for leg in payloads)


class Lifetimes(Aggregate[int, list[tuple[Instant, Instant | None, int]]]):
    """The start, end and payload of each event of a window, as the module sees them."""

    name, version = "show.lifetimes", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[tuple[Instant, Instant | None, int]]:
        return sorted((event.start, event.end, event.payload) for event in events)


class Echo(Operator[int, int]):
    """The events that start in the window, with their own lifetimes."""

    name, version = "show.echo", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        return [event for event in events if event.start >= window.start]


class Googol(Aggregate[int, float]):
    """A whole number beyond the largest float."""

    name, version = "show.googol", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> float:
        return 10**400


class Doubles(Operator[int, int]):
    """Twice each payload."""

    name, version = "show.doubles", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return [2 * payload for payload in payloads]
