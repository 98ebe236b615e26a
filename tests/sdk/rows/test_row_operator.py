"""Operators that follow rows: which handlers are called for them, with what, and what becomes of the results."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from muntin import INFINITY, Event, RowOperator, tumbling
from muntin.errors import ModuleDefinitionError, PolicyError
from muntin.rows import MemberRow, RowsInWindow, RowWindows, batch, elapsed, last, marker
from muntin.testing import Computation, LawError, RowOperatorLaws, WindowedQuery, evaluate, evaluate_evicted, laws_of
from tests.modules.row_operators import Full, HandlerCalls, numbers


class Payload(NamedTuple):
    """A row of the tests: its name, its partition `p`, and whether it is a marker `m`."""

    name: int
    p: str = ""
    m: bool = False


def handler_calls(windows: RowWindows, *rows: Payload, until: int = INFINITY) -> list[str]:
    """Return the calls of handlers as text, in their order.

    The first row is at tick 1, the next one at tick 2, and so on; the stream is complete up to the tick `until`. A line
    says which handler is called for which row, which rows the window then has, and its extent in brackets.
    """
    events = [Event.point(time, row) for time, row in enumerate(rows, 1)]
    query = WindowedQuery(windows, [Computation(HandlerCalls(), select=lambda row: row.name)])
    results = [row.value for row in evaluate(query, events, complete_to=until)]
    evicted = [row.value for row in evaluate_evicted(query, events, complete_to=until)]
    calls = sorted([*results, *evicted], key=lambda call: call.place)
    return [call.text for call in calls]


def test_a_sliding_window_calls_handlers_for_rows_that_come_and_leave_when_it_is_first_full_and_computed() -> None:
    """IB-28, IB-30."""
    calls = handler_calls(last(2).trigger(2), Payload(1), Payload(2), Payload(3), Payload(4))
    assert calls == [
        "insert 1 of 1",
        *("insert 2 of 1,2", "full 1,2", "trigger 1,2 [1, 3)"),
        *("evict 1 of 2", "insert 3 of 2,3"),
        *("evict 2 of 3", "insert 4 of 3,4", "trigger 3,4 [3, 5)"),
    ]


def test_a_tumbling_window_calls_the_handler_of_the_flush_with_its_rows_and_that_of_eviction_without() -> None:
    """IB-29."""
    calls = handler_calls(batch(2), Payload(1), Payload(2), Payload(3), until=4)
    assert calls == [
        "insert 1 of 1",
        *("insert 2 of 1,2", "flush 1,2 [1, 3)", "evict 1,2 of -"),
        "insert 3 of 3",
    ]


def test_a_marker_flushes_the_window_or_finds_it_empty_and_passes_without_becoming_a_member() -> None:
    """IB-29."""
    calls = handler_calls(batch(marker("m")), Payload(1, m=True), Payload(2), Payload(3, m=True))
    assert calls == [
        *("empty -", "pass 1 of -"),
        "insert 2 of 2",
        *("flush 2 [2, 3)", "evict 2 of -", "pass 3 of -"),
    ]


def test_a_partition_says_that_it_is_removed_before_its_rows_leave() -> None:
    """IB-27, IB-38: eviction is told of all rows that leave, whatever the reason."""
    windows = last(5).trigger(9).partition("p", most=1)
    calls = handler_calls(windows, Payload(1, p="a"), Payload(2, p="a"), Payload(3, p="b"))
    assert calls == [
        *("insert 1 of 1 in a", "insert 2 of 1,2 in a", "insert 3 of 3 in b"),
        *("remove 1,2 in a", "evict 1,2 of - in a"),
    ]


def test_what_a_handler_returns_is_at_the_tick_for_which_it_is_called() -> None:
    """A row at 1 is more than three ticks old at 5."""
    query = WindowedQuery(last(elapsed(3)).trigger(9), [Computation(HandlerCalls())])
    events = [Event.point(time, time) for time in (1, 2, 20)]

    evictions = evaluate_evicted(query, events)
    assert [(row.start, row.end, row.value.text) for row in evictions] == [
        (5, 6, "evict 1 of 2"),
        (6, 7, "evict 2 of -"),
    ]
    results = evaluate(query, events, complete_to=10)
    assert [(row.window.start, row.value.text) for row in results] == [
        (1, "insert 1 of 1"),
        (2, "insert 2 of 1,2"),
        (5, "full 1,2"),
    ]


def test_what_the_handler_of_a_flush_returns_has_the_extent_of_the_window() -> None:
    query = WindowedQuery(batch(elapsed(10)), [Computation(HandlerCalls())])
    results = evaluate(query, [Event.point(time, time) for time in (1, 2, 20)])
    assert [(row.start, row.end) for row in results if row.value.text.startswith("flush")] == [(0, 10), (20, 30)]


class Widest(RowOperator[int, dict[str, int], int, None]):
    """At each row the number of rows in the windows of all partitions."""

    name, version = "rows.widest", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_insert(self, state: dict[str, int], row: MemberRow[int], window: RowsInWindow[int]) -> list[int]:
        assert window.rows == window.partitions[window.partition]
        return [sum(len(rows) for rows in window.partitions.values())]


def test_a_handler_sees_the_windows_of_all_partitions_of_its_key_and_one_that_is_not_defined_is_not_called() -> None:
    """IB-33 and IB-31."""
    events = [Event.point(time, Payload(time, p=partition)) for time, partition in enumerate("abca")]
    query = WindowedQuery(last(1).partition("p"), [Computation(Widest(), select=lambda row: row.name)])
    assert [row.value for row in evaluate(query, events)] == [1, 2, 3, 3]
    assert evaluate_evicted(query, events) == [], "it defines no on_evict"


def test_rows_that_the_module_does_not_accept_are_members_that_its_handlers_do_not_see() -> None:
    query = WindowedQuery(last(2), [Computation(HandlerCalls(), accepts=lambda number: number != 2)])
    events = [Event.point(number, number) for number in (1, 2, 3)]
    calls = [row.value.text for row in evaluate(query, events)]
    assert [call for call in calls if call.startswith("insert")] == ["insert 1 of 1", "insert 3 of 3"]


def test_the_numbers_of_rows_begin_anew_when_the_windows_are_empty() -> None:
    """With a batch the state of the key is gone too; the windows of the last rows are never empty again."""
    assert numbers(batch(2), count=5) == [1, 2, 1, 2, 1]
    assert numbers(last(2), count=5) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "windows", [last(elapsed(2)), last(elapsed(2)).when_full(), last(elapsed(2)).trigger(elapsed(5))], ids=str
)
def test_a_window_is_full_for_the_first_time_once_though_it_was_empty_since(windows: RowWindows) -> None:
    """IB-30: onWindowInitialFull. Rows leave at 3, where the window is first full, and again at 23.

    rows   0 1           20 21           40
    """
    events = [Event.point(time, time) for time in (0, 1, 20, 21, 40)]
    results = evaluate(WindowedQuery(windows, [Computation(Full())]), events)
    assert [row.value for row in results] == [3]


def test_windows_that_do_not_follow_rows_are_refused_with_what_to_write() -> None:
    with pytest.raises(PolicyError, match=r"finds nothing in tumbling\(5\): it needs row windows\n  write.*last\(10\)"):
        WindowedQuery(tumbling(5), [Computation(HandlerCalls())])


class Counting(RowOperator[int, dict[str, int], tuple[int, int], list[int]]):
    """Keeps all laws: at each row the number of rows so far and that of members; and the rows that leave."""

    name, version = "hostile.counting", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {"count": 0}

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        state["count"] += 1
        return [(state["count"], len(window.rows))]

    def on_evict(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return [[row.payload for row in rows]]


class Misspelt(Counting):
    """Defines a method like a handler, which nothing calls."""

    def on_evicted(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return []


class Mistyped(Counting):
    """Returns a text where it declares a list of numbers."""

    def on_evict(self, state: Any, rows: Any, window: RowsInWindow[Any]) -> Any:
        return [str(rows)]


class Unstorable(Counting):
    """Puts an object into its state that no checkpoint can hold."""

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        state["window"] = window
        return super().on_insert(state, row, window)


class Remembering(Counting):
    """Counts on itself, not in the state."""

    def __init__(self) -> None:
        self.row_count = 0

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        self.row_count += 1
        return [(self.row_count, 0)]


class Gambling(Counting):
    """Returns another result each time."""

    def on_insert(self, state: Any, row: MemberRow[Any], window: RowsInWindow[Any]) -> Any:
        return [(random.randrange(1000), 0)]


class Grasping(RowOperator[list[int], dict[str, int], int, None]):
    """Changes the payload of a row."""

    name, version = "hostile.grasping", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_insert(self, state: Any, row: MemberRow[list[int]], window: RowsInWindow[list[int]]) -> list[int]:
        row.payload.append(7)
        return []


HOSTILE: list[tuple[str, RowOperator[Any, Any, Any, Any]]] = [
    ("test_definition_is_complete", Misspelt()),
    ("test_results_have_declared_types", Mistyped()),
    ("test_the_state_is_plain_data", Unstorable()),
    ("test_nothing_else_is_remembered", Remembering()),
    ("test_nothing_else_is_remembered", Gambling()),
    ("test_rows_are_read_only", Grasping()),
]


def error_of(law: str, module: RowOperator[Any, Any, Any, Any]) -> LawError | None:
    """Try a law on a module, as a test class of a module writer would; return the error, or None if the law holds."""
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
    assert error_of(law, module) is None


@pytest.mark.parametrize(("law", "module"), HOSTILE)
def test_a_module_that_breaks_a_law_is_told_what_to_do(law: str, module: RowOperator[Any, Any, Any, Any]) -> None:
    error = error_of(law, module)
    assert error is not None
    assert f"breaks the law: {law.removeprefix('test_').replace('_', ' ')}" in str(error)
    assert "to do: " in str(error)


def test_a_law_suggests_the_name_of_a_handler_that_is_misspelt() -> None:
    error = error_of("test_definition_is_complete", Misspelt())
    assert "it defines on_evicted, which nothing calls; did you mean on_evict?" in str(error)


def test_a_handler_without_the_argument_for_the_window_is_refused() -> None:
    class Short(Counting):
        def on_trigger(self, state: Any) -> Any:  # type: ignore[override]
            return []

    with pytest.raises(ModuleDefinitionError, match=r"on_trigger\(state\) is called with \(state, window\)"):
        Short.check_definition()
