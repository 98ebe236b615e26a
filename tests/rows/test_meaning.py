"""The automata of row windows against their definition, on random rows; and what makes no difference."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin.errors import WindowError
from muntin.named_windows import from_dict, to_dict
from muntin.rows import ActionKind, PartitionedRows, Row, batch, last, on_row
from tests.rows.meaning import computed
from tests.rows.random_rows import BY, LIMITED, bounded_by_rows, rows_for, sliding, tumbling
from tests.rows.tracing import Trace

SETTINGS = settings(max_examples=60, derandomize=True, database=None, deadline=None)


def agrees(windows: PartitionedRows, data: st.DataObject) -> int:
    rows = data.draw(rows_for(windows))
    tick = (rows[-1].time if rows else 0) + data.draw(st.integers(0, 12))
    found = Trace(windows).rows(*rows).advance(tick)
    wanted = computed(windows, rows, tick)
    assert sorted(found.computed, key=repr) == sorted(wanted, key=repr)
    return len(wanted)


@SETTINGS
@given(sliding(), st.data())
def test_sliding_windows_hold_what_their_definition_says(windows: PartitionedRows, data: st.DataObject) -> None:
    agrees(windows, data)


@SETTINGS
@given(tumbling(), st.data())
def test_tumbling_windows_hold_what_their_definition_says(windows: PartitionedRows, data: st.DataObject) -> None:
    agrees(windows, data)


def test_the_random_windows_are_computed() -> None:
    counts: list[int] = []

    @SETTINGS
    @given(st.one_of(sliding(), tumbling()), st.data())
    def count(windows: PartitionedRows, data: st.DataObject) -> None:
        counts.append(agrees(windows, data))

    count()
    assert sum(counts) > 200


EITHER = st.one_of(BY, LIMITED)
ANY = st.one_of(sliding(EITHER), tumbling(EITHER), bounded_by_rows(EITHER))


@SETTINGS
@given(ANY, st.data())
def test_restarts_make_no_difference(windows: PartitionedRows, data: st.DataObject) -> None:
    rows = data.draw(rows_for(windows))
    straight, restarted = Trace(windows).rows(*rows).close(), Trace(windows)
    for row in rows:
        restarted.restart().rows(row)
    assert restarted.restart().close().lines == straight.lines


@SETTINGS
@given(ANY, st.data())
def test_it_makes_no_difference_how_time_comes(windows: PartitionedRows, data: st.DataObject) -> None:
    rows = data.draw(rows_for(windows))
    straight, stepwise = Trace(windows).rows(*rows), Trace(windows)
    for row in rows:
        while (tick := windows.next_tick(stepwise.state)) <= row.time:
            stepwise.advance(tick)
            assert windows.next_tick(stepwise.state) > tick
        stepwise.advance(row.time).rows(row)
    assert stepwise.lines == straight.lines


@SETTINGS
@given(ANY, st.data())
def test_windows_are_never_computed_before_what_they_hold_nor_before_what_was_computed(
    windows: PartitionedRows, data: st.DataObject
) -> None:
    rows = data.draw(rows_for(windows))
    times = {row.number: row.time for row in rows}
    ends: dict[Hashable, list[int]] = {}
    for one in Trace(windows).rows(*rows).close().computed:
        assert all(one.window.start <= times[number] < one.window.end for number in one.rows)
        assert one.rows == tuple(sorted(one.rows))
        ends.setdefault(one.partition, []).append(one.window.end)
    # at one time a window that ends with a row ends a tick later than one of another partition that ends before a row
    assert all(later >= earlier for of_partition in ends.values() for earlier, later in pairwise(of_partition))


@SETTINGS
@given(ANY, st.data())
def test_partitions_stay_within_their_limits(windows: PartitionedRows, data: st.DataObject) -> None:
    found, limits = Trace(windows), windows.partitions
    for row in data.draw(rows_for(windows)):
        found.rows(row)
        held = {name: members for name, members in found.members.items() if members}
        assert sum(map(len, held.values())) == found.state.count
        if limits is not None and limits.most is not None:
            assert len(found.state.partitions) <= limits.most
        if limits is not None and limits.most_rows is not None:
            assert found.state.count <= limits.most_rows
        if limits is not None and limits.age is not None and not limits.on_insertion:
            assert all(one.last + limits.age > row.time for one in found.state.partitions.values())


@SETTINGS
@given(ANY, st.data())
def test_a_state_that_is_empty_is_as_good_as_a_new_one(windows: PartitionedRows, data: st.DataObject) -> None:
    rows = data.draw(rows_for(windows))
    kept, forgetful = Trace(windows), Trace(windows)
    for row in rows:
        kept.rows(row)
        if windows.is_empty(forgetful.state):
            forgetful.state = windows.create_state()
        forgetful.rows(row)
    assert forgetful.computed == kept.computed


@SETTINGS
@given(ANY)
def test_windows_are_plain_data(windows: PartitionedRows) -> None:
    assert from_dict(to_dict(windows)) == windows


def test_every_kind_of_action_is_seen() -> None:
    seen: set[str] = set()

    @SETTINGS
    @given(ANY, st.data())
    def look(windows: PartitionedRows, data: st.DataObject) -> None:
        lines = Trace(windows).rows(*data.draw(rows_for(windows))).close().lines
        seen.update(word for line in lines for word in line.split())

    look()
    assert seen >= {str(kind) for kind in ActionKind}


def test_a_row_triggers_by_what_it_holds_and_neither_leaves_nor_ends_a_batch_by_it() -> None:
    rows = [Row(place, place, (value,)) for place, value in enumerate((False, True, None, True, True), 1)]
    found = Trace(last(2).trigger(on_row("x = 9"))).rows(*rows)
    assert [one.rows for one in found.computed] == [(1, 2), (3, 4), (4, 5)]
    with pytest.raises(WindowError, match=r"write last\(10\)\.trigger\(on_row\('x'\)\), with the rows that stay"):
        last(on_row("x"))
    with pytest.raises(WindowError, match=r"a batch does not end with on_row\('x'\)\n  write between\(closes='x'\)"):
        batch(on_row("x"))
    assert from_dict(to_dict(last(3).trigger(on_row("x")))) == last(3).trigger(on_row("x"))
    assert on_row("x = 9").reads == last(3).trigger(on_row("x = 9")).conditions == ("x = 9",)
