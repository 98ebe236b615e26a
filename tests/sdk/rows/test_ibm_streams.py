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
    DeltaPolicy,
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
from tests.sdk.rows.tracing import LETTERED, Computed, Trace, trace
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


class AllEmptyAndOne(LastRows):
    """The handler of the document: all old empty partitions, and one that is not empty."""

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
    """Return windows of a time whose partitions, beyond the limits, are selected by `AllEmptyAndOne`."""
    return AllEmptyAndOne(elapsed(length), CountPolicy(100), partitions=Partitions("letter", **limits))


E = elapsed
D = delta
AGE = delta("age", 2)
LEFT = last(9).trigger(100)
"""Windows that never evict or trigger here: rows leave with their partitions alone."""
TWO: Final = timed((1, 1.0), (2, 4.0))
"""Two rows: the second comes a tick later, and is larger by 3."""
MARKED: Final = valued_twice(("a", False), ("b", False), ("a", True), ("b", False))
"""Rows of two partitions, the third of which is a marker."""
OLD: Final = timed((1, "a"), (9, "b"), (9, "c"), (11, "d"))
"""Rows of four partitions; the first is ten ticks old when the last one comes."""
TRACES = """
IB-01, IB-06: tumbling rows leave all at once
    batch(2); at(1, 2, 3)
    insert 1, insert 2, flush 1,2, insert 3
IB-03, IB-08: count 4 and count 2
    last(4).trigger(2); at(*range(1, 8))
    insert 1, insert 2, trigger 1,2, insert 3, insert 4, full, trigger 1,2,3,4, evict 1, insert 5, evict 2, insert
    6, trigger 3,4,5,6, evict 3, insert 7
IB-09: strictly larger, from the oldest row; the new row is not flushed
    batch(AGE); valued(10, 12, 11, 13, 15, 16)
    insert 1, insert 2, insert 3, flush 1,2,3, insert 4, insert 5, flush 4,5, insert 6
IB-10: an attribute that goes back and forth is not first in, first out
    last(AGE).trigger(100); valued(5, 3, 6, 7, 8)
    insert 1, insert 2, full, evict 2, insert 3, insert 4, evict 1, insert 5
IB-11: from the attribute of the row that triggered last, without the new row
    last(3).trigger(AGE); valued(10, 12, 13, 15, 16)
    insert 1, insert 2, trigger 1,2, insert 3, full, evict 1, insert 4, trigger 2,3,4, evict 2, insert 5
IB-11: the first delta counts from what is said
    last(9).trigger(D("age", 2, start=0)); valued(1, 3, 5)
    insert 1, trigger 1, insert 2, insert 3
IB-11: or from the first row
    last(9).trigger(AGE); valued(1, 3, 4)
    insert 1, insert 2, trigger 1,2, insert 3
IB-12: a row at the very tick belongs to the next window
    batch(E(10)); [*at(3, 9, 10), 19, 20]
    insert 1, insert 2, flush 1,2, insert 3 | | flush 3
IB-13: those leave that are there for longer than the time
    last(E(10)).trigger(100); [*at(3, 3, 7), 13, 14, 18]
    insert 1, insert 2, insert 3 | | full, evict 1,2 | evict 3
IB-14: every period, whatever leaves
    last(2).trigger(E(5)); [*at(1, 2, 3), 16]
    insert 1, insert 2, full, evict 1, insert 3 | trigger 2,3, trigger 2,3, trigger 2,3
IB-15: a marker flushes and is no member
    batch(marker("m")); valued(False, False, True, False)
    insert 1, insert 2, flush 1,2, insert 4
IB-15, IB-20: a marker flushes all partitions
    batch(marker("m")).partition("letter"); MARKED
    a: insert 1, b: insert 2, a: flush 1, b: flush 2, b: insert 4
IB-17, count: insert, evict
    batch(2); at(1, 2, 7)
    insert 1, insert 2, flush 1,2, insert 3
IB-17, delta: evict, insert
    batch(D("v", 2)); timed((1, 1.0), (2, 4.0), (7, 9.0))
    insert 1, flush 1, insert 2, flush 2, insert 3
IB-17, time: evict by itself
    batch(E(5)); at(1, 2, 7)
    insert 1, insert 2, flush 1,2, insert 3
IB-17, marker: evict at a marker
    batch(marker("v > 8")); timed((1, False), (2, False), (7, True))
    insert 1, insert 2, flush 1,2
IB-18, count, count
    last(1).trigger(1); [*TWO, 7]
    insert 1, full, trigger 1, evict 1, insert 2, trigger 2 |
IB-18, count, delta
    last(1).trigger(D("v", 2)); [*TWO, 7]
    insert 1, full, trigger 1, evict 1, insert 2 |
IB-18, count, time
    last(1).trigger(E(2)); [*TWO, 7]
    insert 1, full, trigger 1, evict 1, insert 2 | trigger 2, trigger 2
IB-18, delta, count
    last(D("v", 2)).trigger(1); [*TWO, 7]
    insert 1, trigger 1, full, evict 1, insert 2, trigger 2 |
IB-18, delta, delta
    last(D("v", 2)).trigger(D("v", 2)); [*TWO, 7]
    insert 1, trigger 1, full, evict 1, insert 2 |
IB-18, delta, time
    last(D("v", 2)).trigger(E(2)); [*TWO, 7]
    insert 1, trigger 1, full, evict 1, insert 2 | trigger 2, trigger 2
IB-18, time, count
    last(E(4)).trigger(1); [*TWO, 7]
    insert 1, trigger 1, insert 2, trigger 1,2 | full, evict 1, evict 2
IB-18, time, delta
    last(E(4)).trigger(D("v", 2)); [*TWO, 7]
    insert 1, trigger 1, insert 2 | full, evict 1, evict 2
IB-18, time, time
    last(E(4)).trigger(E(2)); [*TWO, 7]
    insert 1, trigger 1, insert 2 | trigger 1,2, full, evict 1, trigger 2, evict 2
IB-13, IB-14, IB-18: time before the row at that tick, and eviction before the trigger
    last(E(3)).trigger(E(4)); at(0, 1, 4)
    insert 1, insert 2, full, evict 1, trigger 2, insert 3
IB-21, IB-27: a partition without an insertion for so long is removed
    LEFT.partition("letter", age=5); [*timed((1, "a"), (2, "b"), (4, "a")), 6, 7, 9]
    a: insert 1, b: insert 2, a: insert 3 | | b: remove 2 | a: remove 1,3
IB-21, IB-25: or waits for the next insertion
    LEFT.partition("letter", age=5, on_insertion=True); [Row(1, 1, ("a",)), 100, Row(2, 101, ("b",))]
    a: insert 1 | b: insert 2, a: remove 1
IB-22, IB-24, IB-25: until there are so many, the least recently used first
    LEFT.partition("letter", most=2); valued(*"abacb")
    a: insert 1, b: insert 2, a: insert 3, c: insert 4, b: remove 2, b: insert 5, a: remove 1,3
IB-23: until they hold so many rows, even the one that just got a row
    batch(9).partition("letter", most_rows=2); valued(*"aabbb")
    a: insert 1, a: insert 2, b: insert 3, a: remove 1,2, b: insert 4, b: insert 5, b: remove 3,4,5
IB-24, IB-26: a class of one's own selects, while there are too many
    emptying(1, most=3); timed((1, "a"), (2, "b"), (9, "c"), (9, "d"))
    a: insert 1, b: insert 2, a: full, a: evict 1, b: full, b: evict 2, c: insert 3, d: insert 4, a: remove, b:
    remove, c: remove 3
IB-21, IB-24, IB-26: or until none is too old, when time comes
    emptying(2, age=10); OLD
    a: insert 1, a: full, a: evict 1, b: insert 2, c: insert 3, a: remove, b: remove 2, d: insert 4
IB-21, IB-24, IB-26: or at an insertion
    emptying(2, age=10, on_insertion=True); OLD
    a: insert 1, a: full, a: evict 1, b: insert 2, c: insert 3, d: insert 4, a: remove, b: remove 2
IB-28, IB-29, IB-30: told one by one
    last(1).trigger(2); at(1, 2)
    insert 1, full, evict 1, insert 2, trigger 2
IB-29: a marker without rows is told
    batch(marker("m")); valued(True, False, True, True)
    empty, insert 2, flush 2, empty
a batch that is not full is flushed some time after its first row
    batch(3, within=5); [*at(1, 2, 6, 8), 21]
    insert 1, insert 2, flush 1,2, insert 3, insert 4 | flush 3,4
"""
STATEMENTS: Final = dict(entries(TRACES))
"""Windows and rows, and what is done, by what the document says."""


