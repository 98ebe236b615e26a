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
from tests.sdk.rows import meaning, meaning_between
from tests.sdk.rows.random_rows import random_tick_after, random_windows
from tests.sdk.rows.tracing import Computed, Trace


def in_order(windows_computed: list[Computed]) -> list[Computed]:
    """Sort windows for comparison; partitions need not compare, so this goes by their text."""
    return sorted(windows_computed, key=repr)


@pytest.mark.parametrize("kind", [LastRows, RowBatches])
def test_windows_hold_what_their_definition_says(kind: type[PartitionedRows]) -> None:
    compared = 0
    for windows, rows, random in random_windows(kind, are_defined=True):
        tick = random_tick_after(rows, random)
        expected = meaning.computed(windows, rows, tick)
        trace = Trace(windows).rows(*rows).advance(tick)
        assert in_order(trace.computed) == in_order(expected), windows
        compared += len(expected)
    assert compared > 100


def test_windows_between_rows_hold_what_their_definition_says() -> None:
    ended = 0  # before the stream does
    left_open = 0  # until the stream ends
    broken_off = 0  # as they lasted as long as they may
    for windows, rows, random in random_windows(RowsBetween, are_defined=True):
        assert isinstance(windows, RowsBetween)
        tick = random_tick_after(rows, random)

        trace = Trace(windows).rows(*rows).advance(tick)
        expected = meaning_between.computed_between(windows, rows, tick)
        assert in_order(trace.computed) == in_order(expected), windows

        trace.close(tick + 1)
        expected_in_the_end = meaning_between.computed_between(windows, rows, tick + 1, is_over=True)
        assert in_order(trace.computed) == in_order(expected_in_the_end), windows

        ended += len(expected)
        left_open += len(expected_in_the_end) - len(expected)
        if windows.within is not None:
            lengths = [computed.window.duration for computed in expected]
            broken_off += lengths.count(windows.within.length)

    # The random streams have windows of all three fates.
    assert ended > 100
    assert left_open > 10
    assert broken_off > 10


def test_restarts_and_the_steps_in_which_time_advances_make_no_difference() -> None:
    for windows, rows, _ in random_windows():
        straight = Trace(windows).rows(*rows)
        restarted = Trace(windows)
        stepwise = Trace(windows)
        for row in rows:
            restarted.restart().rows(row)
            # Time stops at each tick at which something is due, before it comes to the row.
            while (tick := windows.next_tick(stepwise.state)) <= row.time:
                stepwise.advance(tick)
                assert windows.next_tick(stepwise.state) > tick
            stepwise.advance(row.time).rows(row)
        assert stepwise.lines == straight.lines, windows
        assert restarted.restart().close().lines == straight.close().lines, windows


def test_windows_have_rows_of_their_extent_in_order_and_are_computed_in_the_order_of_their_ends() -> None:
    for windows, rows, _ in random_windows():
        times = {row.number: row.time for row in rows}
        ends = dict[Hashable, list[int]]()
        for window, partition, numbers in Trace(windows).rows(*rows).close().computed:
            assert all(window.start <= times[number] < window.end for number in numbers)
            assert numbers == tuple(sorted(numbers))
            ends.setdefault(partition, []).append(window.end)

        # Within a partition only: a window that a row ends and has as a member ends a tick after the row, so it may be
        # computed before one of another partition that ends at the row.
        for ends_of_partition in ends.values():
            assert ends_of_partition == sorted(ends_of_partition)


def test_states_count_their_rows_and_partitions_stay_within_their_limits() -> None:
    for windows, rows, _ in random_windows():
        trace = Trace(windows)
        limits = windows.partitions
        for row in rows:
            trace.rows(row)
            state = trace.state
            assert state.count == sum(map(len, trace.members.values()))
            if limits is None:
                continue
            if limits.most is not None:
                assert len(state.partitions) <= limits.most
            if limits.most_rows is not None:
                assert state.count <= limits.most_rows
            if limits.age is not None and not limits.on_insertion:
                assert all(partition.last_insertion + limits.age > row.time for partition in state.partitions.values())


def test_a_state_that_is_empty_is_as_good_as_a_new_one() -> None:
    for windows, rows, _ in random_windows():
        trace = Trace(windows).rows(*rows)
        forgetful = Trace(windows)
        for row in rows:
            if windows.is_empty(forgetful.state):
                forgetful.state = windows.create_state()
            forgetful.rows(row)
        assert forgetful.computed == trace.computed, windows


def test_windows_come_back_from_their_plain_data() -> None:
    for windows, _, _ in random_windows():
        assert from_dict(windows.to_dict()) == windows


