"""Windows that share a start: the example of Flink's documentation, the thesis's definition, and what modules see."""

from __future__ import annotations

import pytest

from muntin import EARLIEST, INFINITY, Window, cumulate, global_windows, instant, landmark, ticks
from muntin.axis import moment
from muntin.drawings import Bar, timeline
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import Stretches
from muntin_cli.pictures.layout import extent_of
from muntin_stats import Count, Sum

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
    found = [
        (f"{row.window.starts_at:%H:%M}", f"{row.window.ends_at:%H:%M}", *row.value)
        for row in rows
        if row.window.starts_at is not None
    ]
    assert found == [
        ("08:00", "08:06", 4.0),
        ("08:00", "08:08", 6.0),
        ("08:00", "08:10", 11.0),
        ("08:10", "08:12", 3.0),
        ("08:10", "08:14", 4.0),
        ("08:10", "08:16", 4.0),
        ("08:10", "08:18", 10.0),
        ("08:10", "08:20", 10.0),
    ]


@pytest.mark.parametrize("step", [1, 3, 7])
@pytest.mark.parametrize("least", [0, 5])
def test_landmark_windows_are_those_of_range_all(step: int, least: int) -> None:
    """Li, *Window Queries over Data Streams*, section 5.1.4: extent and ids are dual, with a floor for its ceiling.

    The extent of window w is a < min + (w + 1) s; the ids of a are w > floor((a - min) / s) - 1.
    """
    kind = landmark(step, since=least)
    for at in range(least, least + 30):
        since, until = kind.membership(at, at + 1)
        steps = list(kind.cut(Stretches([(since, until)]), least, least + 40))
        ids = {(window.start - least) // step for window in steps if since < window.end and until > window.start}
        assert ids == {number for number in range(len(steps)) if at < least + (number + 1) * step}
        assert ids == {number for number in range(len(steps)) if number > (at - least) // step - 1}
        assert {kind.extent(window).start for window in steps} == {least}


def test_an_event_is_a_member_until_the_end_of_the_period_of_its_last_tick() -> None:
    kind = cumulate(12, 4)
    assert [kind.membership(3, 4), kind.membership(3, 12), kind.membership(3, 13)] == [(3, 12), (3, 12), (3, 24)]
    assert kind.membership(3, INFINITY) == (3, INFINITY)
    assert [kind.extent(window) for window in kind.cut(Stretches(), 3, 13)] == [
        *[Window(0, 4), Window(0, 8), Window(0, 12)],
        Window(12, 16),
    ]


def test_when_the_stream_closes_cumulating_windows_come_out_by_the_start_of_their_last_step() -> None:
    #              0   2   4   6
    # a            |-| horizon 7: all of its period
    # b            |-------------...  horizon 2: the windows to 4 and to 6 start before it, and their last steps do not
    query = WindowedQuery(cumulate(6, 2), [Computation(Count())])
    for end, found in ((2, [2, 4, 6]), (INFINITY, [2])):
        (rows,) = Script().insert("a", 1, end).close().run(query).values()
        assert [row.window for row in rows] == [Window(0, last) for last in found]


def test_an_event_that_ended_by_the_landmark_is_a_member_of_nothing() -> None:
    kind = landmark(4, since=10)
    assert [kind.membership(3, 10), kind.membership(3, 11), kind.membership(12, 13)] == [
        *[(3, 3), (10, INFINITY)],
        (12, INFINITY),
    ]
    assert list(kind.cut(Stretches(), 0, 15)) == [Window(10, 14), Window(14, 18)]


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