@pytest.mark.parametrize("statement", STATEMENTS)
def test_windows_do_what_the_document_says(statement: str) -> None:
    call, *expected_lines = STATEMENTS[statement].splitlines()
    windows_text, steps_text = call.split("; ")
    windows: RowWindows = eval(windows_text)
    steps: list[Row | int] = eval(steps_text)  # rows, and ticks to which time comes without a row

    traced = trace(windows)
    text = ""
    for step in steps:
        previous_lines = len(traced.lines)
        if isinstance(step, int):
            traced.advance(step)
            text += f" | {', '.join(traced.lines[previous_lines:])}"
        else:
            row = step if windows.reads else step._replace(values=())
            text += "".join(f", {line}" for line in traced.rows(row).lines[previous_lines:])

    assert text.replace("| ,", "|").removeprefix(", ").split() == " ".join(expected_lines).split()


def contents(windows: RowWindows, rows: list[Row], partition: object = 0) -> str:
    """The rows of a partition after each row that came to it, newest first, as the document writes them."""
    traced = trace(windows)
    members_after_rows = list[tuple[int, ...]]()
    for row in rows:
        previous_lines = len(traced.lines)
        traced.rows(row)
        if windows.partition_by is not None and row.values[0] != partition:
            continue
        if any("flush" in line for line in traced.lines[previous_lines:]):
            members_after_rows.append(tuple(reversed(traced.computed[-1].rows)))
        members_after_rows.append(tuple(reversed(traced.members[partition])))
    return " / ".join(" ".join(map(str, numbers)) for numbers in members_after_rows)


