"""The reference evaluator by hand: windows, members and closing; what modules see; lifetimes of output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from muntin import (
    EARLIEST,
    INFINITY,
    Aggregate,
    ClipPolicy,
    Event,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    count_by_end,
    count_by_start,
    hopping,
    session,
    snapshot,
    tumbling,
)
from muntin.changes import fold
from muntin.schemas import Field
from muntin.testing import Computation, OutputEvent, WindowedQuery, evaluate, horizon_of
from muntin.testing.reference import belongs, clip, windows, windows_with_members
from muntin.windows import WindowKind
from muntin_engine.testing import random_stream
from tests.modules.small import Count, Echo, Names, Seen, Stamps, TimeWeightedAverage

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
    #         -7        3         13
    # a                 [)          an offset moves all windows, which lie on both sides of zero
    # b                [)
    (tumbling(10, 3), (Event.point(3, "a"), Event.point(2, "b")), ALL, [(-7, 3, "b"), (3, 13, "a")]),
    #         -10       0         10        20
    # a                          [)....)     a reach widens membership: to 15, but not to 20
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
    #         0  3  6
    # a       [--)
    # b        [-)
    # c         [---)
    # d       [---------->        has no end to count yet
    #            [---)            the ends 3 and 6; a and b do not even overlap it (B6 item 6)
    (count_by_end(2), ENDS, ALL, [(3, 7, "abc")]),
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


def test_the_horizon_of_ticks_below_zero_lies_below_zero() -> None:
    assert horizon_of(tumbling(5), [Event(-12, -9, "a")]) == -9
    assert horizon_of(tumbling(5), []) == 0


@pytest.mark.parametrize("kind", [hopping(9, 4, 1), hopping(3, 7), snapshot(), count_by_start(2), session(3)], ids=str)
def test_the_members_of_a_window_are_the_events_that_belong_to_it(kind: WindowKind) -> None:
    events = list(random_stream(3, keys=["k"], events=30).history()["k"].values())
    horizon = horizon_of(kind, events)
    query = WindowedQuery(kind, [Computation(Names())])
    windows_and_members = [(window, members) for _, window, members in windows_with_members(query, events, horizon)]
    expected: list[tuple[Window, list[Event[Any]]]] = []
    for window in windows(kind, events, horizon):
        members = [event for event in events if belongs(kind, event, window)]
        if members:
            expected.append((window, members))
    assert windows_and_members == expected
    assert windows_and_members


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


WINDOW = Window(0, 10)


class Lengths(Aggregate[Any, tuple[int, ...]]):
    name, version = "test.lengths", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> tuple[int, ...]:
        return tuple(sorted(event.duration for event in events))


NONE, LEFT, RIGHT, FULL = ClipPolicy
CLIPPED: list[tuple[Event[str], dict[ClipPolicy, tuple[int, int]]]] = [
    #         -3 0         10  14
    # a       [----------------)
    #            [---------)
    (Event(-3, 14, "a"), {NONE: (-3, 14), LEFT: (0, 14), RIGHT: (-3, 10), FULL: (0, 10)}),
    (Event.edge(-3, "a"), {NONE: (-3, INFINITY), LEFT: (0, INFINITY), RIGHT: (-3, 10), FULL: (0, 10)}),
    # what lies inside stays, as do members outside: by reach, before the window, and by count, after it
    (Event(2, 5, "a"), dict.fromkeys(ClipPolicy, (2, 5))),
    (Event(0, 10, "a"), dict.fromkeys(ClipPolicy, (0, 10))),
    (Event(-3, -1, "a"), dict.fromkeys(ClipPolicy, (-3, -1))),
    (Event(-3, 0, "a"), dict.fromkeys(ClipPolicy, (-3, 0))),
    (Event(12, 14, "b"), dict.fromkeys(ClipPolicy, (12, 14))),
]


@pytest.mark.parametrize(("event", "lifetimes"), CLIPPED, ids=str)
def test_a_clip_moves_the_ends_that_lie_outside(
    event: Event[str], lifetimes: dict[ClipPolicy, tuple[int, int]]
) -> None:
    for policy, lifetime in lifetimes.items():
        assert clip(event, WINDOW, policy) == Event(*lifetime, event.payload)


@pytest.mark.parametrize("policy", ClipPolicy)
def test_membership_is_decided_before_clipping(policy: ClipPolicy) -> None:
    output = evaluate(WindowedQuery(tumbling(10), [Computation(Seen())], policy), [Event(-3, 14, "a")])
    assert [row.window for row in output] == [Window(-10, 0), Window(0, 10), Window(10, 20)]


class Outputs(Operator[Any, str]):
    """Returns, from a window [0, 10), rows around it and one without a lifetime."""

    name, version = "show.outputs", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.UNRESTRICTED

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> Iterable[Event[str] | str]:
        return [Event(2, 14, "over"), Event(-2, 3, "early"), Event(12, 14, "late"), "bare"]


#         -2  0  2  3     10 12  14
# over           [---------------)
# early    [--------)
# late                        [--)
# bare                             has no lifetime of its own
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (TimestampPolicy.ALIGN, [(0, 10, "over"), (0, 10, "early"), (0, 10, "late"), (0, 10, "bare")]),
        (TimestampPolicy.UNCHANGED, [(2, 14, "over"), (-2, 3, "early"), (12, 14, "late"), (0, 10, "bare")]),
        (TimestampPolicy.CLIP, [(2, 10, "over"), (0, 3, "early"), (0, 10, "bare")]),
        (TimestampPolicy.POINT_AT_END, [(10, 11, "over"), (10, 11, "early"), (10, 11, "late"), (10, 11, "bare")]),
    ],
)
def test_a_timestamp_policy_says_which_lifetime_output_gets(
    policy: TimestampPolicy, expected: list[tuple[int, int, str]]
) -> None:
    query = WindowedQuery(tumbling(10), [Computation(Outputs())], ClipPolicy.FULL, policy)
    output = evaluate(query, [Event(0, 10, None)])
    assert [(row.start, row.end, row.value) for row in output] == expected


@pytest.mark.parametrize("policy", [policy for policy in TimestampPolicy if not policy.is_set_by_module])
def test_an_aggregate_gets_the_window_or_its_end(policy: TimestampPolicy) -> None:
    output = evaluate(WindowedQuery(tumbling(10), [Computation(Names())], timestamps=policy), [Event.point(3, "a")])
    lifetimes = {TimestampPolicy.POINT_AT_END: (10, 11), TimestampPolicy.TIME_BOUND: (3, 10)}
    lifetime = lifetimes.get(policy, (0, 10))
    assert output == [OutputEvent(Window(0, 10), *lifetime, ("a",))]


def test_a_time_bound_result_changes_where_more_becomes_known() -> None:
    """
                  0    5    10   15
    a             [-->                   ends at 4; until then that is not known
    b                [------------)      3 to 16
    result        [--)                   0 to 3: a goes on, so it lasts the whole window
                     [>                  3 to 4: so do both
                      [-----)            4 to 10: a has ended
    """
    events = [Event(0, 4, "a"), Event(3, 16, "b")]
    query = WindowedQuery(tumbling(10), [Computation(Lengths())], ClipPolicy.FULL, TimestampPolicy.TIME_BOUND)
    rows = [(row.start, row.end, *row.value) for row in evaluate(query, events)]
    assert rows == [(0, 3, (10,)), (3, 4, (7, 10)), (4, 10, (4, 7)), (10, 16, (10,)), (16, 20, (6,))]
    rows = [(row.start, row.end, *row.value) for row in evaluate(replace(query, event_ends_move=False), events)]
    assert rows == [(0, 3, (4,)), (3, 10, (4, 7)), (10, 20, (6,))]


@pytest.mark.parametrize("window", [tumbling(7), hopping(9, 4), snapshot(), count_by_start(2), count_by_end(2)])
def test_what_changes_the_input_from_a_tick_on_changes_no_time_bound_result_before_it(window: WindowKind) -> None:
    """The sync time of each change of random streams is that tick (SI-48)."""
    module = Names() if window == snapshot() else Lengths()
    query = WindowedQuery(window, [Computation(module)], timestamps=TimestampPolicy.TIME_BOUND)
    compared = 0
    for seed in range(12):
        stream = random_stream(seed, keys=("k",), payload=lambda random: random.choice("abc"))
        changes = [step.change for step in stream.changes()]
        for place, change in enumerate(changes):
            before, after = (fold(history).values() for history in (changes[:place], changes[: place + 1]))
            live_before = live_results_before(change.sync_time, evaluate(query, before, horizon=90))
            live_after = live_results_before(change.sync_time, evaluate(query, after, horizon=90))
            assert live_before == live_after, change
            if live_before:
                compared += 1
    assert compared > 30


def live_results_before(time: int, rows: list[OutputEvent]) -> list[tuple[int, Any]]:
    """Return the results that are live at each tick before a time, whichever window has them."""
    live: list[tuple[int, Any]] = []
    for row in rows:
        live += [(tick, row.value) for tick in range(row.start, min(row.end, time, 100))]
    return sorted(live)


def test_a_window_without_an_end_has_no_point_at_its_end() -> None:
    query = WindowedQuery(snapshot(), [Computation(Names())], timestamps=TimestampPolicy.POINT_AT_END)
    assert evaluate(query, [Event.edge(3, "a")]) == []


def test_several_aggregates_share_a_window_each_with_its_own_input() -> None:
    flights = [Event(0, 4, {"to": "b", "miles": 10.0}), Event(4, 10, {"to": "a", "miles": 20.0})]
    computations = [
        Computation(Names(), lambda flight: flight["to"]),
        Computation(Count()),
        Computation(TimeWeightedAverage(), lambda flight: flight["miles"]),
    ]
    output = evaluate(WindowedQuery(tumbling(10), computations, ClipPolicy.FULL), flights)
    assert [row.value for row in output] == [("ab", 2, 16.0)]


def test_the_type_that_a_module_declares_is_asked_once_for_each_window_and_not_for_each_row() -> None:
    asked = list[None]()

    class Asked(Echo):
        @classmethod
        def result_field(cls) -> Field:
            asked.append(None)
            return super().result_field()

    events = [Event(start, 10, start) for start in range(9)]
    results = evaluate(
        WindowedQuery(tumbling(10), [Computation(Asked())], timestamps=TimestampPolicy.UNCHANGED), events
    )
    assert (len(results), len(asked)) == (9, 1)
