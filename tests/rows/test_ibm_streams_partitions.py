"""The windows of IBM Streams 4.2: partitions, their eviction, events and configurations, as traces.

Rows are numbered 1, 2, 3, ... as in `test_ibm_streams`.
"""

from __future__ import annotations

from typing import Any

import pytest

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
from tests.rows.tracing import LETTERED, Trace, trace


def test_rows_without_a_partition_share_the_default_one() -> None:
    """IB-20."""
    found = trace(last(2)).counted(1, 2)
    assert {computed.partition for computed in found.computed} == {0}
    assert list(found.state.partitions) == [0]


def test_the_types_of_rows_and_partitions_are_free() -> None:
    """IB-19: an attribute of any type that subtracts, a partition of any type that tells apart."""
    from decimal import Decimal

    rows = [Row(1, 1, (("x", 1), Decimal("0.1"))), Row(2, 2, (("x", 1), Decimal("0.2"))), Row(3, 3, (None, Decimal(9)))]
    found = trace(last(delta("v", 0)).partition("p")).rows(*rows)
    assert [(computed.partition, computed.rows) for computed in found.computed] == [
        *(((("x", 1)), (1,)), (("x", 1), (2,)), (None, (3,))),
    ]


def test_a_partition_without_an_insertion_for_so_long_is_removed() -> None:
    """IB-21, IB-27: when its time comes, and what it held is told before."""
    windows = last(9).trigger(100).partition("letter", age=5)
    found = trace(windows).rows(Row(1, 1, ("a",)), Row(2, 2, ("b",)), Row(3, 4, ("a",)))
    assert found.advance(6).lines[3:] == []
    assert found.advance(7).lines[3:] == ["b: remove 2"]
    assert found.advance(9).lines[4:] == ["a: remove 1,3"]
    assert found.state.count == 0


def test_a_partition_that_is_too_old_may_wait_for_the_next_insertion() -> None:
    """IB-21, IB-25: to the letter of the document."""
    windows = last(9).trigger(100).partition("letter", age=5, on_insertion=True)
    found = trace(windows).rows(Row(1, 1, ("a",))).advance(100)
    assert found.lines == ["a: insert 1"]
    assert found.rows(Row(2, 101, ("b",))).lines[1:] == ["b: insert 2", "a: remove 1"]


def test_partitions_are_removed_until_there_are_so_many_the_least_recently_used_first() -> None:
    """IB-22, IB-24, IB-25."""
    rows = [Row(number, number, (letter,)) for number, letter in enumerate("abacb", 1)]
    assert trace(last(9).trigger(100).partition("letter", most=2)).rows(*rows).lines == [
        *("a: insert 1", "b: insert 2", "a: insert 3"),
        *("c: insert 4", "b: remove 2"),
        *("b: insert 5", "a: remove 1,3"),
    ]


def test_partitions_are_removed_until_they_hold_so_many_rows() -> None:
    """IB-23: whole partitions, even the one that just got a row."""
    rows = [Row(number, number, (letter,)) for number, letter in enumerate("aabbb", 1)]
    assert trace(batch(9).partition("letter", most_rows=2)).rows(*rows).lines == [
        *("a: insert 1", "a: insert 2"),
        *("b: insert 3", "a: remove 1,2"),
        *("b: insert 4", "b: insert 5", "b: remove 3,4,5"),
    ]


class AllEmptyAndOne(LastRows):
    """The handler of the document: all old empty partitions, and one that is not empty."""

    __slots__ = ()
    name = "test.all_empty_and_one"

    def select_partitions(self, partitions: Any) -> list[Any]:
        chosen = []
        for view in partitions:
            assert isinstance(view, PartitionView)
            chosen.append(view.partition)
            if view.rows:
                break
        return chosen


def test_a_class_of_ones_own_selects_the_partitions_to_remove() -> None:
    """IB-24, IB-26: asked again while there are too many."""
    windows = AllEmptyAndOne(elapsed(1), CountPolicy(100), partitions=Partitions("letter", most=3))
    rows = [Row(1, 1, ("a",)), Row(2, 2, ("b",)), Row(3, 9, ("c",)), Row(4, 9, ("d",))]
    found = trace(windows).rows(*rows)
    assert found.lines[-4:] == ["d: insert 4", "a: remove", "b: remove", "c: remove 3"]
    assert list(found.state.partitions) == ["d"]


