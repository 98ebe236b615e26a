"""The reference evaluator by hand: windows, members and closing; what modules see; lifetimes of output.

Events are drawn as bars `[---)`, below a ruler with their ticks.
"""

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
"""Windows with output, each as its start, its end and the names of its members in one word."""


def windows_and_names(kind: WindowKind, *events: Event[str], **limits: int) -> Rows:
    """Evaluate windows of events; a limit is the `complete_to` or the `horizon` of the evaluation."""
    output = evaluate(WindowedQuery(kind, [Computation(Names())]), events, **limits)
    assert all((row.start, row.end) == (row.window.start, row.window.end) for row in output)
    return [(row.window.start, row.window.end, row.value[0]) for row in output]


STAIRS = Event(1, 17, "a"), Event(3, 4, "b"), Event(3, 4, "c"), Event(7, 8, "d")
ENDS = Event(0, 3, "a"), Event(1, 3, "b"), Event(2, 6, "c"), Event.edge(0, "d")

WINDOWS: list[tuple[WindowKind, tuple[Event[str], ...], Rows]] = [
    # a window without members has no output
    (tumbling(5), (), []),
    (snapshot(), (), []),
    (count_by_start(1), (), []),
    (tumbling(5), (Event.point(1, "a"), Event.point(11, "b")), [(0, 5, "a"), (10, 15, "b")]),
    #         -5   0    5    10   15
    # a                [---)            an event is a member of every hopping window it overlaps
    #         [---------)
    #              [---------)
    #                   [---------)
    (hopping(10, 5), (Event(3, 7, "a"),), [(-5, 5, "a"), (0, 10, "a"), (5, 15, "a")]),
    #         0    5    10
    # a          [---)
    # b            [----)       touches the first window, and is not its member
    (tumbling(5), (Event(3, 7, "a"), Event(5, 10, "b")), [(0, 5, "a"), (5, 10, "ab")]),
    #         -7        3         13
    # a                 [)          an offset moves all windows, which lie on both sides of zero
    # b                [)
    (tumbling(10, 3), (Event.point(3, "a"), Event.point(2, "b")), [(-7, 3, "b"), (3, 13, "a")]),
    #         -10       0         10        20
    # a                          [)....)     a reach of 10 widens membership to 19, one of 11 to 20
    (tumbling(10, reach=10), (Event.point(9, "a"),), [(0, 10, "a"), (10, 20, "a")]),
    (tumbling(10, reach=11), (Event.point(9, "a"),), [(0, 10, "a"), (10, 20, "a"), (20, 30, "a")]),
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
        [(1, 3, "a"), (3, 5, "ab"), (5, 9, "b"), (12, 13, "c")],
    ),
    #         1 3   7
    # a       [---------------)
    # b         [)
    # c         [)
    # d             [)
    #         [--)                 the starts 1 and 3
    #           [----)             the starts 3 and 7; a overlaps it, but starts before
    (count_by_start(2), STAIRS, [(1, 4, "abc"), (3, 8, "bcd")]),
    #         0  3  6
    # a       [--)
    # b        [-)
    # c         [---)
    # d       [---------->        has no end to count yet
    #            [---)            the ends 3 and 6; a and b do not even overlap it (B6 item 6)
    (count_by_end(2), ENDS, [(3, 7, "abc")]),
]


@pytest.mark.parametrize(("kind", "events", "expected"), WINDOWS, ids=str)
def test_windows_have_the_events_that_their_kind_says_as_members(
    kind: WindowKind, events: tuple[Event[str], ...], expected: Rows
) -> None:
    assert windows_and_names(kind, *events) == expected


#         0    5    10   15   20
# a          [-------------------->
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [(0, 5, "a")]),  # the horizon is then the tick after its start
        ({"horizon": 5}, [(0, 5, "a")]),
        ({"horizon": 6}, [(0, 5, "a"), (5, 10, "a")]),
        ({"complete_to": 12}, [(0, 5, "a"), (5, 10, "a")]),
    ],
    ids=str,
)
def test_an_open_event_is_a_member_of_the_windows_that_start_before_the_horizon(
    limits: dict[str, int], expected: Rows
) -> None:
    assert windows_and_names(tumbling(5), Event.edge(3, "a"), **limits) == expected


