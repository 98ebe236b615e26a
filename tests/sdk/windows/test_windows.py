"""Window specifications as plain data: how they are spelled and refused; windows that grow, and sessions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    Axis,
    Needs,
    Window,
    count_by_end,
    count_by_start,
    cumulate,
    global_windows,
    hopping,
    instant,
    landmark,
    session,
    snapshot,
    ticks,
    trailing,
    tumbling,
    window,
)
from muntin.catalog.named_windows import from_dict
from muntin.drawings import Bar, timeline
from muntin.errors import WindowError
from muntin.pictures.layout import extent_of
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import CountWindows, HoppingWindows, SessionWindows, Stretches, WindowKind
from muntin_stats import Count, Sum

SPECIFICATIONS: dict[str, WindowKind] = {
    "hopping(10, 3)": hopping(10, 3),
    "hopping(3, 10, offset=1)": hopping(3, 10, 1),
    "hopping('1 hour', '10 minutes', offset='5 minutes', reach='6 hours')": hopping(
        "1 hour", "10 minutes", "5 minutes", reach="6 hours"
    ),
    "tumbling('1 day')": tumbling("1 day"),
    "snapshot()": snapshot(),
    "count_by_start(3)": count_by_start(3),
    "count_by_end(1)": count_by_end(1),
    "count_by_start(3, every=3)": count_by_start(3, every=3),
    "count_by_end(2, every=5)": count_by_end(2, every=5),
    "session('30 minutes')": session("30 minutes"),
    "cumulate('1 day', '1 hour', offset='6 hours')": cumulate("1 day", "1 hour", "6 hours"),
    "landmark('1 hour', since='2024-05-01T00:00:00Z')": landmark("1 hour", since="2024-05-01"),
    "landmark('1 day', since='2024-05-01T00:00:00Z')": landmark("1 day", since=date(2024, 5, 1)),
    "landmark(10)": landmark(10),
    "global_windows()": global_windows(),
    "trailing(300)": trailing(300),
    "trailing('5 minutes', every=5)": trailing("5 minutes", every=5),
}
"""By text: windows that are spelled so."""


def test_a_tumbling_window_hops_by_its_size() -> None:
    assert tumbling(10, 2, reach=4) == hopping(10, 10, 2, reach=4) == HoppingWindows(10, 10, 2, 4)


@pytest.mark.parametrize("specification", SPECIFICATIONS.values(), ids=str)
def test_a_specification_survives_json_and_pickle(specification: WindowKind) -> None:
    assert from_dict(specification.to_dict()) == specification
    assert pickle.loads(pickle.dumps(specification)) == specification


@pytest.mark.parametrize("text", SPECIFICATIONS)
def test_a_specification_is_spelled_as_it_is_written(text: str) -> None:
    assert str(SPECIFICATIONS[text]) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hopping(0, 5), "a hopping window needs a size and a hop above zero, got the size 0 and the hop 5"),
        (
            lambda: hopping(5, "-1 hour"),
            "a hopping window needs a size and a hop above zero, got the size 5 and the hop '-1 hour'",
        ),
        (lambda: tumbling("-5 minutes"), "a tumbling window needs a size above zero, got '-5 minutes'"),
        (lambda: tumbling(5, reach=-1), "the reach of a window cannot be negative, got -1"),
        (lambda: count_by_start(0), "a count window needs a whole number above zero, got 0"),
        (
            lambda: cumulate(10, 3),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 10 and the "
            "step 3",
        ),
        (
            lambda: cumulate("1 hour", "1 day"),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size '1 hour' and "
            "the step '1 day'\n  the size comes first: write cumulate('1 day', '1 hour')",
        ),
        (
            lambda: cumulate(3, 12, 1),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 3 and the "
            "step 12\n  the size comes first: write cumulate(12, 3, 1)",
        ),
        (
            lambda: cumulate(5, 12),
            "cumulating windows need a step above zero and a size that is a multiple of it, got the size 5 and the "
            "step 12",
        ),
        (lambda: trailing("-1 minute"), "trailing windows need a length above zero, got '-1 minute'"),
        (lambda: trailing(5, every=0), "trailing windows come at every n-th start, n a whole number above zero: 0"),
        (
            lambda: window(5),  # type: ignore[arg-type]
            "window() takes the name of a kind of windows, got 5\n"
            "  for example window('hopping', size='10 minutes', hop='5 minutes')",
        ),
        (lambda: landmark(0), "landmark windows need a step above zero, got 0"),
        (lambda: landmark(5, since="noon"), "'noon' is not a time\n  expected: a time such as '2024-05-01 08:00'"),
        (
            lambda: count_by_start(2, every=0),
            "count windows begin every so many times, a whole number above zero, got 0",
        ),
        (
            lambda: count_by_end(2, every=True),
            "count windows begin every so many times, a whole number above zero, got True",
        ),
        (lambda: session(0), "a session window needs a gap above zero, got 0"),
        (lambda: session("-5 minutes"), "a session window needs a gap above zero, got '-5 minutes'"),
        (lambda: CountWindows(1, "middle"), "a count window counts by 'start' or by 'end', got 'middle'"),  # type: ignore[arg-type]
    ],
)
def test_a_specification_without_windows_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(WindowError) as refused:
        make()
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "data", [{}, {"kind": "session"}, {"kind": "trip"}, {"kind": "hopping", "size": 5}, {"kind": "snapshot", "n": 1}]
)
def test_data_that_is_no_specification_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(WindowError, match="is not a window specification; kinds are hopping, snapshot, count"):
        from_dict(data)


def test_a_window_knows_its_length_and_its_times() -> None:
    window = Window(0, 1_000_000)
    assert window.duration == 1_000_000
    assert str(window.starts_at) == "1970-01-01 00:00:00+00:00"
    assert str(window.ends_at) == "1970-01-01 00:00:01+00:00"


def test_the_data_of_count_windows_has_the_parameter_every_only_where_it_is_not_1() -> None:
    """So checkpoints from before there was such a parameter fit."""
    data = {"kind": "count", "version": "1.0", "count": 3, "by": "start"}
    assert count_by_start(3).to_dict() == data
    assert from_dict(data) == count_by_start(3, every=1)
    assert count_by_end(3, every=2).to_dict()["every"] == 2


MINUTE = ticks("1 minute")
BIDS = {5: 4.0, 7: 2.0, 9: 5.0, 11: 3.0, 13: 1.0, 17: 6.0}
"""Prices by minute after eight o'clock, from the page "Windowing table-valued functions"."""