def test_a_class_of_ones_own_selects_too_when_a_partition_is_too_old() -> None:
    """IB-21, IB-24, IB-26: asked again until none is too old; here when time comes, and at an insertion.

    a 1 leaves by time at 4; at 11 a is too old, and the handler takes a, which is empty, and b with its row
    """
    for on_insertion in (False, True):
        by = Partitions("letter", age=10, on_insertion=on_insertion)
        windows = AllEmptyAndOne(elapsed(2), CountPolicy(100), partitions=by)
        found = trace(windows).rows(Row(1, 1, ("a",)), Row(2, 9, ("b",)), Row(3, 9, ("c",)), Row(4, 11, ("d",)))
        removed = ["a: remove", "b: remove 2"]
        assert found.lines[-3:] == (["d: insert 4", *removed] if on_insertion else [*removed, "d: insert 4"])
        assert list(found.state.partitions) == ["c", "d"]


def test_a_selection_of_nothing_is_refused() -> None:
    """IB-26: it would be asked for ever."""

    class Nothing(LastRows):
        __slots__ = ()

        def select_partitions(self, partitions: Any) -> list[Any]:
            return []

    with pytest.raises(WindowError, match=r"Nothing\.select_partitions returned"):
        trace(Nothing(CountPolicy(2), partitions=Partitions("letter", most=1))).rows(
            Row(1, 1, ("a",)), Row(2, 2, ("b",))
        )


def test_insertions_evictions_triggers_and_flushes_are_told_one_by_one() -> None:
    """IB-28, IB-29, IB-30: what comes before an action sees the rows without it, what comes after it with it."""
    found = trace(last(1).trigger(2)).counted(1, 2)
    assert found.lines == ["insert 1", "full", "evict 1", "insert 2", "trigger 2"]


def test_a_marker_without_rows_is_told_and_computes_an_empty_window_if_that_is_wanted() -> None:
    """IB-29."""
    assert trace(batch(marker("m"))).valued(True, False, True, True).lines == ["empty", "insert 2", "flush 2", "empty"]
    shown = trace(batch(marker("m")).with_empty()).valued(True)
    assert shown.lines == ["empty", "flush"]
    assert shown.computed[0].rows == ()


def test_triggers_before_a_window_is_full_for_the_first_time_can_be_left_out() -> None:
    """IB-30: by count, and by what leaves for the first time."""
    by_count = trace(last(3).when_full()).counted(1, 2, 3, 4)
    assert [computed.rows for computed in by_count.computed] == [(1, 2, 3), (2, 3, 4)]
    by_time = trace(last(elapsed(2)).when_full()).rows(Row(1, 1), Row(2, 2), Row(3, 4), Row(4, 5))
    assert [computed.rows for computed in by_time.computed] == [(2, 3), (3, 4)]
    by_delta = trace(last(delta("v", 1)).when_full()).valued(1, 2, 3, 4)
    assert [computed.rows for computed in by_delta.computed] == [(2, 3), (3, 4)]


def test_a_window_is_full_for_the_first_time_only_once() -> None:
    """IB-30."""
    for windows in (last(2), last(delta("v", 1)), last(elapsed(2))):
        found = trace(windows)
        for number in range(1, 8):
            found.rows(Row(number, number, (number,) * len(windows.reads)))
        assert found.lines.count("full") == 1, windows


def test_the_rows_of_all_partitions_are_there_to_look_at() -> None:
    """IB-33."""
    found = trace(last(2).partition("letter")).rows(*LETTERED)
    assert {name: list(held.rows) for name, held in found.state.partitions.items()} == {"a": [11, 13], "b": [9, 10]}


