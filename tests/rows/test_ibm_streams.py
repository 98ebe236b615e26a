"""The windows of IBM Streams 4.2, statement by statement, as traces of what is done.

Rows are numbered 1, 2, 3, ... A line says what is done, and to which rows; that of a trigger or a flush shows the rows
that the window then holds.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from muntin import Window
from muntin.errors import WindowError
from muntin.rows import (
    CountPolicy,
    DeltaPolicy,
    MarkerPolicy,
    Row,
    RowBatches,
    RowWindows,
    batch,
    delta,
    elapsed,
    last,
    marker,
)
from tests.rows.tracing import LETTERED, Computed, trace


def contents(windows: RowWindows, rows: list[Row], partition: object = 0) -> list[tuple[int, ...]]:
    """The rows of a partition after each row that came to it, newest first, as the document writes them."""
    found, seen = trace(windows), list[tuple[int, ...]]([()])
    for row in rows:
        before = len(found.lines)
        found.rows(row)
        if windows.partition_by is not None and row.values[0] != partition:
            continue
        if any("flush" in line for line in found.lines[before:]):
            seen.append(tuple(reversed(found.computed[-1].rows)))
        seen.append(tuple(reversed(found.members[partition])))
    return seen


def of_rows(count: int) -> list[Row]:
    return [Row(number, number) for number in range(1, count + 1)]


def test_tumbling_rows_are_stored_in_order_and_leave_all_at_once() -> None:
    """IB-01, IB-06: the first sequence of the document, count 4."""
    assert contents(batch(4), of_rows(6)) == [(), (1,), (2, 1), (3, 2, 1), (4, 3, 2, 1), (), (5,), (6, 5)]
    assert trace(batch(2)).counted(1, 2, 3).lines == ["insert 1", "insert 2", "flush 1,2", "insert 3"]


def test_sliding_rows_leave_one_by_one_the_oldest_first() -> None:
    """IB-02, IB-07: the second sequence of the document, count 4."""
    expected = [(), (1,), (2, 1), (3, 2, 1), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)]
    assert contents(last(4), of_rows(6)) == expected


def test_a_sliding_window_triggers_after_so_many_rows_with_the_newest() -> None:
    """IB-03, IB-08: the third sequence of the document, count 4 and count 2, where a star marks a trigger."""
    found = trace(last(4).trigger(2)).counted(*range(1, 8))
    assert [line for line in found.lines if line.startswith("trigger")] == [
        "trigger 1,2",
        "trigger 1,2,3,4",
        "trigger 3,4,5,6",
    ]
    assert found.lines[-3:] == ["trigger 3,4,5,6", "evict 3", "insert 7"]


def test_each_partition_is_a_window_of_its_own() -> None:
    """IB-04: the partitioned sequences of the document, count 4."""
    tumbling, sliding = batch(4).partition("letter"), last(4).partition("letter")
    a = [(), (1,), (3, 1), (7, 3, 1), (8, 7, 3, 1), (), (11,), (13, 11)]
    b = [(), (2,), (4, 2), (5, 4, 2), (6, 5, 4, 2), (), (9,), (10, 9)]
    assert contents(tumbling, LETTERED, "a") == a
    assert contents(tumbling, LETTERED, "b") == b
    a = [(), (1,), (3, 1), (7, 3, 1), (8, 7, 3, 1), (11, 8, 7, 3), (13, 11, 8, 7)]
    b = [(), (2,), (4, 2), (5, 4, 2), (6, 5, 4, 2), (9, 6, 5, 4), (10, 9, 6, 5)]
    assert contents(sliding, LETTERED, "a") == a
    assert contents(sliding, LETTERED, "b") == b
    flushed = trace(tumbling).rows(*LETTERED).computed
    assert flushed == [Computed(Window(2, 7), "b", (2, 4, 5, 6)), Computed(Window(1, 9), "a", (1, 3, 7, 8))]


def test_a_flushed_partition_is_gone_and_a_sliding_one_by_count_or_delta_never_empty_again() -> None:
    """IB-05."""
    flushed = trace(batch(2).partition("letter")).rows(*LETTERED[:3])
    assert list(flushed.state.partitions) == ["b"]
    for windows in (last(2), last(delta("value", 1))):
        held = trace(windows)
        for number, value in enumerate([0, 5, 1, 90, -50], 1):
            held.rows(Row(number, number, (value,) if isinstance(windows.evicts, DeltaPolicy) else ()))
            assert held.state.count > 0


def test_a_tumbling_delta_flushes_before_the_row_that_is_too_far_away() -> None:
    """IB-09: strictly larger, from the oldest row; the new row is not in the flushed window."""
    found = trace(batch(delta("age", 2))).valued(10, 12, 11, 13, 15, 16)
    assert found.lines == [
        *("insert 1", "insert 2", "insert 3"),
        *("flush 1,2,3", "insert 4", "insert 5"),
        *("flush 4,5", "insert 6"),
    ]


def test_a_sliding_delta_evicts_all_rows_that_are_too_far_behind_whatever_their_order() -> None:
    """IB-10: strictly larger; an attribute that goes back and forth is not first in, first out."""
    found = trace(last(delta("age", 2)).trigger(100)).valued(5, 3, 6, 7, 8)
    assert found.lines == [
        *("insert 1", "insert 2"),
        *("full", "evict 2", "insert 3"),
        "insert 4",
        *("evict 1", "insert 5"),
    ]


def test_a_row_without_the_attribute_evicts_nothing_and_leaves_with_the_row_before_it() -> None:
    """The document has no nulls. At first, where none is before, it leaves with the first row that has the attribute.

    value     null  1  null  5  null  9  20
    counts as    1  1     1  5     5  9  20
    """
    found = trace(last(delta("age", 4))).valued(None, 1, math.nan, 5, None, 9, 20)
    assert [one.rows for one in found.computed] == [
        *((1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)),
        *((4, 5, 6), (7,)),
    ]


def test_a_delta_trigger_computes_before_the_row_that_exceeds_it() -> None:
    """IB-11: strictly larger than the attribute of the row that triggered last; the new row is not included."""
    found = trace(last(3).trigger(delta("age", 2))).valued(10, 12, 13, 15, 16)
    assert [line for line in found.lines if line.startswith("trigger")] == ["trigger 1,2", "trigger 2,3,4"]


def test_the_first_delta_counts_from_the_first_row_or_from_what_is_said() -> None:
    """IB-11, which leaves the baseline open."""
    assert trace(last(9).trigger(delta("age", 2, start=0))).valued(1, 3, 5).lines == [
        *("insert 1", "trigger 1", "insert 2", "insert 3"),
    ]
    assert trace(last(9).trigger(delta("age", 2))).valued(1, 3, 4).lines == [
        *("insert 1", "insert 2", "trigger 1,2", "insert 3"),
    ]


def test_a_tumbling_window_is_flushed_by_time_without_any_row() -> None:
    """IB-12: at multiples of the period; a row at the very tick belongs to the next window."""
    found = trace(batch(elapsed(10))).rows(Row(1, 3), Row(2, 9), Row(3, 10))
    assert found.lines == ["insert 1", "insert 2", "flush 1,2", "insert 3"]
    assert found.advance(19).computed == [Computed(Window(0, 10), 0, (1, 2))]
    assert found.advance(20).computed[1:] == [Computed(Window(10, 20), 0, (3,))]


def test_rows_of_a_sliding_window_leave_by_time_without_any_row() -> None:
    """IB-13: those that are there for longer than the time."""
    found = trace(last(elapsed(10)).trigger(100)).rows(Row(1, 3), Row(2, 3), Row(3, 7))
    assert found.advance(13).lines == ["insert 1", "insert 2", "insert 3"]
    assert found.advance(14).lines[3:] == ["full", "evict 1,2"]
    assert found.advance(18).lines[5:] == ["evict 3"]


def test_a_window_triggers_by_time_without_any_row() -> None:
    """IB-14: every period, whatever leaves."""
    found = trace(last(2).trigger(elapsed(5))).rows(Row(1, 1), Row(2, 2), Row(3, 3)).advance(16)
    assert found.computed == [Computed(Window(2, end), 0, (2, 3)) for end in (5, 10, 15)]


def test_a_batch_that_is_not_full_is_flushed_some_time_after_its_first_row() -> None:
    """The document has either; this is both, on the axis.

    time   1 2      6    8 9 10   14 16
    batch  [--------)             [-----
                    [-----------)          the row at 6 is not in the first, and fills the second with those at 8 and 9
                              [---------)  10 and 14
    """
    rows = [Row(place, time) for place, time in enumerate((1, 2, 6, 8, 9, 10, 14, 16), 1)]
    found = trace(batch(3, within=5)).rows(*rows)
    assert found.computed == [
        Computed(Window(1, 6), 0, (1, 2)),
        Computed(Window(6, 10), 0, (3, 4, 5)),
        Computed(Window(10, 15), 0, (6, 7)),
    ]
    assert found.lines[:4] == ["insert 1", "insert 2", "flush 1,2", "insert 3"]
    assert found.restart().advance(20).lines[-1] == "insert 8"
    assert found.advance(21).computed[-1] == Computed(Window(16, 21), 0, (8,))
    assert batch(3, within=5).least_events == 1
    with pytest.raises(WindowError, match="is flushed by time twice"):
        batch(elapsed(10), within=5)


def test_a_marker_flushes_and_is_no_member() -> None:
    """IB-15."""
    found = trace(batch(marker("is_last"))).valued(False, False, True, False)
    assert found.lines == ["insert 1", "insert 2", "flush 1,2", "insert 4"]


def test_a_marker_flushes_all_partitions() -> None:
    """IB-15, IB-20: a punctuation is of no partition."""
    rows = [Row(1, 1, ("a", False)), Row(2, 2, ("b", False)), Row(3, 3, ("a", True)), Row(4, 4, ("b", False))]
    assert trace(batch(marker("is_last")).partition("letter")).rows(*rows).lines == [
        *("a: insert 1", "b: insert 2", "a: flush 1", "b: flush 2", "b: insert 4"),
    ]


def test_policies_of_time_have_no_thread_of_their_own() -> None:
    """IB-34: where IBM's windows need up to two threads and a lock, time is data here, and windows are called."""
    before = threading.active_count()
    found = trace(last(elapsed(10)).trigger(elapsed(5))).rows(Row(1, 3), Row(2, 9)).advance(30)
    assert [line for line in found.lines if line.startswith(("evict", "trigger"))][-1] == "evict 2"
    assert threading.active_count() == before


MARKED = {"evict": lambda: last(marker("x")), "trigger": lambda: last(3).trigger(marker("x"))}


@pytest.mark.parametrize("make", MARKED.values(), ids=MARKED)
def test_a_sliding_window_by_marker_is_refused_with_the_reason(make: Any) -> None:
    """IB-16."""
    with pytest.raises(WindowError, match=r"a marker ends a whole window, and a sliding one has no end"):
        make()


ROWS = [Row(1, 1, (1.0,)), Row(2, 2, (4.0,)), Row(3, 7, (9.0,))]
"""Three rows: each later by more, and larger by more."""


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        pytest.param(batch(2), "insert 1, insert 2, flush 1,2, insert 3", id="count: insert, evict"),
        pytest.param(batch(delta("v", 2)), "insert 1, flush 1, insert 2, flush 2, insert 3", id="delta: evict, insert"),
        pytest.param(batch(elapsed(5)), "insert 1, insert 2, flush 1,2, insert 3", id="time: evict by itself"),
        pytest.param(batch(marker("v > 8")), "insert 1, insert 2, flush 1,2", id="marker: evict at a marker"),
    ],
)
def test_the_order_of_events_of_tumbling_windows(windows: RowBatches, expected: str) -> None:
    """IB-17: table 1 of the document."""
    is_marked = isinstance(windows.evicts, MarkerPolicy)
    rows = [Row(row.number, row.time, (row.values[0] > 8,)) for row in ROWS] if is_marked else ROWS
    assert ", ".join(trace(windows).rows(*rows).lines) == expected


