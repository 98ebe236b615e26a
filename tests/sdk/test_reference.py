"""The reference evaluator, on cases small enough to compute by hand: windows, membership and closing."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    ClipPolicy,
    Event,
    Window,
    count_by_end,
    count_by_start,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.testing import Computation, WindowedQuery, evaluate, horizon_of
from muntin.testing.reference import belongs, windows, windows_with_members
from muntin.windows import WindowKind
from muntin_engine.testing import random_stream
from tests.sdk.query_modules import Echo, Names, Stamps

Rows = list[tuple[int, int, str]]


def rows(specification: WindowKind, *events: Event[str], **limits: int) -> Rows:
    """Return each window that is put out, with the names of its members."""
    output = evaluate(WindowedQuery(specification, [Computation(Names())]), events, **limits)
    assert all((row.start, row.end) == (row.window.start, row.window.end) for row in output)
    return [(row.window.start, row.window.end, row.value[0]) for row in output]


POINTS = Event.point(2, "a"), Event.point(7, "b")
STAIRS = Event(1, 17, "a"), Event(3, 4, "b"), Event(3, 4, "c"), Event(7, 8, "d")
ENDS = Event(0, 3, "a"), Event(1, 3, "b"), Event(2, 6, "c"), Event.edge(0, "d")
NESTED = Event(1, 5, "a"), Event(3, 5, "b")
OPEN = Event.edge(1, "a"), Event(3, 5, "b")
STARTS = Event.point(1, "a"), Event.point(3, "b"), Event.point(5, "c")
ALL: dict[str, int] = {}

WINDOWS: list[tuple[WindowKind, tuple[Event[str], ...], dict[str, int], Rows]] = [
    # a window without members has no output
    *((kind, (), ALL, []) for kind in (tumbling(5), snapshot(), count_by_start(1))),
    (tumbling(5), (Event.point(1, "a"), Event.point(11, "b")), ALL, [(0, 5, "a"), (10, 15, "b")]),
    #         -5   0    5    10   15
    # a                [---)            an event is a member of every hopping window it overlaps
    #         [---------)
    #              [---------)
    #                   [---------)
    (hopping(10, 5), (Event(3, 7, "a"),), ALL, [(-5, 5, "a"), (0, 10, "a"), (5, 15, "a")]),
    #         0    5    10
    # a          [---)
    # b            [----)       touches the first window, and is not its member
    (tumbling(5), (Event(3, 7, "a"), Event(5, 10, "b")), ALL, [(0, 5, "a"), (5, 10, "ab")]),
    #         0         10
    # a         [--------)
    # b       [)
    #         [--)      [--)      a hop above the size leaves gaps: nothing in between
    (hopping(3, 10), (Event(3, 10, "a"),), ALL, []),
    (hopping(3, 10), (Event(2, 11, "a"), Event(0, 1, "b")), ALL, [(0, 3, "ab"), (10, 13, "a")]),
    #         -7        3         13
    # a                 [)          an offset moves all windows, which lie on both sides of zero
    # b                [)
    (tumbling(10, 3), (Event.point(3, "a"), Event.point(2, "b")), ALL, [(-7, 3, "b"), (3, 13, "a")]),
    (tumbling(10), (Event.point(-1, "a"),), ALL, [(-10, 0, "a")]),
    #         -10       0         10        20
    # a                          [)....)     a reach widens membership: to 15, but not to 20
    (tumbling(10), (Event.point(9, "a"),), ALL, [(0, 10, "a")]),
    (tumbling(10, reach=5), (Event.point(9, "a"),), ALL, [(0, 10, "a"), (10, 20, "a")]),
    (tumbling(10, reach=10), (Event.point(9, "a"),), ALL, [(0, 10, "a"), (10, 20, "a")]),
    (tumbling(10, reach=11), (Event.point(9, "a"),), ALL, [(0, 10, "a"), (10, 20, "a"), (20, 30, "a")]),
    #         0    5    10   15   20
    # a          [-------------------->    an open event is a member of windows up to the horizon
    (tumbling(5), (Event.edge(3, "a"),), ALL, [(0, 5, "a")]),
    (tumbling(5), (Event.edge(3, "a"),), {"horizon": 5}, [(0, 5, "a")]),
    (tumbling(5), (Event.edge(3, "a"),), {"horizon": 6}, [(0, 5, "a"), (5, 10, "a")]),
    (tumbling(5), (Event.edge(3, "a"),), {"complete_to": 12}, [(0, 5, "a"), (5, 10, "a")]),
    #         1 3 5   9  12
    # a       [---)
    # b         [-----)
    # c                  [)
    #         [-)                  a
    #           [-)                a and b
    #             [---)            b
    #                 [--)         nobody, so no output
    #                    [)        c
    (
        snapshot(),
        (Event(1, 5, "a"), Event(3, 9, "b"), Event(12, 13, "c")),
        ALL,
        [(1, 3, "a"), (3, 5, "ab"), (5, 9, "b"), (12, 13, "c")],
    ),
    (snapshot(), (Event(1, 5, "a"), Event(1, 5, "b")), ALL, [(1, 5, "ab")]),
    #         1 3 5
    # a       [--------->      the last snapshot of an open event is open too
    # b         [-)
    (snapshot(), OPEN, ALL, [(1, 3, "a"), (3, 5, "ab"), (5, INFINITY, "a")]),
    (snapshot(), OPEN, {"complete_to": 10**9}, [(1, 3, "a"), (3, 5, "ab")]),
    #         1 3   7
    # a       [---------------)
    # b         [)
    # c         [)
    # d             [)
    #         [--)                 the starts 1 and 3
    #           [----)             the starts 3 and 7; a overlaps it, but starts before
    (count_by_start(2), STAIRS, ALL, [(1, 4, "abc"), (3, 8, "bcd")]),
    (count_by_start(1), STAIRS, ALL, [(1, 2, "a"), (3, 4, "bc"), (7, 8, "d")]),
    (count_by_start(3), STAIRS, ALL, [(1, 8, "abcd")]),
    (count_by_start(4), STAIRS, ALL, []),
    #         0  3  6
    # a       [--)
    # b        [-)
    # c         [---)
    # d       [---------->        has no end to count yet
    #            [---)            the ends 3 and 6; a and b do not even overlap it (B6 item 6)
    (count_by_end(2), ENDS, ALL, [(3, 7, "abc")]),
    (count_by_end(1), ENDS, ALL, [(3, 4, "ab"), (6, 7, "c")]),
    (count_by_end(3), ENDS, ALL, []),
    # a hopping window closes when the watermark reaches its end
    *(
        (tumbling(5), POINTS, {"complete_to": to}, [(0, 5, "a"), (5, 10, "b")][:closed])
        for to, closed in ((4, 0), (5, 1), (9, 1), (10, 2), (INFINITY, 2), (EARLIEST, 0))
    ),
    # a snapshot closes one tick after its end: an event that starts there may still be retracted, merging two
    *(
        (snapshot(), NESTED, {"complete_to": to}, [(1, 3, "a"), (3, 5, "ab")][:closed])
        for to, closed in ((3, 0), (4, 1), (5, 1), (6, 2), (INFINITY, 2))
    ),
    # a count window closes when the watermark reaches its end
    *(
        (count_by_start(2), STARTS, {"complete_to": to}, [(1, 4, "ab"), (3, 6, "bc")][:closed])
        for to, closed in ((3, 0), (4, 1), (5, 1), (6, 2))
    ),
]


@pytest.mark.parametrize(("kind", "events", "limits", "expected"), WINDOWS, ids=str)
def test_the_windows_of_events_and_their_members(
    kind: WindowKind, events: tuple[Event[str], ...], limits: dict[str, int], expected: Rows
) -> None:
    assert rows(kind, *events, **limits) == expected


@pytest.mark.parametrize(
    ("events", "complete_to", "horizon"),
    [
        ([], INFINITY, 0),
        ([Event.edge(7, "a")], INFINITY, 8),
        ([Event(3, 9, "a"), Event.edge(7, "b")], INFINITY, 9),
        ([Event(3, 9, "a"), Event.edge(7, "b")], 30, 30),
        ([Event(3, 9, "a")], EARLIEST, 9),
    ],
)
def test_the_horizon_is_the_first_tick_of_which_nothing_is_said(
    events: list[Event[str]], complete_to: int, horizon: int
) -> None:
    assert horizon_of(snapshot(), events, complete_to) == horizon


def test_a_reach_moves_the_horizon() -> None:
    assert horizon_of(tumbling(5, reach=4), [Event(3, 9, "a")]) == 13


@pytest.mark.parametrize("seed", range(20))
def test_every_endpoint_is_a_snapshot_boundary_and_none_lies_inside(seed: int) -> None:
    events = list(random_stream(seed, keys=["k"], events=30).history()["k"].values())
    cut = windows(snapshot(), events, 0)
    endpoints = {event.start for event in events} | {event.end for event in events}
    assert {window.start for window in cut} | {window.end for window in cut} == endpoints
    for window in cut:
        assert not any(window.start < endpoint < window.end for endpoint in endpoints)
        inside = [event for event in events if belongs(snapshot(), event, window)]
        assert inside == [event for event in events if event.start <= window.start and window.end <= event.end]


@pytest.mark.parametrize("kind", [hopping(9, 4, 1), hopping(3, 7), snapshot(), count_by_start(2), session(3)], ids=str)
def test_the_members_of_a_window_are_the_events_that_belong_to_it(kind: WindowKind) -> None:
    events = list(random_stream(3, keys=["k"], events=30).history()["k"].values())
    horizon = horizon_of(kind, events)
    query = WindowedQuery(kind, [Computation(Names())])
    found = [(window, members) for _, window, members in windows_with_members(query, events, horizon)]
    every = [
        (each, [event for event in events if belongs(kind, event, each)]) for each in windows(kind, events, horizon)
    ]
    assert found == [(window, members) for window, members in every if members]
    assert found


CLOSES_AT = [
    (Echo(), ClipPolicy.NONE, Event(2, 7, "a"), 10),
    (Echo(), ClipPolicy.NONE, Event(2, 10, "a"), 11),
    (Echo(), ClipPolicy.NONE, Event(2, 14, "a"), 15),
    (Echo(), ClipPolicy.LEFT, Event(2, 14, "a"), 15),
    (Echo(), ClipPolicy.RIGHT, Event(2, 14, "a"), 10),
    (Echo(), ClipPolicy.FULL, Event(2, 14, "a"), 10),
    (Echo(), ClipPolicy.FULL, Event.edge(2, "a"), 10),
    (Stamps(), ClipPolicy.NONE, Event(2, 14, "a"), 10),
    (Names(), ClipPolicy.NONE, Event(2, 14, "a"), 10),
]


#         0         10
# a         [-----------)     its end may change until watermark has passed it
#         [---------)
@pytest.mark.parametrize(("module", "clip", "event", "closes_at"), CLOSES_AT)
def test_a_window_waits_for_ends_that_its_module_sees(
    module: Any, clip: ClipPolicy, event: Event[str], closes_at: int
) -> None:
    query = WindowedQuery(hopping(10, 100), [Computation(module)], clip)
    assert evaluate(query, [event], closes_at - 1) == []
    assert [output.window for output in evaluate(query, [event], closes_at)] == [Window(0, 10)]


def test_an_open_event_that_is_not_clipped_blocks_its_windows_until_the_stream_is_closed() -> None:
    query = WindowedQuery(tumbling(10), [Computation(Echo())], ClipPolicy.LEFT)
    assert evaluate(query, [Event.edge(2, "a")], 1000) == []
    assert len(evaluate(query, [Event.edge(2, "a")])) == 1
