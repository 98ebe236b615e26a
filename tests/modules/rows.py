"""Modules that show with which rows they were called, in which order, and which were added to a state or removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import ClassVar

from muntin import Aggregate, Event, IncrementalAggregate, Operator, Window


class Listed(Aggregate[int, list[int]]):
    """The payloads of a window, in the order in which the module gets them."""

    name, version = "rows.listed", "1.0.0"
    reads_order = True

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return list(payloads)


class Sliding(IncrementalAggregate[int, int, int]):
    """The sum, to which payloads are added and from which they are removed."""

    name, version = "rows.sliding", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def remove_events(self, state: int, payloads: Sequence[int]) -> int:
        return state - sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


class Kept(IncrementalAggregate[int, list[int], list[int]]):
    """The payloads in order, of which the oldest are removed.

    Attributes:
        added: The payloads that were added to any state, of all objects of the class.
    """

    name, version = "rows.kept", "1.0.0"
    reads_order = True
    added: ClassVar[list[int]] = []

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        self.added.extend(payloads)
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        assert state[: len(payloads)] == list(payloads), "what leaves is the oldest"
        return state[len(payloads) :]

    def compute_result(self, state: list[int]) -> list[int]:
        return list(state)


class Changes(Operator[int, int]):
    """Each change from a row to the next, at the time of the later one."""

    name, version = "rows.changes", "1.0.0"
    is_time_sensitive = True
    reads_order = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[int]]:
        for previous, event in pairwise(events):
            yield Event(event.start, event.start + 1, event.payload - previous.payload)