E, D, C = elapsed, delta, CountPolicy
CELLS = {
    ("count", "count"): (last(1).trigger(1), "insert 1, full, trigger 1, evict 1, insert 2, trigger 2"),
    ("count", "delta"): (last(1).trigger(D("v", 2)), "insert 1, full, trigger 1, evict 1, insert 2"),
    ("count", "time"): (last(1).trigger(E(2)), "insert 1, full, trigger 1, evict 1, insert 2"),
    ("delta", "count"): (last(D("v", 2)).trigger(1), "insert 1, trigger 1, full, evict 1, insert 2, trigger 2"),
    ("delta", "delta"): (last(D("v", 2)).trigger(D("v", 2)), "insert 1, trigger 1, full, evict 1, insert 2"),
    ("delta", "time"): (last(D("v", 2)).trigger(E(2)), "insert 1, trigger 1, full, evict 1, insert 2"),
    ("time", "count"): (last(E(4)).trigger(1), "insert 1, trigger 1, insert 2, trigger 1,2"),
    ("time", "delta"): (last(E(4)).trigger(D("v", 2)), "insert 1, trigger 1, insert 2"),
    ("time", "time"): (last(E(4)).trigger(E(2)), "insert 1, trigger 1, insert 2"),
}
"""What is done when the second of two rows comes, a tick later and larger by 3."""