#         1 3 5
# a       [--------->
# b         [-)
def test_the_last_snapshot_of_an_open_event_is_open_and_is_output_when_the_stream_is_closed() -> None:
    events = Event.edge(1, "a"), Event(3, 5, "b")
    assert windows_and_names(snapshot(), *events, complete_to=10**9) == [(1, 3, "a"), (3, 5, "ab")]
    assert windows_and_names(snapshot(), *events) == [(1, 3, "a"), (3, 5, "ab"), (5, INFINITY, "a")]


@pytest.mark.parametrize(
    ("complete_to", "closed_count"), [(EARLIEST, 0), (4, 0), (5, 1), (9, 1), (10, 2), (INFINITY, 2)]
)
def test_a_tumbling_window_closes_when_the_watermark_reaches_its_end(complete_to: int, closed_count: int) -> None:
    windows = windows_and_names(tumbling(5), Event.point(2, "a"), Event.point(7, "b"), complete_to=complete_to)
    assert windows == [(0, 5, "a"), (5, 10, "b")][:closed_count]


@pytest.mark.parametrize(("complete_to", "closed_count"), [(3, 0), (4, 1), (5, 1), (6, 2), (INFINITY, 2)])
def test_a_snapshot_closes_one_tick_after_its_end(complete_to: int, closed_count: int) -> None:
    """An event that starts at the end may still be retracted, which makes one snapshot of two."""
    windows = windows_and_names(snapshot(), Event(1, 5, "a"), Event(3, 5, "b"), complete_to=complete_to)
    assert windows == [(1, 3, "a"), (3, 5, "ab")][:closed_count]


@pytest.mark.parametrize(("complete_to", "closed_count"), [(3, 0), (4, 1), (5, 1), (6, 2)])
def test_a_count_window_closes_when_the_watermark_reaches_its_end(complete_to: int, closed_count: int) -> None:
    starts = Event.point(1, "a"), Event.point(3, "b"), Event.point(5, "c")
    windows = windows_and_names(count_by_start(2), *starts, complete_to=complete_to)
    assert windows == [(1, 4, "ab"), (3, 6, "bc")][:closed_count]


@pytest.mark.parametrize(
    ("events", "complete_to", "horizon"),
    [
        ([], INFINITY, 0),
        ([Event.edge(7, "a")], INFINITY, 8),
        ([Event(3, 9, "a"), Event.edge(7, "b")], INFINITY, 9),
        ([Event(3, 9, "a"), Event.edge(7, "b")], 30, 30),
        ([Event(3, 9, "a")], EARLIEST, 9),
    ],
    ids=["nothing", "a start", "an end", "a punctuation", "no punctuation"],
)
def test_the_horizon_is_the_first_tick_of_which_neither_events_nor_punctuation_say_anything(
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

    expected: list[tuple[Window, list[Event[Any]]]] = []
    for window in windows(kind, events, horizon):
        members = [event for event in events if belongs(kind, event, window)]
        if members:
            expected.append((window, members))
    assert expected

    query = WindowedQuery(kind, [Computation(Names())])
    windows_and_members = [(window, members) for _, window, members in windows_with_members(query, events, horizon)]
    assert windows_and_members == expected


CLOSES_AT = [
    # Echo sees the ends of events, as far as they are not clipped
    (Echo(), ClipPolicy.NONE, Event(2, 7, "a"), 10),
    (Echo(), ClipPolicy.NONE, Event(2, 10, "a"), 11),
    (Echo(), ClipPolicy.NONE, Event(2, 14, "a"), 15),
    (Echo(), ClipPolicy.LEFT, Event(2, 14, "a"), 15),
    (Echo(), ClipPolicy.RIGHT, Event(2, 14, "a"), 10),
    (Echo(), ClipPolicy.FULL, Event(2, 14, "a"), 10),
    (Echo(), ClipPolicy.FULL, Event.edge(2, "a"), 10),
    # Stamps reads no times of events, only writes them; Names has nothing to do with times
    (Stamps(), ClipPolicy.NONE, Event(2, 14, "a"), 10),
    (Names(), ClipPolicy.NONE, Event(2, 14, "a"), 10),
]


#         0         10
# window  [---------)
# a         [-----------)     its end may change until the watermark has passed it
@pytest.mark.parametrize(("module", "clip", "event", "closes_at"), CLOSES_AT)
def test_a_window_waits_for_the_ends_of_events_that_its_module_sees(
    module: Any, clip: ClipPolicy, event: Event[str], closes_at: int
) -> None:
    query = WindowedQuery(hopping(10, 100), [Computation(module)], clip)
    assert evaluate(query, [event], complete_to=closes_at - 1) == []
    assert [output.window for output in evaluate(query, [event], complete_to=closes_at)] == [Window(0, 10)]


def test_an_open_event_whose_end_is_not_clipped_blocks_its_windows_until_the_stream_is_closed() -> None:
    query = WindowedQuery(tumbling(10), [Computation(Echo())], ClipPolicy.LEFT)
    assert evaluate(query, [Event.edge(2, "a")], complete_to=1000) == []
    assert len(evaluate(query, [Event.edge(2, "a")])) == 1


class Lengths(Aggregate[Any, tuple[int, ...]]):
    """How long the events of a window last, as far as its module sees it."""

    name, version = "test.lengths", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[Any]], window: Window) -> tuple[int, ...]:
        return tuple(sorted(event.duration for event in events))


