"""Window specifications are plain data that say what they mean; windows that grow, and sessions."""

from __future__ import annotations

import pickle
from collections.abc import Callable
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
)
from muntin.axis import moment
from muntin.catalog.named_windows import from_dict
from muntin.drawings import Bar, timeline
from muntin.errors import WindowError
from muntin.pictures.layout import extent_of
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import CountWindows, HoppingWindows, SessionWindows, Stretches, WindowKind
from muntin_stats import Count, Sum

SPECIFICATIONS = [
    hopping(10, 3),
    hopping(3, 10, 1),
    hopping("1 hour", "10 minutes", "5 minutes", reach="6 hours"),
    tumbling("1 day"),
    snapshot(),
    count_by_start(3),
    count_by_end(1),
    count_by_start(3, every=3),
    count_by_end(2, every=5),
    session("30 minutes"),
    cumulate("1 day", "1 hour", "6 hours"),
    landmark("1 hour", since="2024-05-01"),
    landmark(10),
    global_windows(),
    trailing(300),
    trailing("5 minutes", every=5),
]


def test_a_tumbling_window_hops_by_its_size() -> None:
    assert tumbling(10, 2, reach=4) == hopping(10, 10, 2, reach=4) == HoppingWindows(10, 10, 2, 4)


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=str)
def test_a_specification_survives_json_and_pickle(specification: WindowKind) -> None:
    assert from_dict(specification.to_dict()) == specification
    assert pickle.loads(pickle.dumps(specification)) == specification


def test_a_specification_spells_itself() -> None:
    assert [str(specification) for specification in SPECIFICATIONS] == [
        "hopping(10, 3)",
        "hopping(3, 10, offset=1)",
        "hopping('1 hour', '10 minutes', offset='5 minutes', reach='6 hours')",
        "tumbling('1 day')",
        "snapshot()",
        "count_by_start(3)",
        "count_by_end(1)",
        "count_by_start(3, every=3)",
        "count_by_end(2, every=5)",
        "session('30 minutes')",
        "cumulate('1 day', '1 hour', offset='6 hours')",
        "landmark('1 hour', since='2024-05-01T00:00:00Z')",
        "landmark(10)",
        "global_windows()",
        "trailing(300)",
        "trailing('5 minutes', every=5)",
    ]


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


def test_counts_at_each_time_are_stored_as_before_there_were_others() -> None:
    assert count_by_start(3).to_dict() == {"kind": "count", "version": "1.0", "count": 3, "by": "start"}
    assert from_dict({"kind": "count", "version": "1.0", "count": 3, "by": "start"}) == count_by_start(3, every=1)
    assert count_by_end(3, every=2).to_dict()["every"] == 2


MINUTE = ticks("1 minute")
BIDS = {5: 4.0, 7: 2.0, 9: 5.0, 11: 3.0, 13: 1.0, 17: 6.0}
"""Prices by minute after eight o'clock, from the page "Windowing table-valued functions"."""


def test_cumulating_windows_are_those_of_flinks_documentation() -> None:
    """CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES), with SUM(price)."""
    eight = instant(moment(0).replace(year=2020, month=4, day=15, hour=8))  # type: ignore[union-attr]
    script = Script()
    for minute, price in BIDS.items():
        script = script.point(str(minute), eight + minute * MINUTE, price)
    rows = script.close().run(WindowedQuery(cumulate("10 minutes", "2 minutes"), [Computation(Sum())]))[None]
    windows = [
        (f"{row.window.starts_at:%H:%M}", f"{row.window.ends_at:%H:%M}", *row.value)
        for row in rows
        if row.window.starts_at is not None
    ]
    assert windows == [
        ("08:00", "08:06", 4.0),
        ("08:00", "08:08", 6.0),
        ("08:00", "08:10", 11.0),
        ("08:10", "08:12", 3.0),
        ("08:10", "08:14", 4.0),
        ("08:10", "08:16", 4.0),
        ("08:10", "08:18", 10.0),
        ("08:10", "08:20", 10.0),
    ]