CONFIGURATIONS: dict[str, tuple[RowWindows, dict[str, Any]]] = {
    "tumbling, count(5)": (batch(5), {"evicts": {"policy": "count", "size": 5}}),
    "tumbling, punct()": (batch(marker("p")), {"evicts": {"policy": "marker", "condition": "p"}}),
    "tumbling, delta(age,2)": (batch(delta("age", 2)), {"evicts": {"policy": "delta", "attribute": "age", "size": 2}}),
    "tumbling, time(8)": (batch(elapsed(8)), {"evicts": {"policy": "elapsed", "length": 8}}),
    "sliding, count(5), count(2)": (
        last(5).trigger(2),
        {"evicts": {"policy": "count", "size": 5}, "triggers": {"policy": "count", "size": 2}},
    ),
    "sliding, count(5), delta(age,2)": (
        last(5).trigger(delta("age", 2)),
        {
            "evicts": {"policy": "count", "size": 5},
            "triggers": {"policy": "delta", "attribute": "age", "size": 2},
        },
    ),
    "sliding, delta(age,2), count(5)": (
        last(delta("age", 2)).trigger(5),
        {
            "evicts": {"policy": "delta", "attribute": "age", "size": 2},
            "triggers": {"policy": "count", "size": 5},
        },
    ),
    "sliding, delta(age,2), delta(age,0)": (
        last(delta("age", 2)).trigger(delta("age", 0)),
        {
            "evicts": {"policy": "delta", "attribute": "age", "size": 2},
            "triggers": {"policy": "delta", "attribute": "age", "size": 0},
        },
    ),
    "sliding, delta(age,2), time(2)": (
        last(delta("age", 2)).trigger(elapsed(2)),
        {
            "evicts": {"policy": "delta", "attribute": "age", "size": 2},
            "triggers": {"policy": "elapsed", "length": 2},
        },
    ),
    "sliding, time(8), count(5)": (
        last(elapsed(8)).trigger(5),
        {"evicts": {"policy": "elapsed", "length": 8}, "triggers": {"policy": "count", "size": 5}},
    ),
    "sliding, time(8), delta(age,2)": (
        last(elapsed(8)).trigger(delta("age", 2)),
        {
            "evicts": {"policy": "elapsed", "length": 8},
            "triggers": {"policy": "delta", "attribute": "age", "size": 2},
        },
    ),
    "sliding, time(8), time(2)": (
        last(elapsed(8)).trigger(elapsed(2)),
        {"evicts": {"policy": "elapsed", "length": 8}, "triggers": {"policy": "elapsed", "length": 2}},
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_configurations_of_the_document_are_made_by_calls_and_from_data(name: str) -> None:
    """IB-36, IB-38: the twelve examples construct, also from a declarative specification, and run."""
    from muntin.named_windows import from_dict

    windows, data = CONFIGURATIONS[name]
    kind = "batch" if name.startswith("tumbling") else "last"
    made = from_dict({"kind": kind, **data})
    assert made == windows
    assert from_dict(windows.to_dict()) == windows
    reads = len(windows.reads)
    rows = [Row(number, number, (False if "punct" in name else number,) * reads) for number in range(1, 30)]
    assert Trace(windows).rows(*rows).close().computed


def test_there_are_twelve_configurations() -> None:
    """IB-38."""
    assert len(CONFIGURATIONS) == 12
    assert len({str(windows) for windows, _ in CONFIGURATIONS.values()}) == 12


def test_a_state_goes_on_after_a_checkpoint_and_a_key_that_holds_nothing_is_forgotten() -> None:
    """IB-37: drain, checkpoint, reset."""
    held = trace(last(3).trigger(2)).counted(1, 2, 3).restart().counted(4, 5)
    assert held.lines == trace(last(3).trigger(2)).counted(1, 2, 3, 4, 5).lines
    windows = batch(2)
    assert not windows.is_empty(trace(windows).counted(1).state)
    assert windows.is_empty(trace(windows).counted(1, 2).state)
    assert windows.is_empty(windows.create_state())


def test_policies_keep_what_they_were_given() -> None:
    assert last("5 minutes").trigger("1 minute").policies == (ElapsedPolicy(300_000_000), ElapsedPolicy(60_000_000))
    assert last().policies == (CountPolicy(1), CountPolicy(1))