def test_the_sequences_of_the_document() -> None:
    """IB-01, IB-02, IB-04, IB-06, IB-07: count 4, tumbling and sliding, without partitions and with them."""
    assert contents(batch(4), at(*range(6))) == "1 / 2 1 / 3 2 1 / 4 3 2 1 /  / 5 / 6 5"
    assert contents(last(4), at(*range(6))) == "1 / 2 1 / 3 2 1 / 4 3 2 1 / 5 4 3 2 / 6 5 4 3"
    tumbling = batch(4).partition("letter")
    sliding = last(4).partition("letter")
    assert contents(tumbling, LETTERED, "a") == "1 / 3 1 / 7 3 1 / 8 7 3 1 /  / 11 / 13 11"
    assert contents(tumbling, LETTERED, "b") == "2 / 4 2 / 5 4 2 / 6 5 4 2 /  / 9 / 10 9"
    assert contents(sliding, LETTERED, "a") == "1 / 3 1 / 7 3 1 / 8 7 3 1 / 11 8 7 3 / 13 11 8 7"
    assert contents(sliding, LETTERED, "b") == "2 / 4 2 / 5 4 2 / 6 5 4 2 / 9 6 5 4 / 10 9 6 5"
    flushed = trace(tumbling).rows(*LETTERED).computed
    assert flushed == [Computed(Window(2, 7), "b", (2, 4, 5, 6)), Computed(Window(1, 9), "a", (1, 3, 7, 8))]


def test_a_flushed_partition_is_gone_and_a_sliding_one_by_count_or_delta_never_empty_again() -> None:
    """IB-05; and IB-33: the rows of all partitions are there to look at."""
    assert list(trace(batch(2).partition("letter")).rows(*LETTERED[:3]).state.partitions) == ["b"]

    for windows in (last(2), last(delta("value", 1))):
        traced = trace(windows)
        for row in valued(0, 5, 1, 90, -50):
            traced.rows(row if isinstance(windows.evicts, DeltaPolicy) else row._replace(values=()))
            assert traced.state.count > 0

    partitions = trace(last(2).partition("letter")).rows(*LETTERED).state.partitions
    assert {name: list(window.rows) for name, window in partitions.items()} == {"a": [11, 13], "b": [9, 10]}
    assert list(trace(last(2)).counted(1, 2).state.partitions) == [0], "IB-20: the default one"