def test_random_rows_lead_to_every_kind_of_action() -> None:
    words = set[str]()
    for windows, rows, _ in random_windows():
        for line in Trace(windows).rows(*rows).close().lines:
            words.update(line.split())
    assert words >= {str(kind) for kind in ActionKind}


def test_a_row_for_which_the_condition_is_true_triggers_the_window() -> None:
    #            row    1      2     3     4     5
    trace = Trace(last(2).trigger(on_row("x = 9"))).valued(False, True, None, True, True)
    assert [computed.rows for computed in trace.computed] == [(1, 2), (3, 4), (4, 5)]


def test_a_condition_on_rows_is_refused_as_what_makes_rows_leave_or_ends_a_batch() -> None:
    with pytest.raises(WindowError, match=r"write last\(10\)\.trigger\(on_row\('x'\)\), with the rows that stay"):
        last(on_row("x"))
    with pytest.raises(WindowError, match=r"a batch does not end with on_row\('x'\)\n  write between\(closes='x'\)"):
        batch(on_row("x"))


def test_a_trigger_by_condition_reads_the_condition_and_comes_back_from_plain_data() -> None:
    windows = last(3).trigger(on_row("x = 9"))
    assert on_row("x = 9").reads == ("x = 9",)
    assert windows.conditions == ("x = 9",)
    assert from_dict(windows.to_dict()) == windows


# Row windows in scripts: the reference evaluator, against the definition over whole histories.


LISTED = [Computation(Listed())]


def test_a_script_shows_the_row_windows_of_a_key_in_the_order_of_its_rows() -> None:
    script = Script()
    for time, payload in ((1, 10), (1, 20), (4, 30)):
        script = script.point(f"row {payload}", time, payload, key="x")
    script = script.punctuate(4)

    output = script.run(WindowedQuery(last(2), LISTED))
    assert output == {
        "x": [
            OutputEvent(Window(1, 2), start=1, end=2, value=([10],)),
            OutputEvent(Window(1, 2), start=1, end=2, value=([10, 20],)),
        ]
    }

    output = script.close().run(WindowedQuery(batch(2), LISTED))
    assert output["x"] == [
        OutputEvent(Window(1, 2), start=1, end=2, value=([10, 20],)),
        OutputEvent(Window(4, 5), start=4, end=5, value=([30],)),
    ]


@dataclass(frozen=True)
class Price:
    price: int


def test_what_windows_read_is_a_part_of_the_payload() -> None:
    script = Script().point("a", 1, Price(1)).point("b", 2, Price(3)).point("c", 3, Price(4)).close()
    list_prices = Computation(Listed(), select=lambda payload: payload.price)
    (results,) = script.run(WindowedQuery(batch(delta("price", 2)), [list_prices])).values()
    assert [row.value for row in results] == [([1, 3],), ([4],)]


def test_a_row_without_what_windows_read_is_refused_with_what_to_give() -> None:
    for payload in (2.5, {"price": 1}):
        script = Script().point("a", 1, payload).close()
        with pytest.raises(QueryError, match=r"(?s)the windows read 'size' .* has no such field.*dicts"):
            script.run(WindowedQuery(batch(delta("size", 2)), LISTED))


def events_of(windows: PartitionedRows, rows: Sequence[Row]) -> list[Event[Any]]:
    """Return rows as point events; a payload has what the windows read, by name, and the row's `number`."""
    events: list[Event[Any]] = []
    for row in rows:
        payload = dict(zip(windows.reads, row.values, strict=True))
        payload["number"] = row.number
        events.append(Event.point(row.time, payload))
    return events


def test_the_reference_computes_what_the_definition_says() -> None:
    for windows, rows, random in random_windows((LastRows, RowBatches), are_defined=True):
        tick = random_tick_after(rows, random) + 1  # so the last row is before the watermark
        list_numbers = Computation(Listed(), select=lambda payload: payload["number"])
        query = WindowedQuery(windows, [list_numbers])
        results = evaluate(query, events_of(windows, rows), complete_to=tick, horizon=tick)

        windows_and_rows = sorted((row.window, tuple(row.value[0])) for row in results)
        expected = meaning.computed(windows, rows, tick)
        assert windows_and_rows == sorted((computed.window, computed.rows) for computed in expected), windows


def test_a_window_is_full_when_its_definition_says_and_once() -> None:
    for windows, rows, random in random_windows(LastRows, are_defined=True, count=100):
        assert isinstance(windows, LastRows)
        tick = random_tick_after(rows, random) + 1  # so the last row is before the watermark
        query = WindowedQuery(windows, [Computation(Full())])
        results = evaluate(query, events_of(windows, rows), complete_to=tick, horizon=tick)

        times_when_full = sorted(row.value for row in results)
        expected = meaning.full(windows, rows, tick - 1)
        assert times_when_full == sorted(time for _, time in expected), windows
