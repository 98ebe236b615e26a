"""The windows of IBM Streams 4.2, statement by statement (IB-01 to IB-38), as traces of what is done.

Rows are numbered 1, 2, 3, ... A trace says what is done, and to which rows; that of a trigger or a flush shows the rows
that the window then holds. A bar stands where time comes to a tick without a row.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pytest

from muntin import Window
from muntin.catalog.named_windows import from_dict
from muntin.errors import WindowError
from muntin.rows import (
    CountPolicy,
    ElapsedPolicy,
    LastRows,
    Partitions,
    PartitionView,
    Row,
    RowWindows,
    batch,
    delta,
    elapsed,
    last,
    marker,
)
from tests.sdk.rows.tracing import Computed, Trace
from tests.tables import entries


def at(*times: int) -> list[Row]:
    """Return rows at these times, without attributes."""
    return [Row(place, time) for place, time in enumerate(times, 1)]


def valued(*values: Any) -> list[Row]:
    """Return rows at the times 1, 2, 3, ... with one attribute."""
    return [Row(place, place, (value,)) for place, value in enumerate(values, 1)]


def valued_twice(*values: tuple[Any, Any]) -> list[Row]:
    """Return rows at the times 1, 2, 3, ... with two attributes."""
    return [Row(place, place, pair) for place, pair in enumerate(values, 1)]


def timed(*rows: tuple[int, Any]) -> list[Row]:
    """Return rows with a time and one attribute."""
    return [Row(place, time, (value,)) for place, (time, value) in enumerate(rows, 1)]


def advance(tick: int) -> int:
    """Return a step without a row, in which time comes to a tick."""
    return tick


class AllEmptyAndOne(LastRows):
    """Windows that select partitions to remove as the document's handler: those without rows up to one with rows."""

    __slots__ = ()
    name = "test.all_empty_and_one"

    def select_partitions(self, partitions: Any) -> list[Any]:
        selection = []
        for view in partitions:
            assert isinstance(view, PartitionView)
            selection.append(view.partition)
            if view.rows:
                break
        return selection


def emptying(length: int, **limits: Any) -> RowWindows:
    """Return windows of a length of time, from whose partitions `AllEmptyAndOne` selects above the limits."""
    return AllEmptyAndOne(elapsed(length), CountPolicy(100), partitions=Partitions("letter", **limits))