def test_cumulating_windows_are_those_of_flinks_documentation() -> None:
    """CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES), with SUM(price)."""
    eight_o_clock = instant(datetime(2020, 4, 15, 8, tzinfo=UTC))
    script = Script()
    for minute, price in BIDS.items():
        script = script.point(str(minute), eight_o_clock + minute * MINUTE, price)
    rows = script.close().run(WindowedQuery(cumulate("10 minutes", "2 minutes"), [Computation(Sum())]))[None]

    table = [(f"{row.window.starts_at:%H:%M}", f"{row.window.ends_at:%H:%M}", *row.value) for row in rows]
    assert table == [
        ("08:00", "08:06", 4.0),
        ("08:00", "08:08", 6.0),
        ("08:00", "08:10", 11.0),
        ("08:10", "08:12", 3.0),
        ("08:10", "08:14", 4.0),
        ("08:10", "08:16", 4.0),
        ("08:10", "08:18", 10.0),
        ("08:10", "08:20", 10.0),
    ]


@pytest.mark.parametrize(
    ("end", "ends_of_windows"), [(2, [2, 4, 6]), (INFINITY, [2])], ids=["with an end", "without an end"]
)
def test_an_event_is_in_all_cumulating_windows_of_its_period_and_without_an_end_up_to_the_horizon(
    end: int, ends_of_windows: list[int]
) -> None:
    """When the stream is closed. The horizon is 2: the windows to 4 and to 6 have their last step after it."""
    query = WindowedQuery(cumulate(6, 2), [Computation(Count())])
    (rows,) = Script().insert("a", 1, end).close().run(query).values()
    assert [row.window for row in rows] == [Window(0, end_of_window) for end_of_window in ends_of_windows]


