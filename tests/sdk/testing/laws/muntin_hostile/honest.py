"""A module of each shape that keeps every law; faults are put in front of it.

The result of each is the sorted list of the payloads in a window; a state is the list of payloads as they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muntin import Aggregate, ColumnarAggregate, Event, IncrementalAggregate, IncrementalOperator, Operator, Window
from muntin.schemas import Field


def bare(members: Iterable[Any]) -> list[int]:
    """Return the payloads of members, which come as events where a module is time-sensitive."""
    return [member.payload if isinstance(member, Event) else member for member in members]


def without(state: Iterable[int], removed: Iterable[int]) -> list[int]:
    """Return what remains of the payloads in a state, each removed as often as it is listed."""
    remaining = list(state)
    for payload in removed:
        remaining.remove(payload)
    return remaining


class HonestAggregate(Aggregate[int, list[int]]):
    name, version = "hostile.aggregate", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return sorted(payloads)


class HonestTimeSensitiveAggregate(Aggregate[int, list[int]]):
    name, version = "hostile.time_sensitive_aggregate", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> list[int]:
        return sorted(bare(events))


class HonestOperator(Operator[int, list[int]]):
    name, version = "hostile.operator", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> Iterable[list[int]]:
        return [sorted(payloads)]


class HonestTimeSensitiveOperator(Operator[int, list[int]]):
    name, version = "hostile.time_sensitive_operator", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[list[int] | Event[list[int]]]:
        yield Event(window.start, window.end, sorted(bare(events)))


class _Listing:
    """What all incremental modules have: a list of payloads as the state, added to and removed from."""

    def create_state(self, *window: Window) -> list[int]:
        return []

    def add_events(self, state: list[int], members: Sequence[Any], *window: Window) -> list[int]:
        return [*state, *bare(members)]

    def remove_events(self, state: list[int], members: Sequence[Any], *window: Window) -> list[int]:
        return without(state, bare(members))


class _Combining(_Listing):
    """States that are put together and taken apart."""

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [*state, *other]

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        return without(state, other)


class _Columns:
    """The columnar form with the same result."""

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        from .columnar import HonestColumnarAggregate

        return HonestColumnarAggregate()


class HonestIncrementalAggregate(_Combining, _Columns, IncrementalAggregate[int, list[int], list[int]]):
    name, version = "hostile.incremental_aggregate", "1.0.0"

    def compute_result(self, state: list[int]) -> list[int]:
        return sorted(state)


class HonestIncrementalOperator(_Combining, IncrementalOperator[int, list[int], list[int]]):
    name, version = "hostile.incremental_operator", "1.0.0"

    def compute_result(self, state: list[int]) -> Iterable[list[int]]:
        return [sorted(state)]


class HonestTimeSensitiveIncrementalAggregate(_Listing, _Columns, IncrementalAggregate[int, list[int], list[int]]):
    name, version = "hostile.time_sensitive_incremental_aggregate", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, state: list[int], window: Window) -> list[int]:
        return sorted(state)


class HonestTimeSensitiveIncrementalOperator(_Listing, IncrementalOperator[int, list[int], list[int]]):
    name, version = "hostile.time_sensitive_incremental_operator", "1.0.0"
    is_time_sensitive = True
    reads_times = False

    def compute_result(self, state: list[int], window: Window) -> Iterable[list[int]]:
        return [sorted(state)]