NONE, LEFT, RIGHT, FULL = ClipPolicy
WINDOW = Window(0, 10)
LIFETIMES_IN_WINDOW: list[tuple[Event[str], dict[ClipPolicy, tuple[int, int]]]] = [
    #         -3 0         10  14
    # a       [----------------)
    #            [---------)
    (Event(-3, 14, "a"), {NONE: (-3, 14), LEFT: (0, 14), RIGHT: (-3, 10), FULL: (0, 10)}),
    (Event.edge(-3, "a"), {NONE: (-3, INFINITY), LEFT: (0, INFINITY), RIGHT: (-3, 10), FULL: (0, 10)}),
    # no policy changes an event inside the window
    (Event(2, 5, "a"), dict.fromkeys(ClipPolicy, (2, 5))),
    (Event(0, 10, "a"), dict.fromkeys(ClipPolicy, (0, 10))),
    # nor one that lies outside as a whole: before the window as a member by reach, after it by count
    (Event(-3, -1, "a"), dict.fromkeys(ClipPolicy, (-3, -1))),
    (Event(-3, 0, "a"), dict.fromkeys(ClipPolicy, (-3, 0))),
    (Event(12, 14, "b"), dict.fromkeys(ClipPolicy, (12, 14))),
]
"""Events, each with its lifetime as a module of the window [0, 10) sees it, by policy."""


@pytest.mark.parametrize(("event", "lifetimes"), LIFETIMES_IN_WINDOW, ids=str)
def test_a_clip_moves_the_start_or_end_of_an_event_that_reaches_beyond_the_window(
    event: Event[str], lifetimes: dict[ClipPolicy, tuple[int, int]]
) -> None:
    for policy, (start, end) in lifetimes.items():
        assert clip(event, WINDOW, policy) == Event(start, end, event.payload)


@pytest.mark.parametrize("policy", ClipPolicy)
def test_membership_is_decided_before_clipping(policy: ClipPolicy) -> None:
    output = evaluate(WindowedQuery(tumbling(10), [Computation(Seen())], policy), [Event(-3, 14, "a")])
    assert [row.window for row in output] == [Window(-10, 0), Window(0, 10), Window(10, 20)]


class Outputs(Operator[Any, str]):
    """Returns, for the window [0, 10), a row that reaches beyond each of its ends, one outside, and one without times.

    They are those of the drawing below.
    """

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


LIFETIMES_OF_RESULTS = {
    TimestampPolicy.ALIGN: (0, 10),
    TimestampPolicy.POINT_AT_END: (10, 11),
    TimestampPolicy.TIME_BOUND: (3, 10),
}


@pytest.mark.parametrize("policy", [policy for policy in TimestampPolicy if not policy.is_set_by_module])
def test_the_result_of_an_aggregate_gets_the_window_or_its_end_or_begins_with_its_first_event(
    policy: TimestampPolicy,
) -> None:
    query = WindowedQuery(tumbling(10), [Computation(Names())], timestamps=policy)
    start, end = LIFETIMES_OF_RESULTS[policy]
    assert evaluate(query, [Event.point(3, "a")]) == [OutputEvent(Window(0, 10), start, end, value=("a",))]


LENGTHS_BY_TIME_BOUND = WindowedQuery(
    tumbling(10), [Computation(Lengths())], ClipPolicy.FULL, TimestampPolicy.TIME_BOUND
)


