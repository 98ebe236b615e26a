"""A mark in the output where a window ends: IBM Streams' window punctuation, as a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from muntin import INFINITY, RowOperator, TimestampPolicy
from muntin.modules.module import Module
from muntin.named_windows import from_dict, to_dict
from muntin.rows import MemberRow, RowsInWindow, RowWindows, batch, last, marker
from muntin.schemas import describe
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.plan import plan_module
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.engine import plan_of_rows
from tests.rows.modules import Changes, Listed

ORDER = describe(int, "order")
State = dict[str, int]


class Both(RowOperator[int, State, int, int]):
    """Each row when it comes; when the window is computed, all of them; and each that leaves."""

    name, version = "rows.both", "1.0.0"

    def create_state(self) -> State:
        return {}

    def on_insert(self, state: State, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload]

    def on_trigger(self, state: State, window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload for row in window.rows]

    def on_evict(self, state: State, rows: Any, window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload for row in rows]


def marked(windows: RowWindows, module: type[Module], *times: int, **changed: Any) -> list[tuple[Any, bool]]:
    """The results for rows at some times, whose payload is their time, each with its mark."""
    label = "" if module.is_operator else "m"
    plan = plan_of_rows(windows, plan_module(label, module, {}, [ORDER], lambda place, _: place), **changed)
    evaluator: Any = BY_NAME["in_order"].in_memory(plan, MemoryCells(), Codec())
    rows = [(("a",), InputChange(None, time, time + 1, (time, *([time == 9] * len(windows.reads))))) for time in times]
    found = evaluator.take(rows, Progress(INFINITY, 100, max(times)))
    assert not any(change.ends_window for _, change in evaluator.evicted)
    return [(change.value, change.ends_window) for _, change in found]


def test_the_last_row_of_each_window_is_marked_and_rows_that_are_of_none_are_not() -> None:
    """Rows at 1, 2, 3, 4; last(2).trigger(2) is computed with 1, 2 and with 3, 4."""
    assert marked(last(2).trigger(2), Both, 1, 2, 3, 4) == [
        *((1, False), (2, False), (1, False), (2, True)),
        *((3, False), (4, False), (3, False), (4, True)),
    ]


def test_an_operator_of_windows_marks_its_last_row_and_a_window_without_rows_has_no_mark() -> None:
    """Rows at 1, 4, 6 in batches up to the marker at 9; the batch of the row at 12 has no change to return."""
    for timestamps in (TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END):
        found = marked(batch(marker("m")), Changes, 1, 4, 6, 9, 12, timestamps=timestamps)
        assert found == [(3, False), (2, True)]


def test_each_result_of_aggregates_is_a_whole_window() -> None:
    assert marked(batch(2), Listed, 1, 2, 3) == [(([1, 2],), True), (([3],), True)]


def test_results_have_the_column_where_the_windows_say_so() -> None:
    for windows in (last(10).trigger(2), batch(2), last("5 minutes").partition("p")):
        plain, told = plan_of_rows(windows), plan_of_rows(windows.with_marks())
        assert (*plain.added, "ends_window") == told.added
        assert from_dict(to_dict(windows.with_marks())) == windows.with_marks()
        assert str(windows.with_marks()) == str(windows).replace(".partition", ".with_marks().partition") + (
            "" if windows.partitions else ".with_marks()"
        )