LASTING = last(9).trigger(100)
"""Windows that never evict or trigger here: rows leave with their partitions alone."""
TWO_ROWS: Final = timed((1, 1.0), (2, 4.0))
"""Two rows: the second comes a tick later, and is larger by 3."""
MARKED: Final = valued_twice(("a", False), ("b", False), ("a", True), ("b", False))
"""Rows of two partitions, the third of which is a marker."""
OLD: Final = timed((1, "a"), (9, "b"), (9, "c"), (11, "d"))
"""Rows of four partitions; the first is ten ticks old when the last one comes."""
TRACES = """
IB-01, IB-06: tumbling rows leave all at once
    batch(2); at(1, 2, 3)
    insert 1, insert 2, flush 1,2, insert 3
IB-03, IB-08: the last four rows, computed at every second one
    last(4).trigger(2); at(*range(1, 8))
    insert 1, insert 2, trigger 1,2, insert 3, insert 4, full, trigger 1,2,3,4, evict 1, insert 5, evict 2,
    insert 6, trigger 3,4,5,6, evict 3, insert 7
IB-09: a batch ends where the difference to its oldest row is strictly larger, and without the new row
    batch(delta("age", 2)); valued(10, 12, 11, 13, 15, 16)
    insert 1, insert 2, insert 3, flush 1,2,3, insert 4, insert 5, flush 4,5, insert 6
IB-10: where an attribute goes back and forth, rows do not leave in the order in which they came
    last(delta("age", 2)).trigger(100); valued(5, 3, 6, 7, 8)
    insert 1, insert 2, full, evict 2, insert 3, insert 4, evict 1, insert 5
IB-11: a difference to the row that triggered last triggers, without the new row
    last(3).trigger(delta("age", 2)); valued(10, 12, 13, 15, 16)
    insert 1, insert 2, trigger 1,2, insert 3, full, evict 1, insert 4, trigger 2,3,4, evict 2, insert 5
IB-11: the first difference is to the start, if there is one
    last(9).trigger(delta("age", 2, start=0)); valued(1, 3, 5)
    insert 1, trigger 1, insert 2, insert 3
IB-11: the first difference is to the first row otherwise
    last(9).trigger(delta("age", 2)); valued(1, 3, 4)
    insert 1, insert 2, trigger 1,2, insert 3
IB-12: a row at the tick at which a batch ends belongs to the next one
    batch(elapsed(10)); [*at(3, 9, 10), advance(19), advance(20)]
    insert 1, insert 2, flush 1,2, insert 3 | | flush 3
IB-13: rows leave that are there for longer than the time
    last(elapsed(10)).trigger(100); [*at(3, 3, 7), advance(13), advance(14), advance(18)]
    insert 1, insert 2, insert 3 | | full, evict 1,2 | evict 3
IB-14: a window triggers at every period, whatever leaves
    last(2).trigger(elapsed(5)); [*at(1, 2, 3), advance(16)]
    insert 1, insert 2, full, evict 1, insert 3 | trigger 2,3, trigger 2,3, trigger 2,3
IB-15: a marker flushes and is no member
    batch(marker("m")); valued(False, False, True, False)
    insert 1, insert 2, flush 1,2, insert 4
IB-15, IB-20: a marker flushes all partitions
    batch(marker("m")).partition("letter"); MARKED
    a: insert 1, b: insert 2, a: flush 1, b: flush 2, b: insert 4
IB-17, tumbling by count: a row is inserted, then the window is flushed
    batch(2); at(1, 2, 7)
    insert 1, insert 2, flush 1,2, insert 3
IB-17, tumbling by delta: the window is flushed, then the row is inserted
    batch(delta("v", 2)); timed((1, 1.0), (2, 4.0), (7, 9.0))
    insert 1, flush 1, insert 2, flush 2, insert 3
IB-17, tumbling by time: the window is flushed before the row that comes after its end
    batch(elapsed(5)); at(1, 2, 7)
    insert 1, insert 2, flush 1,2, insert 3
IB-17, tumbling by marker: the window is flushed, and the marker is not inserted
    batch(marker("v > 8")); timed((1, False), (2, False), (7, True))
    insert 1, insert 2, flush 1,2
IB-18: evicted by count, triggered by count
    last(1).trigger(1); [*TWO_ROWS, advance(7)]
    insert 1, full, trigger 1, evict 1, insert 2, trigger 2 |
IB-18: evicted by count, triggered by delta
    last(1).trigger(delta("v", 2)); [*TWO_ROWS, advance(7)]
    insert 1, full, trigger 1, evict 1, insert 2 |
IB-18: evicted by count, triggered by time
    last(1).trigger(elapsed(2)); [*TWO_ROWS, advance(7)]
    insert 1, full, trigger 1, evict 1, insert 2 | trigger 2, trigger 2
IB-18: evicted by delta, triggered by count
    last(delta("v", 2)).trigger(1); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, full, evict 1, insert 2, trigger 2 |
IB-18: evicted by delta, triggered by delta
    last(delta("v", 2)).trigger(delta("v", 2)); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, full, evict 1, insert 2 |
IB-18: evicted by delta, triggered by time
    last(delta("v", 2)).trigger(elapsed(2)); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, full, evict 1, insert 2 | trigger 2, trigger 2
IB-18: evicted by time, triggered by count
    last(elapsed(4)).trigger(1); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, insert 2, trigger 1,2 | full, evict 1, evict 2
IB-18: evicted by time, triggered by delta
    last(elapsed(4)).trigger(delta("v", 2)); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, insert 2 | full, evict 1, evict 2
IB-18: evicted by time, triggered by time
    last(elapsed(4)).trigger(elapsed(2)); [*TWO_ROWS, advance(7)]
    insert 1, trigger 1, insert 2 | trigger 1,2, full, evict 1, trigger 2, evict 2
IB-13, IB-14, IB-18: time before the row at that tick, and eviction before the trigger
    last(elapsed(3)).trigger(elapsed(4)); at(0, 1, 4)
    insert 1, insert 2, full, evict 1, trigger 2, insert 3
IB-21, IB-27: a partition without an insertion for so long is removed
    LASTING.partition("letter", age=5); [*timed((1, "a"), (2, "b"), (4, "a")), advance(6), advance(7), advance(9)]
    a: insert 1, b: insert 2, a: insert 3 | | b: remove 2 | a: remove 1,3
IB-21, IB-25: such a partition may wait for the next insertion of any row
    LASTING.partition("letter", age=5, on_insertion=True); [Row(1, 1, ("a",)), advance(100), Row(2, 101, ("b",))]
    a: insert 1 | b: insert 2, a: remove 1
IB-22, IB-24, IB-25: above a number of partitions, the least recently used one is removed
    LASTING.partition("letter", most=2); valued(*"abacb")
    a: insert 1, b: insert 2, a: insert 3, c: insert 4, b: remove 2, b: insert 5, a: remove 1,3
IB-23: above a number of rows, partitions are removed, even the one that just got a row
    batch(9).partition("letter", most_rows=2); valued(*"aabbb")
    a: insert 1, a: insert 2, b: insert 3, a: remove 1,2, b: insert 4, b: insert 5, b: remove 3,4,5
IB-24, IB-26: a class of one's own selects partitions while there are too many
    emptying(1, most=3); timed((1, "a"), (2, "b"), (9, "c"), (9, "d"))
    a: insert 1, b: insert 2, a: full, a: evict 1, b: full, b: evict 2, c: insert 3, d: insert 4, a: remove,
    b: remove, c: remove 3
IB-21, IB-24, IB-26: it selects while one is too old, as soon as time comes to that
    emptying(2, age=10); OLD
    a: insert 1, a: full, a: evict 1, b: insert 2, c: insert 3, a: remove, b: remove 2, d: insert 4
IB-21, IB-24, IB-26: it selects while one is too old, at an insertion
    emptying(2, age=10, on_insertion=True); OLD
    a: insert 1, a: full, a: evict 1, b: insert 2, c: insert 3, d: insert 4, a: remove, b: remove 2
IB-28, IB-29, IB-30: insertion, full, eviction and trigger are told one by one
    last(1).trigger(2); at(1, 2)
    insert 1, full, evict 1, insert 2, trigger 2
IB-29: a marker that finds no rows is told
    batch(marker("m")); valued(True, False, True, True)
    empty, insert 2, flush 2, empty
a batch that is not full is flushed some time after its first row
    batch(3, within=5); [*at(1, 2, 6, 8), advance(21)]
    insert 1, insert 2, flush 1,2, insert 3, insert 4 | flush 3,4
"""
STATEMENTS: Final = dict(entries(TRACES))
"""By each statement of the document: windows and the steps of a stream, and below them the trace of what is done."""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_windows_do_what_the_document_says(statement: str) -> None:
    """Such as `batch(2); at(1, 2, 3)`, with the trace `insert 1, insert 2, flush 1,2, insert 3` in the line below."""
    windows_and_steps, *trace_lines = STATEMENTS[statement].splitlines()
    windows_text, steps_text = windows_and_steps.split("; ")
    windows: RowWindows = eval(windows_text)
    steps: list[Row | int] = eval(steps_text)

    expected_words = " ".join(trace_lines).split()  # a trace is broken into lines anywhere
    assert trace_of(windows, steps).split() == expected_words


