"""Operators that follow rows: what their handlers are told, and what becomes of what they return."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from muntin import Event, RowOperator, tumbling
from muntin.errors import ModuleDefinitionError, PolicyError
from muntin.rows import MemberRow, RowsInWindow, RowWindows, batch, elapsed, last, marker
from muntin.testing import Computation, LawError, RowOperatorLaws, WindowedQuery, evaluate, evaluate_evicted, laws_of
from tests.modules.row_operators import Full, HandlerCalls, numbers


class Payload(NamedTuple):
    """A row of the tests: its name, its partition, and whether it is a marker."""

    name: int
    v: int = 0
    p: str = ""
    m: bool = False


def lines_of(windows: RowWindows, *rows: Payload, at: list[int] | None = None, until: int = 2**63 - 1) -> list[str]:
    """Return the calls of handlers as text, in their order; a row is at each tick from 1 on, unless `at` has times."""
    times = at or range(1, len(rows) + 1)
    events = [Event.point(time, row) for time, row in zip(times, rows, strict=True)]
    query = WindowedQuery(windows, [Computation(HandlerCalls(), select=lambda row: row.name)])
    results = [row.value for row in evaluate(query, events, until)]
    evicted = [row.value for row in evaluate_evicted(query, events, until)]
    calls = sorted([*results, *evicted], key=lambda line: line.place)
    return [line.text for line in calls]


def payloads(*names: int) -> list[Payload]:
    return [Payload(name) for name in names]


def test_a_sliding_window_says_what_comes_what_leaves_and_when_it_is_computed() -> None:
    """IB-28, IB-30: insertion and eviction, the trigger, and the window that is full for the first time."""
    assert lines_of(last(2).trigger(2), *payloads(1, 2, 3, 4)) == [
        "insert 1 of 1",
        *("insert 2 of 1,2", "full 1,2", "trigger 1,2 [1, 3)"),
        *("evict 1 of 2", "insert 3 of 2,3"),
        *("evict 2 of 3", "insert 4 of 3,4", "trigger 3,4 [3, 5)"),
    ]


def test_a_tumbling_window_says_that_it_is_flushed_and_then_what_leaves() -> None:
    """IB-29: before the flush with the rows, after it without; and a marker that finds none."""
    assert lines_of(batch(2), *payloads(1, 2, 3), until=4) == [
        "insert 1 of 1",
        *("insert 2 of 1,2", "flush 1,2 [1, 3)", "evict 1,2 of -"),
        "insert 3 of 3",
    ]
    marked = lines_of(batch(marker("m")), Payload(1, m=True), Payload(2), Payload(3, m=True))
    assert marked == ["empty -", "pass 1 of -", "insert 2 of 2", "flush 2 [2, 3)", "evict 2 of -", "pass 3 of -"]


def test_a_partition_says_that_it_is_removed_before_its_rows_leave() -> None:
    """IB-27, IB-38: a handler that is told of all rows that leave, whatever the reason."""
    windows = last(5).trigger(9).partition("p", most=1)
    lines = lines_of(windows, Payload(1, p="a"), Payload(2, p="a"), Payload(3, p="b"))
    assert lines == [
        *("insert 1 of 1 in a", "insert 2 of 1,2 in a", "insert 3 of 3 in b"),
        *("remove 1,2 in a", "evict 1,2 of - in a"),
    ]


def test_time_is_that_of_what_happens() -> None:
    query = WindowedQuery(last(elapsed(3)).trigger(9), [Computation(HandlerCalls())])
    events = [Event.point(time, time) for time in (1, 2, 20)]
    evictions = evaluate_evicted(query, events)
    assert [(row.start, row.end, row.value.text) for row in evictions] == [
        (5, 6, "evict 1 of 2"),
        (6, 7, "evict 2 of -"),
    ]
    results = [(row.window.start, row.value.text) for row in evaluate(query, events, 10)]
    assert results == [(1, "insert 1 of 1"), (2, "insert 2 of 1,2"), (5, "full 1,2")]
    flushed = evaluate(WindowedQuery(batch(elapsed(10)), [Computation(HandlerCalls())]), events)
    windows = [(row.start, row.end) for row in flushed if row.value.text.startswith("flush")]
    assert windows == [(0, 10), (20, 30)]


class Widest(RowOperator[int, dict[str, int], int, None]):
    """The number of rows in all partitions, at each row."""

    name, version = "rows.widest", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_insert(self, state: dict[str, int], row: MemberRow[int], window: RowsInWindow[int]) -> list[int]:
        assert window.rows == window.partitions[window.partition]
        return [sum(len(rows) for rows in window.partitions.values())]


def test_a_handler_sees_the_windows_of_all_partitions_of_its_key() -> None:
    """IB-33; and IB-31: a handler is a method, and one that is not defined is not called."""
    events = [Event.point(place, Payload(place, p="abca"[place])) for place in range(4)]
    query = WindowedQuery(last(1).partition("p"), [Computation(Widest(), select=lambda row: row.name)])
    assert [row.value for row in evaluate(query, events)] == [1, 2, 3, 3]
    assert evaluate_evicted(query, events) == []


def test_rows_that_the_module_does_not_accept_are_members_of_which_it_is_told_nothing() -> None:
    query = WindowedQuery(last(2), [Computation(HandlerCalls(), accepts=lambda number: number != 2)])
    events = [Event.point(number, number) for number in (1, 2, 3)]
    texts = [row.value.text for row in evaluate(query, events)]
    assert [text for text in texts if text.startswith("insert")] == ["insert 1 of 1", "insert 3 of 3"]


def test_numbers_begin_anew_when_the_windows_are_empty_and_so_is_the_state() -> None:
    assert numbers(batch(2), 5) == [1, 2, 1, 2, 1]
    assert numbers(last(2), 5) == [1, 2, 3, 4, 5]


def test_a_window_is_full_for_the_first_time_once_though_it_was_empty_since() -> None:
    """IB-30: onWindowInitialFull.

    rows   0 1                  20 21                 40
    last(elapsed(2)):  0 leaves at 3, 20 at 23
    """
    events = [Event.point(time, time) for time in (0, 1, 20, 21, 40)]
    for windows in (last(elapsed(2)), last(elapsed(2)).when_full(), last(elapsed(2)).trigger(elapsed(5))):
        assert [row.value for row in evaluate(WindowedQuery(windows, [Computation(Full())]), events)] == [3]


def test_other_windows_are_refused_with_what_to_write() -> None:
    with pytest.raises(PolicyError, match=r"finds nothing in tumbling\(5\): it needs row windows\n  write.*last\(10\)"):
        WindowedQuery(tumbling(5), [Computation(HandlerCalls())])


class Counting(RowOperator[int, dict[str, int], tuple[int, int], list[int]]):
    """Keeps all laws: how many rows came, at each; and what leaves."""

    name, version = "hostile.counting", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {"count": 0}

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        state["count"] += 1
        return [(state["count"], len(window.rows))]

    def on_evict(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return [[row.payload for row in rows]]


class Misspelt(Counting):
    def on_evicted(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return []


class Mistyped(Counting):
    def on_evict(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return [str(rows)]


class Unstorable(Counting):
    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        state["window"] = window
        return super().on_insert(state, row, window)


class Remembering(Counting):
    def __init__(self) -> None:
        self.seen = 0

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        self.seen += 1
        return [(self.seen, 0)]


class Gambling(Counting):
    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        return [(random.randrange(1000), 0)]


class Grasping(RowOperator[list[int], dict[str, int], int, None]):
    name, version = "hostile.grasping", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_insert(self, state: Any, row: MemberRow[list[int]], window: RowsInWindow[list[int]]) -> list[int]:
        row.payload.append(7)
        return []


HOSTILE = [
    ("test_definition_is_complete", Misspelt()),
    ("test_results_have_declared_types", Mistyped()),
    ("test_the_state_is_plain_data", Unstorable()),
    ("test_nothing_else_is_remembered", Remembering()),
    ("test_nothing_else_is_remembered", Gambling()),
    ("test_rows_are_read_only", Grasping()),
]


def broken_by(module: RowOperator[Any, Any, Any, Any], law: str) -> LawError | None:
    laws: Any = type("TestModule", (RowOperatorLaws,), {"module": module})()
    try:
        getattr(laws, law)()
    except LawError as error:
        return error
    return None


def test_each_law_has_a_module_that_breaks_it() -> None:
    assert {law for law, _ in HOSTILE} == set(laws_of(RowOperatorLaws))


@pytest.mark.parametrize("law", laws_of(RowOperatorLaws))
@pytest.mark.parametrize("module", [Counting(), Widest()], ids=lambda module: module.name)
def test_modules_that_keep_all_laws_pass(module: RowOperator[Any, Any, Any, Any], law: str) -> None:
    assert broken_by(module, law) is None


@pytest.mark.parametrize(("law", "module"), HOSTILE)
def test_a_module_that_breaks_a_law_is_told_what_to_do(law: str, module: RowOperator[Any, Any, Any, Any]) -> None:
    error = broken_by(module, law)
    assert error is not None
    assert f"breaks the law: {law.removeprefix('test_').replace('_', ' ')}" in str(error)
    assert "to do: " in str(error)


def test_a_misspelt_handler_is_told_its_name() -> None:
    assert "it defines on_evicted, which nothing calls; did you mean on_evict?" in str(
        broken_by(Misspelt(), HOSTILE[0][0])
    )


def test_a_handler_that_takes_other_arguments_is_refused() -> None:
    class Short(Counting):
        def on_trigger(self, state: Any) -> Any:  # type: ignore[override]
            return []

    with pytest.raises(ModuleDefinitionError, match=r"on_trigger\(state\) is called with \(state, window\)"):
        Short.check_definition()