def test_when_the_stream_closes_cumulating_windows_come_out_by_the_start_of_their_last_step() -> None:
    #              0   2   4   6
    # a            |-| horizon 7: all of its period
    # b            |-------------...  horizon 2: the windows to 4 and to 6 start before it, and their last steps do not
    query = WindowedQuery(cumulate(6, 2), [Computation(Count())])
    for end, ends in ((2, [2, 4, 6]), (INFINITY, [2])):
        (rows,) = Script().insert("a", 1, end).close().run(query).values()
        assert [row.window for row in rows] == [Window(0, last) for last in ends]


def test_the_global_window_has_everything_and_closes_with_the_stream() -> None:
    query = WindowedQuery(global_windows(), [Computation(Count())])
    stream = Script().point("a", -(2**61), None).point("b", 2**61, None).punctuate(2**61)
    assert stream.run(query) == {}
    (row,) = stream.close().run(query)[None]
    assert (row.window, row.value) == (Window(EARLIEST, INFINITY), (2,))
    assert (row.window.starts_at, row.window.ends_at) == (None, None)
    assert extent_of(bar_of_all()) == "(-∞, ∞)"
    assert timeline([Bar("a", 2, 5), bar_of_all()]).splitlines()[-1] == "all  [-->"


def bar_of_all() -> Bar:
    return Bar("all", EARLIEST, INFINITY)


def sessions(script: Script, gap: int) -> list[tuple[int, int, int]]:
    """Return start, end and number of members of each session of a stream of one key."""
    rows = script.close().run(WindowedQuery(session(gap), [Computation(Count())]))[None]
    return [(row.window.start, row.window.end, row.value[0]) for row in rows]


def test_a_session_with_an_event_that_has_not_ended_does_not_end() -> None:
    rows = Script().insert("a", 3, INFINITY).point("b", 400, 0).run(WindowedQuery(session(5), [Computation(Count())]))
    assert rows == {}
    assert list(session(5).cut(Stretches([session(5).membership(3, INFINITY)]), 1000, INFINITY)) == [
        Window(3, INFINITY)
    ]


def test_without_a_gap_events_that_touch_are_one_session() -> None:
    script = Script().insert("a", 0, 5).insert("b", 5, 9).insert("c", 10, 12)
    assert session() == SessionWindows(1)
    assert str(session()) == "session()"
    assert [row[:2] for row in sessions(script, 1)] == [(0, 9), (10, 12)]


class Counting(list[tuple[int, int]]):
    """Counts how many of its parts are read."""

    read = 0

    def __getitem__(self, place: object) -> tuple[int, int]:  # type: ignore[override]  # by number alone
        self.read += 1
        return super().__getitem__(place)  # type: ignore[call-overload, no-any-return]


def test_the_first_session_is_found_without_going_through_those_before_it() -> None:
    stretches = Stretches([(place * 10, place * 10 + 5) for place in range(100_000)])
    stretches._covered = parts = Counting(stretches.covered)
    windows = session(5).cut(stretches, 600_002, INFINITY)
    assert next(windows) == Window(600_000, 600_005)
    assert 0 < parts.read < 40


def test_sessions_hold_what_starts_less_than_a_gap_after_the_end_of_an_event() -> None:
    assert Needs(reach=10).lacks(session(10)) == ""
    lacking = Needs(reach=11).lacks(session(10))
    assert lacking.startswith(
        "needs events to stay members for 11 ticks after their end, and session(10) keeps them for 10"
    )
    assert lacking.endswith("write: session(11)")
    assert Needs((SessionWindows,), 11).lacks(snapshot()).endswith("write, for example: session(11)")


def test_a_gap_is_spelled_as_time_where_the_axis_is_time() -> None:
    assert session("30 minutes").spell(Axis.TIME) == "session('30 minutes')"
    assert SessionWindows.suggest(0, Axis.TICKS) == "session()"