def test_a_row_without_the_attribute_evicts_nothing_and_leaves_with_the_row_before_it() -> None:
    """The document has no nulls. At first, where none is before, it leaves with the first row that has the attribute.

    value     null  1  null  5  null  9  20
    counts as    1  1     1  5     5  9  20
    """
    traced = trace(last(delta("age", 4))).valued(None, 1, math.nan, 5, None, 9, 20)
    assert [computed.rows for computed in traced.computed] == [
        *((1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5)),
        *((4, 5, 6), (7,)),
    ]


def test_windows_that_time_computes_have_its_extents() -> None:
    """IB-12, IB-14: at multiples of the period; and both, on the axis, where a batch is full or overdue.

    time   1 2      6    8 9 10   14 16
    batch  [--------)             [-----
                    [-----------)          the row at 6 is not in the first, and fills the second with those at 8 and 9
                              [---------)  10 and 14
    """
    by_time = trace(batch(elapsed(10))).rows(*at(3, 9, 10)).advance(20).computed
    assert by_time == [Computed(Window(0, 10), 0, (1, 2)), Computed(Window(10, 20), 0, (3,))]
    triggered = trace(last(2).trigger(elapsed(5))).rows(*at(1, 2, 3)).advance(16).computed
    assert triggered == [Computed(Window(2, end), 0, (2, 3)) for end in (5, 10, 15)]
    traced = trace(batch(3, within=5)).rows(*at(1, 2, 6, 8, 9, 10, 14, 16))
    assert traced.computed == [
        Computed(Window(1, 6), 0, (1, 2)),
        Computed(Window(6, 10), 0, (3, 4, 5)),
        Computed(Window(10, 15), 0, (6, 7)),
    ]
    assert traced.restart().advance(20).lines[-1] == "insert 8"
    assert traced.advance(21).computed[-1] == Computed(Window(16, 21), 0, (8,))
    assert batch(3, within=5).least_events == 1


def test_policies_of_time_have_no_thread_of_their_own() -> None:
    """IB-34: where IBM's windows need up to two threads and a lock, time is data here, and windows are called."""
    thread_count = threading.active_count()
    trace(last(elapsed(10)).trigger(elapsed(5))).rows(*at(3, 9)).advance(30)
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
        lambda: trace(SelectsNothing(CountPolicy(2), partitions=Partitions("letter", most=1))).rows(*valued("a", "b")),
        r"SelectsNothing\.select_partitions returned",
    ),
}


@pytest.mark.parametrize("statement", REFUSALS)
def test_windows_without_a_meaning_are_refused_with_the_reason(statement: str) -> None:
    make_windows, message = REFUSALS[statement]
    with pytest.raises(WindowError, match=message):
        make_windows()


def test_the_types_of_rows_and_partitions_are_free() -> None:
    """IB-19: an attribute of any type that subtracts, a partition of any type that tells apart."""
    rows = [Row(1, 1, (("x", 1), Decimal("0.1"))), Row(2, 2, (("x", 1), Decimal("0.2"))), Row(3, 3, (None, Decimal(9)))]
    traced = trace(last(delta("v", 0)).partition("p")).rows(*rows)
    assert [(computed.partition, computed.rows) for computed in traced.computed] == [
        (("x", 1), (1,)),
        (("x", 1), (2,)),
        (None, (3,)),
    ]