AT_TICK_SEVEN = {
    ("count", "time"): "trigger 2, trigger 2",
    ("delta", "time"): "trigger 2, trigger 2",
    ("time", "count"): "full, evict 1, evict 2",
    ("time", "delta"): "full, evict 1, evict 2",
    ("time", "time"): "trigger 1,2, full, evict 1, trigger 2, evict 2",
}
"""What time alone does up to tick 7: rows 1 and 2 leave at 6 and 7, after 4 ticks; windows are computed at 4 and 6."""


@pytest.mark.parametrize("cell", CELLS, ids=" evicts, ".join)
def test_the_order_of_events_of_sliding_windows(cell: tuple[str, str]) -> None:
    """IB-18: table 2 of the document, all nine cells, serial and independent events."""
    windows, expected = CELLS[cell]
    reads = len(windows.reads)
    found = trace(windows).rows(Row(1, 1, (1.0,) * reads), Row(2, 2, (4.0,) * reads))
    assert ", ".join(found.lines) == expected
    done = len(found.lines)
    assert ", ".join(found.advance(7).lines[done:]) == AT_TICK_SEVEN.get(cell, "")


def test_time_comes_before_the_row_at_that_tick_and_eviction_before_the_trigger() -> None:
    """IB-13, IB-14, IB-18: independent threads, made one order."""
    found = trace(last(elapsed(3)).trigger(elapsed(4))).rows(Row(1, 0), Row(2, 1), Row(3, 4))
    assert found.lines == ["insert 1", "insert 2", "full", "evict 1", "trigger 2", "insert 3"]
