"""Modules that keep a state, with and without what is optional: nothing here is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from muntin import ColumnarAggregate, Event, IncrementalAggregate, IncrementalOperator, Window
from muntin.schemas import Field

T = TypeVar("T")


@dataclass
class Sum:
    total: float = 0.0
    count: int = 0


class Average(IncrementalAggregate[float, Sum, float]):
    name, version = "tides.average", "1.0.0"

    def create_state(self) -> Sum:
        return Sum()

    def add_events(self, state: Sum, payloads: Sequence[float]) -> Sum:
        return Sum(state.total + sum(payloads), state.count + len(payloads))

    def remove_events(self, state: Sum, payloads: Sequence[float]) -> Sum:
        return Sum(state.total - sum(payloads), state.count - len(payloads))

    def combine(self, state: Sum, other: Sum) -> Sum:
        return Sum(state.total + other.total, state.count + other.count)

    def deduct(self, state: Sum, other: Sum) -> Sum:
        return Sum(state.total - other.total, state.count - other.count)

    def compute_result(self, state: Sum) -> float:
        return state.total / state.count

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        return None

    def upgrade_state(self, state: list[float], version: str) -> Sum:
        return Sum(state[0], int(state[1]))


class Distinct(IncrementalOperator[T, set[T], T], Generic[T]):
    """Works for any type, and can be combined but not removed from."""

    name, version = "tides.distinct", "1.0.0"

    def create_state(self) -> set[T]:
        return set()

    def add_events(self, state: set[T], payloads: Sequence[T]) -> set[T]:
        return state | set(payloads)

    def combine(self, state: set[T], other: set[T]) -> set[T]:
        return state | other

    def compute_result(self, state: set[T]) -> Iterable[T]:
        return list(state)


class Busy(IncrementalAggregate[object, int, float]):
    name, version = "tides.busy", "1.0.0"
    is_time_sensitive = True

    def create_state(self, window: Window) -> int:
        return 0

    def add_events(self, state: int, events: Sequence[Event[object]], window: Window) -> int:
        return state + sum(event.duration for event in events)

    def remove_events(self, state: int, events: Sequence[Event[object]], window: Window) -> int:
        return state - sum(event.duration for event in events)

    def compute_result(self, state: int, window: Window) -> float:
        return state / window.duration


class Latest(IncrementalOperator[str, list[Event[str]], str]):
    name, version = "tides.latest", "1.0.0"
    is_time_sensitive = True

    def create_state(self, window: Window) -> list[Event[str]]:
        return []

    def add_events(self, state: list[Event[str]], events: Sequence[Event[str]], window: Window) -> list[Event[str]]:
        return [max([*state, *events], key=lambda event: (event.start, event.payload))]

    def compute_result(self, state: list[Event[str]], window: Window) -> Iterable[Event[str] | str]:
        return state


def halves(module: Average, left: Sum, right: Sum) -> Sum:
    return module.combine(left, right)


mean: float = Average().compute_result(halves(Average(), Sum(1.0, 1), Sum(2.0, 1)))
names: Iterable[str] = Distinct[str]().compute_result({"a"})