def test_a_time_bound_result_changes_where_more_becomes_known_of_events() -> None:
    """As long as the end of an event is not known, it lasts as long as the window.

    time       0  3 4      10    16  20
    a          [----)
    b             [--------------)
    windows    [-----------)
                           [---------)
    """
    events = [Event(0, 4, "a"), Event(3, 16, "b")]
    rows = [(row.start, row.end, *row.value) for row in evaluate(LENGTHS_BY_TIME_BOUND, events)]
    assert rows == [
        (0, 3, (10,)),  # a, up to the end of the window
        (3, 4, (7, 10)),  # b has started, 7 ticks before that end
        (4, 10, (4, 7)),  # a has ended
        (10, 16, (10,)),  # b, in the second window
        (16, 20, (6,)),  # b has ended
    ]


def test_a_time_bound_result_uses_the_ends_of_events_at_once_where_ends_do_not_move() -> None:
    events = [Event(0, 4, "a"), Event(3, 16, "b")]
    query = replace(LENGTHS_BY_TIME_BOUND, event_ends_move=False)
    rows = [(row.start, row.end, *row.value) for row in evaluate(query, events)]
    assert rows == [
        (0, 3, (4,)),  # a
        (3, 10, (4, 7)),  # b has started, 7 ticks before the end of the window
        (10, 20, (6,)),  # b, in the second window
    ]


@pytest.mark.parametrize("kind", [tumbling(7), hopping(9, 4), snapshot(), count_by_start(2), count_by_end(2)], ids=str)
def test_a_change_of_the_input_alters_no_time_bound_result_before_its_sync_time(kind: WindowKind) -> None:
    """SI-48: the results of events with the change and without it are the same before that tick."""
    module = Names() if kind == snapshot() else Lengths()
    query = WindowedQuery(kind, [Computation(module)], timestamps=TimestampPolicy.TIME_BOUND)
    changes_with_results_before = 0
    for seed in range(12):
        stream = random_stream(seed, keys=("k",), payload=lambda random: random.choice("abc"))
        changes = [step.change for step in stream.changes()]
        for place, change in enumerate(changes):
            events_without = fold(changes[:place]).values()
            events_with = fold(changes[: place + 1]).values()
            live_without = live_results_before(change.sync_time, evaluate(query, events_without, horizon=90))
            live_with = live_results_before(change.sync_time, evaluate(query, events_with, horizon=90))
            assert live_without == live_with, change
            if live_without:
                changes_with_results_before += 1
    assert changes_with_results_before > 30


def live_results_before(time: int, rows: list[OutputEvent]) -> list[tuple[int, Any]]:
    """Return each tick before a time with each result that is live then, whichever window has it.

    Results without an end are cut at tick 100, which is after all streams here.
    """
    live: list[tuple[int, Any]] = []
    for row in rows:
        live += [(tick, row.value) for tick in range(row.start, min(row.end, time, 100))]
    return sorted(live)


def test_a_window_without_an_end_has_no_point_at_its_end() -> None:
    query = WindowedQuery(snapshot(), [Computation(Names())], timestamps=TimestampPolicy.POINT_AT_END)
    assert evaluate(query, [Event.edge(3, "a")]) == []


def test_several_aggregates_share_a_window_each_with_its_own_part_of_the_payload() -> None:
    flights = [Event(0, 4, {"to": "b", "miles": 10.0}), Event(4, 10, {"to": "a", "miles": 20.0})]
    computations = [
        Computation(Names(), select=lambda flight: flight["to"]),
        Computation(Count()),
        Computation(TimeWeightedAverage(), select=lambda flight: flight["miles"]),
    ]
    output = evaluate(WindowedQuery(tumbling(10), computations, ClipPolicy.FULL), flights)
    assert [row.value for row in output] == [("ab", 2, 16.0)]  # 4 ticks of 10 miles, 6 of 20


def test_the_type_that_a_module_declares_is_asked_once_for_a_window_and_not_for_each_row() -> None:
    calls_of_result_field = list[None]()

    class Asked(Echo):
        @classmethod
        def result_field(cls) -> Field:
            calls_of_result_field.append(None)
            return super().result_field()

    events = [Event(start, 10, start) for start in range(9)]
    query = WindowedQuery(tumbling(10), [Computation(Asked())], timestamps=TimestampPolicy.UNCHANGED)
    assert len(evaluate(query, events)) == 9
    assert len(calls_of_result_field) == 1
