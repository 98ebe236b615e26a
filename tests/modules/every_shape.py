"""A module of every shape, with results that show every member: what an evaluator gets wrong cannot hide in a sum.

States that are removed from fail loudly on an event they never had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    IncrementalOperator,
    Module,
    Operator,
    OutputContract,
    Window,
)

Lifetime = tuple[int, int, int]
"""The start, end and payload of an event."""


def as_tuples(events: Iterable[Event[int]]) -> list[Lifetime]:
    """Return the start, end and payload of each event."""
    return [(event.start, event.end, event.payload) for event in events]


def without(state: list[Any], removed: Iterable[Any]) -> list[Any]:
    """Remove items from a state, once each, and return the state."""
    for item in removed:
        state.remove(item)
    return state


def inside(event: Event[int], window: Window) -> Event[int]:
    """Return an event as a result: with its own lifetime, but starting in the window."""
    start = max(event.start, window.start)
    return Event(start, max(event.end, start + 1), event.payload)


class Everything(Aggregate[int, str]):
    """The payloads of a window."""

    name, version = "test.everything", "1"

    def compute_result(self, payloads: Sequence[int]) -> str:
        return str(sorted(payloads))


class Lifetimes(Aggregate[int, str]):
    """The extent of a window, and the lifetimes and payloads of its events."""

    name, version = "test.lifetimes", "1"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> str:
        return str((window.start, window.end, *sorted(as_tuples(events))))


class Growing(IncrementalAggregate[int, list[int], str]):
    """The payloads of a window, to which others are only added."""

    name, version = "test.growing", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return state + list(payloads)

    def compute_result(self, state: list[int]) -> str:
        return str(sorted(state))


class Sliding(Growing):
    """The payloads of a window, of which some are removed again."""

    name, version = "test.sliding", "1"

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return without(state, payloads)


class Range(Sliding):
    """Its result often stays the same when its members change."""

    name, version = "test.range", "1"

    def compute_result(self, state: list[int]) -> str:
        return f"{min(state) // 4} {max(state) // 4}"


class GrowingLifetimes(IncrementalAggregate[int, list[Lifetime], str]):
    """The same as `Lifetimes`, to which events are only added."""

    name, version = "test.growing_lifetimes", "1"
    is_time_sensitive = True

    def create_state(self, window: Window) -> list[Lifetime]:
        return []

    def add_events(self, state: list[Lifetime], events: Sequence[Event[int]], window: Window) -> list[Lifetime]:
        return state + as_tuples(events)

    def compute_result(self, state: list[Lifetime], window: Window) -> str:
        return str((window.start, window.end, *sorted(state)))


class SlidingLifetimes(GrowingLifetimes):
    """The same, from which events are removed again."""

    name, version = "test.sliding_lifetimes", "1"

    def remove_events(self, state: list[Lifetime], events: Sequence[Event[int]], window: Window) -> list[Lifetime]:
        return without(state, as_tuples(events))


class Positive(Operator[int, int]):
    """Returns no row at all for many windows, and several equal rows for others."""

    name, version = "test.positive", "1"

    def compute_result(self, payloads: Sequence[int]) -> Iterable[int]:
        return (payload // 3 for payload in payloads if payload > 0)


class Echo(Operator[int, int]):
    """Returns the events with their own lifetimes, cut off before the window."""

    name, version = "test.echo", "1"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int] | int]:
        return [inside(event, window) for event in events]


class Bounds(Operator[int, str]):
    """Returns a row without a lifetime for each window, and a point where each event starts inside it."""

    name, version = "test.bounds", "1"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[str] | str]:
        yield "window"
        for event in events:
            if event.start >= window.start:
                yield Event.point(event.start, f"{event.payload}")


class Stamped(Operator[int, int]):
    """Returns rows with lifetimes but reads none of its events, so that its windows close early."""

    name, version = "test.stamped", "1"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int] | int]:
        return [Event(window.start + 1, window.start + 2 + abs(event.payload), event.payload) for event in events]


class Early(Operator[int, int]):
    """Returns rows that may start before the window, for which it needs a contract without restriction."""

    name, version = "test.early", "1"
    is_time_sensitive = True
    contract = OutputContract.UNRESTRICTED

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int] | int]:
        return [Event(event.start - 3, event.end, event.payload) for event in events]


class GrowingRows(IncrementalOperator[int, list[int], int]):
    """A row for each odd payload, to which others are only added."""

    name, version = "test.growing_rows", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return state + list(payloads)

    def compute_result(self, state: list[int]) -> Iterable[int]:
        return (payload for payload in state if payload % 2)


class SlidingRows(GrowingRows):
    """The same, from which payloads are removed again."""

    name, version = "test.sliding_rows", "1"

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return without(state, payloads)


class GrowingEcho(IncrementalOperator[int, list[Lifetime], int]):
    """The same as `Echo`, to which events are only added."""

    name, version = "test.growing_echo", "1"
    is_time_sensitive = True

    def create_state(self, window: Window) -> list[Lifetime]:
        return []

    def add_events(self, state: list[Lifetime], events: Sequence[Event[int]], window: Window) -> list[Lifetime]:
        return state + as_tuples(events)

    def compute_result(self, state: list[Lifetime], window: Window) -> Iterable[Event[int] | int]:
        return [inside(Event(*event), window) for event in state]


class SlidingEcho(GrowingEcho):
    """The same, from which events are removed again."""

    name, version = "test.sliding_echo", "1"

    def remove_events(self, state: list[Lifetime], events: Sequence[Event[int]], window: Window) -> list[Lifetime]:
        return without(state, as_tuples(events))


SHAPES: dict[str, tuple[Module, ...]] = {
    "aggregate": (Everything(),),
    "time-sensitive aggregate": (Lifetimes(),),
    "incremental aggregate": (Growing(),),
    "incremental aggregate that removes": (Sliding(),),
    "aggregate with few results": (Range(),),
    "time-sensitive incremental aggregate": (GrowingLifetimes(),),
    "time-sensitive incremental aggregate that removes": (SlidingLifetimes(),),
    "three aggregates": (Lifetimes(), Sliding(), Everything()),
    "operator": (Positive(),),
    "time-sensitive operator": (Bounds(),),
    "operator with own lifetimes": (Echo(),),
    "operator that reads no times": (Stamped(),),
    "operator that looks back": (Early(),),
    "incremental operator": (GrowingRows(),),
    "incremental operator that removes": (SlidingRows(),),
    "time-sensitive incremental operator": (GrowingEcho(),),
    "time-sensitive incremental operator that removes": (SlidingEcho(),),
}
"""The base classes, time-sensitive or not, with and without `remove_events` and own times."""

OWN_TIMES = (
    "time-sensitive operator",
    "operator with own lifetimes",
    "operator that reads no times",
    "time-sensitive incremental operator",
    "time-sensitive incremental operator that removes",
)
"""The shapes whose output has lifetimes of its own, inside the window or after it."""