def trace_of(windows: RowWindows, steps: list[Row | int]) -> str:
    """Return what windows do, as the traces above have it.

    A step is a row, or a tick to which time comes without a row. The actions of such a tick stand after a bar.
    """
    trace = Trace(windows)
    parts: list[str] = [""]  # the actions of rows, as far as the next tick; those of a tick and of the rows after it
    for step in steps:
        previous_count = len(trace.lines)
        if isinstance(step, int):
            trace.advance(step)
            parts.append("")
        else:
            trace.rows(step if windows.reads else step._replace(values=()))
        for line in trace.lines[previous_count:]:
            parts[-1] += f", {line}" if parts[-1] else line
    return " | ".join(parts)


def members_after_each_row(windows: RowWindows, rows: list[Row], partition: object = 0) -> str:
    """Return which rows a partition has after each row that came to it, newest first, as the document writes them.

    Where the row flushes the partition, its members just before that are told too.
    """
    trace = Trace(windows)
    contents = list[tuple[int, ...]]()
    for row in rows:
        previous_count = len(trace.lines)
        trace.rows(row)
        if windows.partition_by is not None and row.values[0] != partition:
            continue
        if any("flush" in line for line in trace.lines[previous_count:]):
            contents.append(trace.computed[-1].rows)
        contents.append(tuple(trace.members[partition]))

    newest_first = [" ".join(map(str, reversed(numbers))) for numbers in contents]
    return " / ".join(newest_first)