def test_the_global_window_has_all_events_and_is_complete_when_the_stream_is_closed() -> None:
    query = WindowedQuery(global_windows(), [Computation(Count())])
    script = Script().point("a", -(2**61), None).point("b", 2**61, None).punctuate(2**61)
    assert script.run(query) == {}
    (row,) = script.close().run(query)[None]
    assert row.window == Window(EARLIEST, INFINITY)
    assert row.value == (2,)


def test_the_global_window_has_no_datetimes_for_its_start_and_end() -> None:
    window = Window(EARLIEST, INFINITY)
    assert window.starts_at is None
    assert window.ends_at is None


def test_the_global_window_is_drawn_from_the_first_tick_of_other_bars_on() -> None:
    whole_axis = Bar("all", EARLIEST, INFINITY)
    assert extent_of(whole_axis) == "(-∞, ∞)"
    assert timeline([Bar("a", 2, 5), whole_axis]).splitlines() == [
        "     2",
        "a    [--)",
        "all  [-->",
    ]


def test_a_session_with_an_event_that_has_not_ended_does_not_end() -> None:
    query = WindowedQuery(session(5), [Computation(Count())])
    assert Script().insert("a", 3, INFINITY).point("b", 400, 0).run(query) == {}

    stretches = Stretches([session(5).membership(3, INFINITY)])
    assert list(session(5).cut(stretches, 1000, INFINITY)) == [Window(3, INFINITY)]


def test_without_a_gap_events_that_touch_are_one_session() -> None:
    script = Script().insert("a", 0, 5).insert("b", 5, 9).insert("c", 10, 12).close()
    rows = script.run(WindowedQuery(session(), [Computation(Count())]))[None]
    assert [row.window for row in rows] == [Window(0, 9), Window(10, 12)]


def test_a_session_without_a_gap_is_one_with_a_gap_of_one_tick() -> None:
    assert session() == SessionWindows(1)
    assert str(session()) == "session()"


class CountingReads(list[tuple[int, int]]):
    """A list that counts how many of its items are read."""

    read_count = 0

    def __getitem__(self, place: object) -> tuple[int, int]:  # type: ignore[override]  # by number alone
        self.read_count += 1
        return super().__getitem__(place)  # type: ignore[call-overload, no-any-return]


def test_the_first_session_of_a_part_is_found_without_going_through_those_before_it() -> None:
    stretches = Stretches([(place * 10, place * 10 + 5) for place in range(100_000)])
    covered = CountingReads(stretches.covered)
    stretches._covered = covered
    windows = session(5).cut(stretches, 600_002, INFINITY)
    assert next(windows) == Window(600_000, 600_005)
    assert 0 < covered.read_count < 40


def test_a_module_that_needs_a_reach_has_it_in_sessions_with_that_gap_or_is_told_to_write_them() -> None:
    assert Needs(reach=10).lacks(session(10)) == ""
    advice = Needs(reach=11).lacks(session(10))
    assert advice.startswith(
        "needs events to stay members for 11 ticks after their end, and session(10) keeps them for 10"
    )
    assert advice.endswith("write: session(11)")
    assert Needs((SessionWindows,), 11).lacks(snapshot()).endswith("write, for example: session(11)")


def test_a_gap_is_spelled_as_time_where_the_axis_is_time() -> None:
    assert session("30 minutes").spell(Axis.TIME) == "session('30 minutes')"
    assert SessionWindows.suggest(0, Axis.TICKS) == "session()"
