"""Row windows against their definition, on random rows: automata, reference, and what makes no difference."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from muntin import Event, Window
from muntin.catalog.named_windows import from_dict
from muntin.errors import QueryError, WindowError
from muntin.rows import ActionKind, LastRows, PartitionedRows, Row, RowBatches, RowsBetween, batch, delta, last, on_row
from muntin.testing import Computation, OutputEvent, Script, WindowedQuery, evaluate
from tests.modules.row_operators import Full
from tests.modules.rows import Listed
from tests.sdk.rows.meaning import computed, full
from tests.sdk.rows.meaning_between import computed_between
from tests.sdk.rows.random_rows import drawn
from tests.sdk.rows.tracing import Trace


@pytest.mark.parametrize("kind", [LastRows, RowBatches])
def test_windows_hold_what_their_definition_says(kind: type[PartitionedRows]) -> None:
    compared = 0
    for windows, rows, random in drawn(kind, are_defined=True):
        tick = (rows[-1].time if rows else 0) + random.randrange(12)
        expected = computed(windows, rows, tick)
        trace = Trace(windows).rows(*rows).advance(tick)
        assert sorted(trace.computed, key=repr) == sorted(expected, key=repr), windows
        compared += len(expected)
    assert compared > 100


def test_windows_between_rows_hold_what_their_definition_says() -> None:
    closed = 0
    left_open = 0
    broken_off = 0
    for windows, rows, random in drawn(RowsBetween, are_defined=True):
        assert isinstance(windows, RowsBetween)
        tick = (rows[-1].time if rows else 0) + random.randrange(12)
        trace = Trace(windows).rows(*rows).advance(tick)
        expected = computed_between(windows, rows, tick)
        assert sorted(trace.computed, key=repr) == sorted(expected, key=repr), windows
        expected_in_the_end = computed_between(windows, rows, tick + 1, is_over=True)
        assert sorted(trace.close(tick + 1).computed, key=repr) == sorted(expected_in_the_end, key=repr), windows
        closed += len(expected)
        left_open += len(expected_in_the_end) - len(expected)
        if windows.within is not None:
            lengths = [computed.window.end - computed.window.start for computed in expected]
            broken_off += lengths.count(windows.within.length)
    assert min(closed // 10, left_open, broken_off) > 10


def test_restarts_and_how_time_comes_make_no_difference() -> None:
    for windows, rows, _ in drawn():
        straight = Trace(windows).rows(*rows)
        restarted = Trace(windows)
        stepwise = Trace(windows)
        for row in rows:
            restarted.restart().rows(row)
            while (tick := windows.next_tick(stepwise.state)) <= row.time:
                stepwise.advance(tick)
                assert windows.next_tick(stepwise.state) > tick
            stepwise.advance(row.time).rows(row)
        assert stepwise.lines == straight.lines, windows
        assert restarted.restart().close().lines == straight.close().lines, windows


def test_windows_are_computed_after_their_rows_and_in_the_order_of_their_ends() -> None:
    for windows, rows, _ in drawn():
        times = {row.number: row.time for row in rows}
        ends = dict[Hashable, list[int]]()
        for window, partition, numbers in Trace(windows).rows(*rows).close().computed:
            assert all(window.start <= times[number] < window.end for number in numbers)
            assert numbers == tuple(sorted(numbers))
            ends.setdefault(partition, []).append(window.end)
        # Partitions apart: a window that ends with a row ends a tick later than one of another that ends before it.
        for ends_of_partition in ends.values():
            assert ends_of_partition == sorted(ends_of_partition)


def test_partitions_stay_within_their_limits() -> None:
    for windows, rows, _ in drawn():
        trace = Trace(windows)
        limits = windows.partitions
        for row in rows:
            trace.rows(row)
            state = trace.state
            assert sum(map(len, trace.members.values())) == state.count
            if limits is None:
                continue
            if limits.most is not None:
                assert len(state.partitions) <= limits.most
            if limits.most_rows is not None:
                assert state.count <= limits.most_rows
            if limits.age is not None and not limits.on_insertion:
                assert all(partition.last_insertion + limits.age > row.time for partition in state.partitions.values())


def test_a_state_that_is_empty_is_as_good_as_a_new_one() -> None:
    for windows, rows, _ in drawn():
        trace = Trace(windows)
        forgetful = Trace(windows)
        for row in rows:
            trace.rows(row)
            if windows.is_empty(forgetful.state):
                forgetful.state = windows.create_state()
            forgetful.rows(row)
        assert forgetful.computed == trace.computed, windows


def test_windows_are_plain_data_and_every_kind_of_action_is_seen() -> None:
    words = set[str]()
    for windows, rows, _ in drawn():
        assert from_dict(windows.to_dict()) == windows
        words.update(" ".join(Trace(windows).rows(*rows).close().lines).split())
    assert words >= {str(kind) for kind in ActionKind}


def test_a_row_triggers_by_what_it_holds_and_neither_leaves_nor_ends_a_batch_by_it() -> None:
    rows = [Row(place, place, (value,)) for place, value in enumerate((False, True, None, True, True), 1)]
    trace = Trace(last(2).trigger(on_row("x = 9"))).rows(*rows)
    assert [computed.rows for computed in trace.computed] == [(1, 2), (3, 4), (4, 5)]
    with pytest.raises(WindowError, match=r"write last\(10\)\.trigger\(on_row\('x'\)\), with the rows that stay"):
        last(on_row("x"))
    with pytest.raises(WindowError, match=r"a batch does not end with on_row\('x'\)\n  write between\(closes='x'\)"):
        batch(on_row("x"))
    assert from_dict(last(3).trigger(on_row("x")).to_dict()) == last(3).trigger(on_row("x"))
    assert on_row("x = 9").reads == last(3).trigger(on_row("x = 9")).conditions == ("x = 9",)


# Row windows in scripts: the reference evaluator, against the definition over whole histories.


LISTED = [Computation(Listed())]


def test_a_script_shows_the_windows_of_each_key_in_the_order_of_its_rows() -> None:
    script = Script().point("a", 1, 10, key="x").point("b", 1, 20, key="x").point("c", 4, 30, key="x").punctuate(4)
    assert script.run(WindowedQuery(last(2), LISTED)) == {
        "x": [OutputEvent(Window(1, 2), 1, 2, ([10],)), OutputEvent(Window(1, 2), 1, 2, ([10, 20],))]
    }
    closed = script.close().run(WindowedQuery(batch(2), LISTED))
    assert closed["x"] == [OutputEvent(Window(1, 2), 1, 2, ([10, 20],)), OutputEvent(Window(4, 5), 4, 5, ([30],))]


@dataclass(frozen=True)
class Price:
    price: int


def test_what_windows_read_is_a_part_of_the_payload() -> None:
    script = Script().point("a", 1, Price(1)).point("b", 2, Price(3)).point("c", 3, Price(4)).close()
    lists = [Computation(Listed(), select=lambda payload: payload.price)]
    (results,) = script.run(WindowedQuery(batch(delta("price", 2)), lists)).values()
    assert [row.value for row in results] == [([1, 3],), ([4],)]


def test_a_row_without_what_windows_read_is_refused_with_what_to_give() -> None:
    for payload in (2.5, {"price": 1}):
        script = Script().point("a", 1, payload).close()
        with pytest.raises(QueryError, match=r"(?s)the windows read 'size' .* has no such field.*dicts"):
            script.run(WindowedQuery(batch(delta("size", 2)), LISTED))


def events_of(windows: PartitionedRows, rows: Sequence[Row]) -> list[Event[Any]]:
    payloads = [{**dict(zip(windows.reads, row.values, strict=True)), "number": row.number} for row in rows]
    return [Event.point(row.time, payload) for row, payload in zip(rows, payloads, strict=True)]


def test_the_reference_computes_what_the_definition_says() -> None:
    for windows, rows, random in drawn((LastRows, RowBatches), are_defined=True):
        tick = (rows[-1].time if rows else 0) + random.randint(1, 12)
        query = WindowedQuery(windows, [Computation(Listed(), select=lambda payload: payload["number"])])
        results = evaluate(query, events_of(windows, rows), tick, tick)
        expected = sorted(
            (window_computed.window, list(window_computed.rows)) for window_computed in computed(windows, rows, tick)
        )
        assert sorted((row.window, list(row.value[0])) for row in results) == expected, windows


def test_a_window_is_full_when_its_definition_says_and_once() -> None:
    for windows, rows, random in drawn(LastRows, are_defined=True, count=100):
        assert isinstance(windows, LastRows)
        tick = (rows[-1].time if rows else 0) + random.randint(1, 12)
        results = evaluate(WindowedQuery(windows, [Computation(Full())]), events_of(windows, rows), tick, tick)
        assert sorted(row.value for row in results) == sorted(at for _, at in full(windows, rows, tick - 1)), windows