LETTERED: Final = [
    Row(number, number, (letter,))
    for number, letter in [
        *((1, "a"), (2, "b"), (3, "a"), (4, "b"), (5, "b"), (6, "b")),
        *((7, "a"), (8, "a"), (9, "b"), (10, "b"), (11, "a"), (13, "a")),
    ]
]
"""The rows of two partitions, a and b, in the document's sequences; none has the number 12."""


def test_windows_of_four_rows_go_through_the_sequences_of_the_document() -> None:
    """IB-01, IB-02, IB-04, IB-06, IB-07: tumbling and sliding, without partitions and with them."""
    six_rows = at(1, 2, 3, 4, 5, 6)
    assert members_after_each_row(batch(4), six_rows) == "1 / 2 1 / 3 2 1 / 4 3 2 1 /  / 5 / 6 5"
    assert members_after_each_row(last(4), six_rows) == "1 / 2 1 / 3 2 1 / 4 3 2 1 / 5 4 3 2 / 6 5 4 3"

    tumbling = batch(4).partition("letter")
    assert members_after_each_row(tumbling, LETTERED, "a") == "1 / 3 1 / 7 3 1 / 8 7 3 1 /  / 11 / 13 11"
    assert members_after_each_row(tumbling, LETTERED, "b") == "2 / 4 2 / 5 4 2 / 6 5 4 2 /  / 9 / 10 9"
    assert Trace(tumbling).rows(*LETTERED).computed == [
        Computed(Window(2, 7), partition="b", rows=(2, 4, 5, 6)),
        Computed(Window(1, 9), partition="a", rows=(1, 3, 7, 8)),
    ]

    sliding = last(4).partition("letter")
    assert members_after_each_row(sliding, LETTERED, "a") == "1 / 3 1 / 7 3 1 / 8 7 3 1 / 11 8 7 3 / 13 11 8 7"
    assert members_after_each_row(sliding, LETTERED, "b") == "2 / 4 2 / 5 4 2 / 6 5 4 2 / 9 6 5 4 / 10 9 6 5"


def test_a_partition_that_is_flushed_is_gone() -> None:
    """IB-05."""
    a_b_a = LETTERED[:3]
    state = Trace(batch(2).partition("letter")).rows(*a_b_a).state
    assert list(state.partitions) == ["b"]


@pytest.mark.parametrize(
    ("windows", "rows"),
    [(last(2), at(1, 2, 3, 4, 5)), (last(delta("value", 1)), valued(0, 5, 1, 90, -50))],
    ids=["count", "delta"],
)
def test_a_sliding_window_by_count_or_delta_is_never_empty_after_its_first_row(
    windows: LastRows, rows: list[Row]
) -> None:
    """IB-05."""
    trace = Trace(windows)
    for row in rows:
        assert trace.rows(row).state.count > 0


def test_the_state_has_the_rows_of_each_partition_and_without_partitions_there_is_one() -> None:
    """IB-20, IB-33."""
    partitions = Trace(last(2).partition("letter")).rows(*LETTERED).state.partitions
    assert {name: list(partition.rows) for name, partition in partitions.items()} == {"a": [11, 13], "b": [9, 10]}

    partitions = Trace(last(2)).counted(1, 2).state.partitions
    assert list(partitions) == [0]


def test_a_row_without_the_attribute_evicts_nothing_and_leaves_with_the_row_before_it() -> None:
    """The document has no nulls. Rows leave when the attribute has grown by more than 4, here with rows 6 and 7.

    Rows before the first one with the attribute leave with that one.

    row          1  2    3  4     5  6   7
    value     null  1  nan  5  null  9  20
    counts as    1  1    1  5     5  9  20
    """
    trace = Trace(last(delta("age", 4))).valued(None, 1, math.nan, 5, None, 9, 20)
    assert [computed.rows for computed in trace.computed] == [
        *((1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)),
        (4, 5, 6),
        (7,),
    ]


def test_windows_that_time_ends_or_triggers_do_so_at_multiples_of_their_length() -> None:
    """IB-12, IB-14."""
    batches = Trace(batch(elapsed(10))).rows(*at(3, 9, 10)).advance(20).computed
    assert batches == [
        Computed(Window(0, 10), partition=0, rows=(1, 2)),
        Computed(Window(10, 20), partition=0, rows=(3,)),
    ]
    triggered = Trace(last(2).trigger(elapsed(5))).rows(*at(1, 2, 3)).advance(16).computed
    assert triggered == [Computed(Window(2, end), partition=0, rows=(2, 3)) for end in (5, 10, 15)]


