"""Modules whose results a restart changes, each in its own way, and some that it does nothing to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from muntin import ColumnarAggregate, Component, IncrementalAggregate, RowOperator, StreamOperator
from muntin.rows import MemberRow, RowsInWindow


class Total(IncrementalAggregate[int, int, int]):
    """Keeps all that counts in its state."""

    name, version = "test.total", "1"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return state


class TotalOnSelf(Total):
    """Keeps its sum on itself; the state is a copy that nothing reads."""

    name, version = "test.total_on_self", "1"

    def __init__(self) -> None:
        self.total = 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        self.total += sum(payloads)
        return self.total


class Calls(Total):
    """Keeps the payloads that it has seen on itself, and gives another result after three of them."""

    name, version = "test.calls", "1"

    def __init__(self) -> None:
        self.seen: list[int] = []

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        self.seen += payloads
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state if len(self.seen) < 3 else -1


class CombinesOnSelf(Total):
    """Counts on itself how many states it has combined, and adds one to each result after the first."""

    name, version = "test.combines_on_self", "1"

    def __init__(self) -> None:
        self.combined = 0

    def combine(self, state: int, other: int) -> int:
        self.combined += 1
        return state + other + (self.combined > 1)


class Cache(Total):
    """Remembers results, which is allowed: they are the same when it has forgotten them."""

    name, version = "test.cache", "1"

    def __init__(self) -> None:
        self.known: dict[int, int] = {}

    def compute_result(self, state: int) -> int:
        return self.known.setdefault(state, state)


class Opaque(IncrementalAggregate[int, Any, int]):
    """Keeps an object that cannot be stored."""

    name, version = "test.opaque", "1"

    def create_state(self) -> Any:
        return object()

    def add_events(self, state: Any, payloads: Sequence[int]) -> Any:
        return state

    def compute_result(self, state: Any) -> int:
        return 1


class Shared(IncrementalAggregate[int, list[list[int]], int]):
    """Relies on two parts of its state being one object."""

    name, version = "test.shared", "1"

    def create_state(self) -> list[list[int]]:
        part = [0]
        return [part, part]

    def add_events(self, state: list[list[int]], payloads: Sequence[int]) -> list[list[int]]:
        state[0][0] += sum(payloads)
        return state

    def compute_result(self, state: list[list[int]]) -> int:
        return state[1][0]


class Locked(Total):
    """Has a lock, which cannot travel."""

    name, version = "test.locked", "1"

    def __init__(self) -> None:
        self.lock = Lock()


class Negative(Total):
    """Fails on negative payloads."""

    name, version = "test.negative", "1"

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        if min(payloads) < 0:
            raise ArithmeticError("no negative numbers")
        return super().add_events(state, payloads)


class Random(Total):
    """Gives another result each time, by a count on its class."""

    name, version = "test.random", "1"
    drawn = 0

    def compute_result(self, state: int) -> int:
        Random.drawn += 1
        return Random.drawn


class Mean(ColumnarAggregate[float, float]):
    """Keeps all that counts in its components."""

    name, version = "test.mean", "1"

    def components(self) -> dict[str, Component]:
        return {"total": Component.sum(), "count": Component.count()}

    def lift(self, payloads: Any) -> dict[str, Any]:
        return {"total": payloads}

    def compute_results(self, components: Any) -> Any:
        return components["total"] / components["count"]


class Departures(RowOperator[int, list[int], int, int]):
    """Numbers the rows that leave, in the second output alone."""

    name, version = "test.departures", "1"

    def create_state(self) -> list[int]:
        return [0]

    def on_evict(self, state: list[int], rows: Sequence[MemberRow[int]], window: RowsInWindow[int]) -> Iterable[int]:
        for _ in rows:
            state[0] += 1
            yield state[0]


class DeparturesOnSelf(Departures):
    """Counts the rows that leave on itself."""

    name, version = "test.departures_on_self", "1"

    def __init__(self) -> None:
        self.seen = 0

    def on_evict(self, state: list[int], rows: Sequence[MemberRow[int]], window: RowsInWindow[int]) -> Iterable[int]:
        for _ in rows:
            self.seen += 1
            yield self.seen


class Numbers(StreamOperator[int, list[int], int]):
    """Numbers the events of a stream."""

    name, version = "test.numbers", "1"

    def create_state(self) -> list[int]:
        return [0]

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[int]:
        state[0] += 1
        yield state[0]


class NumbersOnSelf(Numbers):
    """Counts the events on itself."""

    name, version = "test.numbers_on_self", "1"

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[int]:
        self.seen += 1
        yield self.seen


class Buffer(IncrementalAggregate[int, bytearray, int]):
    """Keeps bytes that change."""

    name, version = "test.buffer", "1"

    def create_state(self) -> bytearray:
        return bytearray()

    def add_events(self, state: bytearray, payloads: Sequence[int]) -> bytearray:
        state.extend(payloads)
        return state

    def combine(self, state: bytearray, other: bytearray) -> bytearray:
        return state + other

    def compute_result(self, state: bytearray) -> int:
        return len(state)


@dataclass
class Span:
    """A record whose class refuses some values; but it sees only those that its constructor is called with."""

    least: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError("the least is more than the most")


class Turns(IncrementalAggregate[int, Span, int]):
    """Changes a record in place to what its class refuses, so that it cannot be read back."""

    name, version = "test.turns", "1"

    def create_state(self) -> Span:
        return Span()

    def add_events(self, state: Span, payloads: Sequence[int]) -> Span:
        state.least += sum(payloads)
        return state

    def combine(self, state: Span, other: Span) -> Span:
        state.least += other.least
        return state

    def compute_result(self, state: Span) -> int:
        return state.least
