"""Operators that follow rows, and return what their handlers are called with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from muntin import Event, RowOperator
from muntin.rows import MemberRow, RowsInWindow, RowWindows
from muntin.testing import Computation, WindowedQuery, evaluate


class Line(NamedTuple):
    """A call of a handler as text, and its place among all calls of a key."""

    place: int
    text: str


State = dict[str, int]
Rows = RowsInWindow[int]


class HandlerCalls(RowOperator[int, State, Line, Line]):
    """A line for each call of a handler: `insert 3 of 1,2,3 [0, 10)`, with the payloads of the window."""

    name, version = "rows.handler_calls", "1.0.0"

    def create_state(self) -> State:
        return {}

    def on_insert(self, state: State, row: MemberRow[int], window: Rows) -> Iterable[Line]:
        yield _line(state, f"insert {row.payload} of {_names(window.rows)}", window)

    def on_pass(self, state: State, row: MemberRow[int], window: Rows) -> Iterable[Line]:
        yield _line(state, f"pass {row.payload} of {_names(window.rows)}", window)

    def on_evict(self, state: State, rows: Sequence[MemberRow[int]], window: Rows) -> Iterable[Line]:
        yield _line(state, f"evict {_names(rows)} of {_names(window.rows)}", window)

    def on_trigger(self, state: State, window: Rows) -> Iterable[Line]:
        yield _line(state, f"trigger {_names(window.rows)}", window)

    def on_flush(self, state: State, window: Rows) -> Iterable[Line]:
        yield _line(state, f"flush {_names(window.rows)}", window)

    def on_full(self, state: State, window: Rows) -> Iterable[Line]:
        yield _line(state, f"full {_names(window.rows)}", window)

    def on_empty(self, state: State, window: Rows) -> Iterable[Line]:
        yield _line(state, f"empty {_names(window.rows)}", window)

    def on_remove(self, state: State, window: Rows) -> Iterable[Line]:
        yield _line(state, f"remove {_names(window.rows)}", window)


class Full(RowOperator[int, dict[str, int], int, None]):
    """The tick at which a window is full for the first time; its state stays empty."""

    name, version = "rows.full", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_full(self, state: dict[str, int], window: Rows) -> Iterable[int]:
        return [window.time]


class Numbers(RowOperator[int, dict[int, int], int, None]):
    """The number of each row that comes; its state has the times of the members, by their numbers."""

    name, version = "rows.numbers", "1.0.0"

    def create_state(self) -> dict[int, int]:
        return {}

    def on_insert(self, state: dict[int, int], row: MemberRow[int], window: Rows) -> Iterable[int]:
        state[row.number] = row.time
        return [row.number]

    def on_evict(self, state: dict[int, int], rows: Sequence[MemberRow[int]], window: Rows) -> None:
        for row in rows:
            assert state.pop(row.number) == row.time


def numbers(windows: RowWindows, count: int) -> list[int]:
    """Return the numbers that so many rows, one at each tick, have in windows, by the reference evaluator."""
    query = WindowedQuery(windows, [Computation(Numbers())])
    events = [Event.point(tick, tick) for tick in range(count)]
    return [row.value for row in evaluate(query, events)]


def _names(rows: Iterable[MemberRow[int]]) -> str:
    return ",".join(str(row.payload) for row in rows) or "-"


def _line(state: State, text: str, window: Rows) -> Line:
    state["place"] = state.get("place", 0) + 1
    extent = "" if window.extent is None else f" [{window.extent.start}, {window.extent.end})"
    where = "" if window.partition == 0 else f" in {window.partition}"
    return Line(state["place"], f"{text}{extent}{where}")


@dataclass
class Stays:
    """For how long rows stayed in a window.

    Attributes:
        came: The times of the members, by their numbers.
        longest: The longest stay of a row so far, by partition.
    """

    came: dict[int, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)


class Longest(RowOperator[int, Stays, list[int], tuple[int, int, int]]):
    """The number of members of each partition when a row comes; and the longest stay so far when one leaves.

    A row that passes without becoming a member has the number of members with a minus, and its payload.
    """

    name, version = "rows.longest", "1.0.0"

    def create_state(self) -> Stays:
        return Stays()

    def on_insert(self, state: Stays, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[list[int]]:
        state.came[row.number] = row.time
        yield [len(rows) for rows in window.partitions.values()]

    def on_pass(self, state: Stays, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[list[int]]:
        yield [-len(window.rows), row.payload]

    def on_evict(
        self, state: Stays, rows: Sequence[MemberRow[int]], window: RowsInWindow[int]
    ) -> Iterable[tuple[int, int, int]]:
        partition = str(window.partition)
        for row in rows:
            stay = window.time - state.came.pop(row.number)
            state.longest[partition] = max(stay, state.longest.get(partition, 0))
            yield row.payload, row.time, state.longest[partition]