def test_a_batch_ends_with_the_row_that_fills_it_or_when_it_is_overdue() -> None:
    """Also after a restart.

    time   1 2      6    8 9 10   14 16
    row    1 2      3    4 5 6     7  8
    batch  [--------)                       overdue at 6
                    [-----------)           full with row 5
                              [---------)   overdue at 15
                                      [-    overdue at 21
    """
    trace = Trace(batch(3, within=5)).rows(*at(1, 2, 6, 8, 9, 10, 14, 16))
    assert trace.computed == [
        Computed(Window(1, 6), partition=0, rows=(1, 2)),
        Computed(Window(6, 10), partition=0, rows=(3, 4, 5)),
        Computed(Window(10, 15), partition=0, rows=(6, 7)),
    ]
    trace.restart().advance(20)
    assert trace.lines[-1] == "insert 8", "not computed yet"
    trace.advance(21)
    assert trace.computed[-1] == Computed(Window(16, 21), partition=0, rows=(8,))


def test_a_batch_that_may_be_overdue_may_have_a_single_row() -> None:
    assert batch(3, within=5).least_events == 1


def test_policies_of_time_have_no_thread_of_their_own() -> None:
    """IB-34: where IBM's windows need up to two threads and a lock, time is data here, and windows are called."""
    thread_count = threading.active_count()
    Trace(last(elapsed(10)).trigger(elapsed(5))).rows(*at(3, 9)).advance(30)
    assert threading.active_count() == thread_count


class SelectsNothing(LastRows):
    """Windows that select no partition to remove, though there are too many."""

    __slots__ = ()

    def select_partitions(self, partitions: Any) -> list[Any]:
        return []


REFUSALS: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "IB-16: eviction by marker": (lambda: last(marker("x")), "a marker ends a whole window, and a sliding one has no"),
    "IB-16: trigger by marker": (lambda: last(3).trigger(marker("x")), "a marker ends a whole window, and a sliding"),
    "flushed by time twice": (lambda: batch(elapsed(10), within=5), "is flushed by time twice"),
    "IB-26: a selection of nothing, which would be asked for ever": (
        lambda: Trace(SelectsNothing(CountPolicy(2), partitions=Partitions("letter", most=1))).rows(*valued("a", "b")),
        r"SelectsNothing\.select_partitions returned",
    ),
}
"""By the statement: what makes windows that have no meaning, or runs into that, and the message."""


@pytest.mark.parametrize("statement", REFUSALS)
def test_windows_without_a_meaning_are_refused_with_the_reason(statement: str) -> None:
    make_windows, message = REFUSALS[statement]
    with pytest.raises(WindowError, match=message):
        make_windows()


def test_an_attribute_is_of_any_type_that_subtracts_and_a_partition_of_any_type_that_tells_apart() -> None:
    """IB-19."""
    rows = [
        Row(number=1, time=1, values=(("x", 1), Decimal("0.1"))),
        Row(number=2, time=2, values=(("x", 1), Decimal("0.2"))),
        Row(number=3, time=3, values=(None, Decimal(9))),
    ]
    trace = Trace(last(delta("v", 0)).partition("p")).rows(*rows)
    assert [(computed.partition, computed.rows) for computed in trace.computed] == [
        (("x", 1), (1,)),
        (("x", 1), (2,)),
        (None, (3,)),
    ]


def test_a_marker_without_rows_computes_an_empty_window_where_that_is_asked_for() -> None:
    """IB-29."""
    trace = Trace(batch(marker("m")).with_empty()).valued(True)
    assert trace.lines == ["empty", "flush"]
    assert trace.computed[0].rows == ()


@pytest.mark.parametrize(
    ("windows", "rows", "expected"),
    [
        (last(3).when_full(), at(1, 2, 3, 4), [(1, 2, 3), (2, 3, 4)]),
        (last(elapsed(2)).when_full(), at(1, 2, 4, 5), [(2, 3), (3, 4)]),
        (last(delta("v", 1)).when_full(), valued(1, 2, 3, 4), [(2, 3), (3, 4)]),
    ],
    ids=["count", "time", "delta"],
)
def test_windows_may_wait_until_they_are_full_by_count_or_until_a_row_leaves(
    windows: LastRows, rows: list[Row], expected: list[tuple[int, ...]]
) -> None:
    """IB-30."""
    trace = Trace(windows).rows(*rows)
    assert [computed.rows for computed in trace.computed] == expected


