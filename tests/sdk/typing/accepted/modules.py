"""Modules and functions as their writers annotate them, and laws classes: nothing here is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

from hypothesis import strategies as st

from muntin import (
    Aggregate,
    ClipPolicy,
    ColumnarAggregate,
    Event,
    IncrementalAggregate,
    IncrementalOperator,
    Module,
    Operator,
    Window,
    function,
    hookimpl,
    tumbling,
)
from muntin.schemas import Field
from muntin.testing import Computation, FunctionLaws, OperatorLaws, Script, WindowedQuery

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


class Level(NamedTuple):
    metres: float
    is_estimate: bool = False


@dataclass(frozen=True)
class Extremes:
    low: float
    high: float


class Range(Aggregate[Level, Extremes]):
    name, version = "tides.range", "1.0.0"

    def compute_result(self, payloads: Sequence[Level]) -> Extremes:
        return Extremes(min(level.metres for level in payloads), max(level.metres for level in payloads))


class Largest(Aggregate[float | None, float | None]):
    """Takes more than its class says, and returns less: both are fine."""

    name, version = "tides.largest", "1.0.0"

    def __init__(self, at_least: float = 0.0) -> None:
        self.at_least = at_least

    def compute_result(self, payloads: Sequence[float | int | None]) -> float:
        return max(self.at_least, *(level for level in payloads if level is not None))


class Coverage(Aggregate[object, float]):
    name, version = "tides.coverage", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> float:
        return sum(event.duration for event in events) / window.duration


class Gates(Aggregate[Level | Extremes, float]):
    """Reads two streams, each with a record of its own."""

    name, version = "tides.gates", "1.0.0"

    def compute_result(self, payloads: Sequence[Level | Extremes]) -> float:
        return sum(self.of(payload) for payload in payloads)

    def of(self, payload: Level | Extremes) -> float:
        match payload:
            case Level(metres=metres):
                return metres
            case Extremes(low=low, high=high):
                return high - low


@hookimpl
def muntin_modules() -> list[type[Module]]:
    return [Range, Largest, Coverage, Gates]


spread: float = Range().compute_result([Level(1.0), Level(4.0, is_estimate=True)]).high


@dataclass(frozen=True)
class Step:
    low: float
    high: float


class Steps(Operator[float, Step]):
    name, version = "tides.steps", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> list[Step]:
        ordered = sorted(payloads)
        return [Step(low, high) for low, high in pairwise(ordered)]


class Starts(Operator[str, str]):
    name, version = "tides.starts", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterable[Event[str] | str]:
        for event in events:
            if event.start >= window.start:
                yield Event.point(event.start, event.payload)


@function("tides.feet", version="1.0.0")
def feet(metres: float, *, digits: int = 2) -> float:
    return round(metres / 0.3048, digits)


class TestSteps(OperatorLaws):
    module = Steps()
    payloads = st.floats(0, 10)


class TestFeet(FunctionLaws):
    function = feet


height: float = feet(3.048, digits=1)
output = Script().point("a", 1, 2.0).close().run(WindowedQuery(tumbling(10), [Computation(Steps())]))