def test_windows_may_be_empty_or_wait_until_they_are_full_for_the_first_time_which_they_are_once() -> None:
    """IB-29, IB-30: by count, and by what leaves for the first time."""
    empty_batch = trace(batch(marker("m")).with_empty()).valued(True)
    assert empty_batch.lines == ["empty", "flush"]
    assert empty_batch.computed[0].rows == ()

    by_count = trace(last(3).when_full()).counted(1, 2, 3, 4)
    assert [computed.rows for computed in by_count.computed] == [(1, 2, 3), (2, 3, 4)]
    by_time = trace(last(elapsed(2)).when_full()).rows(*at(1, 2, 4, 5))
    assert [computed.rows for computed in by_time.computed] == [(2, 3), (3, 4)]
    by_difference = trace(last(delta("v", 1)).when_full()).valued(1, 2, 3, 4)
    assert [computed.rows for computed in by_difference.computed] == [(2, 3), (3, 4)]

    for windows in (last(2), last(delta("v", 1)), last(elapsed(2))):
        rows = [Row(number, number, (number,) * len(windows.reads)) for number in range(1, 8)]
        assert trace(windows).rows(*rows).lines.count("full") == 1, windows


COUNT = {"policy": "count"}
AGES = {"policy": "delta", "attribute": "age"}
TIME = {"policy": "elapsed"}
FIVE = COUNT | {"size": 5}
TWOS = AGES | {"size": 2}
EIGHT = TIME | {"length": 8}
SHORT = TIME | {"length": 2}
CONFIGURATIONS: Final[dict[str, tuple[RowWindows, tuple[dict[str, Any], ...]]]] = {
    "tumbling, count(5)": (batch(5), (FIVE,)),
    "tumbling, punct()": (batch(marker("p")), ({"policy": "marker", "condition": "p"},)),
    "tumbling, delta(age,2)": (batch(AGE), (TWOS,)),
    "tumbling, time(8)": (batch(E(8)), (EIGHT,)),
    "sliding, count(5), count(2)": (last(5).trigger(2), (FIVE, COUNT | {"size": 2})),
    "sliding, count(5), delta(age,2)": (last(5).trigger(AGE), (FIVE, TWOS)),
    "sliding, delta(age,2), count(5)": (last(AGE).trigger(5), (TWOS, FIVE)),
    "sliding, delta(age,2), delta(age,0)": (last(AGE).trigger(D("age", 0)), (TWOS, AGES | {"size": 0})),
    "sliding, delta(age,2), time(2)": (last(AGE).trigger(E(2)), (TWOS, SHORT)),
    "sliding, time(8), count(5)": (last(E(8)).trigger(5), (EIGHT, FIVE)),
    "sliding, time(8), delta(age,2)": (last(E(8)).trigger(AGE), (EIGHT, TWOS)),
    "sliding, time(8), time(2)": (last(E(8)).trigger(E(2)), (EIGHT, SHORT)),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_twelve_configurations_of_the_document_are_made_by_calls_and_from_data(name: str) -> None:
    """IB-36, IB-38: the examples construct, also from a declarative specification, and run."""
    windows, policies = CONFIGURATIONS[name]
    kind = "batch" if name.startswith("tumbling") else "last"
    assert from_dict({"kind": kind, **dict(zip(("evicts", "triggers"), policies, strict=False))}) == windows
    assert from_dict(windows.to_dict()) == windows
    rows = []
    for number in range(1, 30):
        value = False if "punct" in name else number
        rows.append(Row(number, number, (value,) * len(windows.reads)))
    assert Trace(windows).rows(*rows).close().computed
    assert len({str(windows) for windows, _ in CONFIGURATIONS.values()}) == 12


def test_a_state_goes_on_after_a_checkpoint_and_a_key_that_holds_nothing_is_forgotten() -> None:
    """IB-37: drain, checkpoint, reset."""
    restarted = trace(last(3).trigger(2)).counted(1, 2, 3).restart().counted(4, 5)
    assert restarted.lines == trace(last(3).trigger(2)).counted(1, 2, 3, 4, 5).lines

    windows = batch(2)
    assert not windows.is_empty(trace(windows).counted(1).state)
    assert windows.is_empty(trace(windows).counted(1, 2).state)
    assert windows.is_empty(windows.create_state())


def test_policies_are_of_counts_or_of_lengths_of_time() -> None:
    assert last("5 minutes").trigger("1 minute").policies == (ElapsedPolicy(300_000_000), ElapsedPolicy(60_000_000))
    assert last().policies == (CountPolicy(1), CountPolicy(1))