@pytest.mark.parametrize("windows", [last(2), last(delta("v", 1)), last(elapsed(2))], ids=["count", "delta", "time"])
def test_windows_are_full_for_the_first_time_once(windows: LastRows) -> None:
    """IB-30."""
    times = range(1, 8)
    rows = valued(*times) if windows.reads else at(*times)
    assert Trace(windows).rows(*rows).lines.count("full") == 1


AGE = delta("age", 2)
COUNT_5 = {"policy": "count", "size": 5}
AGE_2 = {"policy": "delta", "attribute": "age", "size": 2}
TIME_8 = {"policy": "elapsed", "length": 8}
TIME_2 = {"policy": "elapsed", "length": 2}
CONFIGURATIONS: Final[dict[str, tuple[RowWindows, tuple[dict[str, Any], ...]]]] = {
    "tumbling, count(5)": (batch(5), (COUNT_5,)),
    "tumbling, punct()": (batch(marker("p")), ({"policy": "marker", "condition": "p"},)),
    "tumbling, delta(age,2)": (batch(AGE), (AGE_2,)),
    "tumbling, time(8)": (batch(elapsed(8)), (TIME_8,)),
    "sliding, count(5), count(2)": (last(5).trigger(2), (COUNT_5, COUNT_5 | {"size": 2})),
    "sliding, count(5), delta(age,2)": (last(5).trigger(AGE), (COUNT_5, AGE_2)),
    "sliding, delta(age,2), count(5)": (last(AGE).trigger(5), (AGE_2, COUNT_5)),
    "sliding, delta(age,2), delta(age,0)": (last(AGE).trigger(delta("age", 0)), (AGE_2, AGE_2 | {"size": 0})),
    "sliding, delta(age,2), time(2)": (last(AGE).trigger(elapsed(2)), (AGE_2, TIME_2)),
    "sliding, time(8), count(5)": (last(elapsed(8)).trigger(5), (TIME_8, COUNT_5)),
    "sliding, time(8), delta(age,2)": (last(elapsed(8)).trigger(AGE), (TIME_8, AGE_2)),
    "sliding, time(8), time(2)": (last(elapsed(8)).trigger(elapsed(2)), (TIME_8, TIME_2)),
}
"""By the text of the document: windows as calls make them, and the data of their policies: eviction, then trigger."""


def test_the_document_has_twelve_different_configurations() -> None:
    assert len({str(windows) for windows, _ in CONFIGURATIONS.values()}) == 12


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_of_the_document_is_made_by_calls_and_from_data_and_computes_windows(name: str) -> None:
    """IB-36, IB-38: the examples construct, also from a declarative specification, and run."""
    windows, policies = CONFIGURATIONS[name]

    is_tumbling = name.startswith("tumbling")
    fields = dict(zip(("evicts", "triggers"), policies, strict=False))
    assert from_dict({"kind": "batch" if is_tumbling else "last", **fields}) == windows
    assert from_dict(windows.to_dict()) == windows

    rows = []
    for number in range(1, 30):
        value = False if "punct" in name else number  # no row is a marker; the end of the stream ends the batch
        rows.append(Row(number, number, (value,) * len(windows.reads)))
    assert Trace(windows).rows(*rows).close().computed


def test_a_state_goes_on_after_a_checkpoint() -> None:
    """IB-37: drain, checkpoint, reset."""
    windows = last(3).trigger(2)
    straight = Trace(windows).counted(1, 2, 3, 4, 5)
    restarted = Trace(windows).counted(1, 2, 3).restart().counted(4, 5)
    assert restarted.lines == straight.lines


def test_a_state_is_empty_at_first_and_when_all_rows_have_left() -> None:
    """So that a key which holds nothing is forgotten."""
    windows = batch(2)
    assert windows.is_empty(windows.create_state())
    assert not windows.is_empty(Trace(windows).counted(1).state)
    assert windows.is_empty(Trace(windows).counted(1, 2).state)


def test_a_number_is_a_policy_by_count_and_a_text_one_by_time_in_microseconds() -> None:
    assert last("5 minutes").trigger("1 minute").policies == (ElapsedPolicy(300_000_000), ElapsedPolicy(60_000_000))
    assert last(5).trigger(2).policies == (CountPolicy(5), CountPolicy(2))


def test_last_without_arguments_is_the_last_row_at_each_row() -> None:
    assert last().policies == (CountPolicy(1), CountPolicy(1))
