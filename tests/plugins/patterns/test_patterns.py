"""Patterns over windows and over streams: what each finds, drawn, and what its definition finds in random events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import combinations, pairwise, permutations
from math import nan
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, ClipPolicy, Event, OutputContract, StreamOperator, TimestampPolicy, Window, tumbling
from muntin.errors import PolicyError
from muntin.testing import Computation, Script, WindowedQuery, evaluate
from muntin_patterns import (
    ConsecutiveRise,
    Crossing,
    FollowedBy,
    FollowedWithout,
    Formation,
    HeadAndShoulders,
    Match,
    Part,
    Rise,
    Silence,
    StateMachine,
    Step,
    ThresholdCrossing,
    Transition,
)

Samples = list[Event[float | None]]
UP = ThresholdCrossing(20.0, "up")
DOWN = ThresholdCrossing(20.0, "down")


def points(*values: float | None, start: int = 0) -> Samples:
    """Return a sample at each tick from a start on."""
    return [Event.point(at, value) for at, value in enumerate(values, start)]


def find(module: Any, events: Iterable[Event[Any]], window: Window) -> list[tuple[int, int, Any]]:
    """Return what a module finds in a window, as (start, end, payload) of each result."""
    return [(row.start, row.end, row.payload) for row in module.compute_result(list(events), window)]


LOW_AT_1 = Event.point(1, 1.0)
HIGH_AT_1 = Event.point(1, 2.0)
HIGHER_AT_3 = Event.point(3, 3.0)
SAMPLES: list[tuple[Any, Samples, list[tuple[int, int, Any]]]] = [
    # pattern, samples, and what it finds in the window from 0 to 20: start, end, payload
    #                *         *
    # 20 ---------------------------
    #             *     *   *        *
    #          0  1  2  3   4  5     6
    (
        ThresholdCrossing(20.0),
        points(18.0, 21.0, 19.0, 18.0, 22.0, 17.0),
        [
            (1, 2, Crossing(18.0, 21.0, "up")),
            (2, 3, Crossing(21.0, 19.0, "down")),
            (4, 5, Crossing(18.0, 22.0, "up")),
            (5, 6, Crossing(22.0, 17.0, "down")),
        ],
    ),
    (UP, points(18.0, 21.0, 19.0), [(1, 2, Crossing(18.0, 21.0, "up"))]),
    (DOWN, points(18.0, 21.0, 19.0), [(2, 3, Crossing(21.0, 19.0, "down"))]),
    # what equals the threshold is not above it; nulls and NaN are no samples
    (ThresholdCrossing(20.0), points(18.0, 20.0, 18.0), []),
    (ThresholdCrossing(20.0), points(20.0, 21.0), [(1, 2, Crossing(20.0, 21.0, "up"))]),
    (ThresholdCrossing(20.0), points(18.0, None, nan, 21.0), [(3, 4, Crossing(18.0, 21.0, "up"))]),
    *((ThresholdCrossing(20.0), points(*values), []) for values in ((), (21.0,), (None,), (nan, 21.0), (21.0, 22.0))),
    #    *          21 and 19 both at 4: they stand in the order of the query
    # ----------
    # *  *
    (
        ThresholdCrossing(20.0),
        [Event.point(1, 18.0), Event(4, 9, 19.0), Event.point(4, 21.0)],
        [(4, 5, Crossing(19.0, 21.0, "up"))],
    ),
    (
        ThresholdCrossing(20.0),
        [Event.point(1, 18.0), Event.point(4, 21.0), Event(4, 9, 19.0)],
        [(4, 5, Crossing(18.0, 21.0, "up")), (4, 5, Crossing(21.0, 19.0, "down"))],
    ),
    #              *
    #        *   *   *
    #    * *   *         *
    #    0 1 2 3 4 5 6   7
    #        [---------)         1, 2, 3 break at 3 and rise again from there
    (ConsecutiveRise(3), points(2.0, 2.0, 4.0, 3.0, 5.0, 6.0, 4.0), [(3, 6, Rise(3, 3.0, 6.0))]),
    (
        ConsecutiveRise(2),
        points(2.0, 2.0, 4.0, 3.0, 5.0, 6.0, 4.0),
        [(1, 3, Rise(2, 2.0, 4.0)), (3, 6, Rise(3, 3.0, 6.0))],
    ),
    *((ConsecutiveRise(2), points(*values), []) for values in ((1.0, 1.0, 1.0), (3.0, 2.0, 1.0), (3.0,))),
    (ConsecutiveRise(3), points(1.0, None, 2.0, nan, 3.0), [(0, 5, Rise(3, 1.0, 3.0))]),
    # between samples that start together there is no rise, whichever comes first
    (ConsecutiveRise(2), [LOW_AT_1, HIGH_AT_1, HIGHER_AT_3], [(1, 4, Rise(2, 2.0, 3.0))]),
    (ConsecutiveRise(2), [HIGH_AT_1, LOW_AT_1, HIGHER_AT_3], [(1, 4, Rise(2, 1.0, 3.0))]),
    # a rise is cut at the border of the window, from 0 to 20
    (ConsecutiveRise(2), points(*map(float, range(30)), start=-2), [(0, 20, Rise(20, 2.0, 21.0))]),
    #       *            8
    #   *       *        5
    #     *   *          3, the neckline
    # *           *      1
    # 0 1 2 3 4 5 6
    #   [--------)
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0), [(1, 6, Formation(5.0, 8.0, 5.0, 3.0))]),
    # the first of equal neighbours stands for all, and two formations may share peaks
    (
        HeadAndShoulders(),
        points(1.0, 5.0, 5.0, 3.0, 8.0, 8.0, None, 3.0, 5.0, 5.0, 1.0),
        [(1, 9, Formation(5.0, 8.0, 5.0, 3.0))],
    ),
    (
        HeadAndShoulders(),
        points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0),
        [(1, 6, Formation(5.0, 8.0, 5.0, 3.0)), (5, 10, Formation(5.0, 8.0, 5.0, 3.0))],
    ),
    # the neckline is the mean of the troughs
    (
        HeadAndShoulders(tolerance=0.5),
        points(1.0, 5.0, 3.0, 8.0, 2.0, 5.0, 1.0),
        [(1, 6, Formation(5.0, 8.0, 5.0, 2.5))],
    ),
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 5.0, 3.0, 5.0, 1.0), []),  # the head is no higher than the shoulders
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 4.0, 3.0, 5.0, 1.0), []),  # it is lower
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 6.0, 1.0), []),  # the shoulders are not level
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 2.0, 5.0, 1.0), []),  # the troughs are not
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0), []),  # nothing shows that the right shoulder is a peak
    (HeadAndShoulders(), points(5.0, 3.0, 8.0, 3.0, 5.0, 1.0), []),  # nor the left one
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 4.0, 3.5, 5.0, 1.0), []),  # a peak lies between
    (HeadAndShoulders(), points(), []),
    # only samples that start in the window count
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0, start=-1), []),
    (HeadAndShoulders(), points(1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0, start=14), []),
]


@pytest.mark.parametrize(("module", "samples", "expected"), SAMPLES, ids=lambda value: getattr(value, "name", ""))
def test_a_pattern_of_samples_is_found(module: Any, samples: Samples, expected: list[tuple[int, int, Any]]) -> None:
    assert find(module, samples, Window(0, 20)) == expected


@pytest.mark.parametrize(("right_shoulder", "is_level"), [(101.5, True), (98.5, True), (104.0, False), (97.0, False)])
def test_shoulders_are_level_within_the_tolerance(right_shoulder: float, is_level: bool) -> None:
    left_shoulder = 100.0
    samples = points(1.0, left_shoulder, 50.0, 120.0, 50.0, right_shoulder, 1.0)

    formations = find(HeadAndShoulders(tolerance=0.03), samples, Window(0, 20))

    assert len(formations) == (1 if is_level else 0)


def test_a_crossing_between_two_windows_is_reported_in_the_later_one_alone() -> None:
    # 0         10        20
    #           :  *  *   :
    # ------------------------
    #     *  *  :         :
    script = Script().point("a", 4, 1.0).point("b", 7, 2.0).point("c", 13, 8.0).point("d", 16, 9.0)
    assert over_windows(script, tumbling(10, reach=10), ThresholdCrossing(5.0)) == [(13, Crossing(2.0, 8.0, "up"))]


@pytest.mark.parametrize("pattern", [ThresholdCrossing, ConsecutiveRise, HeadAndShoulders])
def test_patterns_of_samples_do_not_clip_the_starts_of_events(pattern: Any) -> None:
    assert pattern.accepted_clips == {ClipPolicy.NONE, ClipPolicy.RIGHT}


def test_a_crossing_alone_depends_on_no_later_sample() -> None:
    assert ThresholdCrossing.contract is OutputContract.TIME_BOUND
    assert ConsecutiveRise.contract is OutputContract.WINDOW_BASED
    assert HeadAndShoulders.contract is OutputContract.WINDOW_BASED


def over_windows(script: Script, windows: Any, module: Any) -> list[tuple[int, Any]]:
    """Return start and payload of each result of a module over the windows of a stream."""
    query = WindowedQuery(windows, [Computation(module)], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    return [(row.start, row.value) for row in script.close().run(query).get(None, [])]


def pairs(events: Sequence[Event[Step[str]]], within: int, window: Window = Window(0, 30)) -> list[str]:  # noqa: B008
    """Return the labels of each pair that follow each other within a time, such as "ab"."""
    rows = FollowedBy[str](within).compute_result(events, window)
    return sorted(f"{row.payload.first}{row.payload.second}" for row in rows)


def lasting(**lifetimes: tuple[int, int]) -> list[Event[Step[str]]]:
    """Return an event of each label, with its start and end."""
    return [Event(start, end, Step(label)) for label, (start, end) in lifetimes.items()]


PAIRS: list[tuple[list[Event[Step[str]]], int, list[str]]] = [
    # events, the longest time from the end of the first to the start of the second, and the pairs
    # 0    5    10   15   20
    # [-a)
    #        [-b)
    #                     [c)
    (lasting(a=(0, 3), b=(7, 10), c=(20, 22)), 4, ["ab"]),
    (lasting(a=(0, 3), b=(7, 10), c=(20, 22)), 10, ["ab", "bc"]),
    (lasting(a=(0, 3), b=(7, 10), c=(20, 22)), 17, ["ab", "ac", "bc"]),
    # [-a)          a ends at 3
    #    [b)        b starts at 3, at once: both ends of the time are included
    #        [c)    c starts at 7, after 4
    (lasting(a=(0, 3), b=(3, 4), c=(7, 8)), 0, ["ab"]),
    (lasting(a=(0, 3), b=(3, 4), c=(7, 8)), 3, ["ab", "bc"]),
    (lasting(a=(0, 3), b=(3, 4), c=(7, 8)), 4, ["ab", "ac", "bc"]),
    # [---a----)
    #    [---b----)     events that overlap are no pair
    (lasting(a=(0, 9), b=(3, 12)), 30, []),
    # [a- - - -
    #      [b)          what has not ended opens no match
    (lasting(a=(0, INFINITY), b=(5, 7)), 30, []),
    # [a)
    # [b)
    #      [c)          all that end together are followed
    (lasting(a=(0, 2), b=(0, 2), c=(5, 7)), 5, ["ac", "bc"]),
    # [a)  [b)  [c)     only a opens, only c closes
    (
        [
            Event(0, 2, Step("a", opens=True, closes=False)),
            Event(5, 7, Step("b", opens=False, closes=False)),
            Event(10, 12, Step("c", opens=False, closes=True)),
        ],
        30,
        ["ac"],
    ),
]


@pytest.mark.parametrize(("events", "within", "expected"), PAIRS)
def test_the_second_starts_within_the_time_after_the_end_of_the_first(
    events: list[Event[Step[str]]], within: int, expected: list[str]
) -> None:
    assert pairs(events, within) == expected


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    events = []
    for label in "abcdefgh":
        step = Step(label, opens=random.random() < 0.7, closes=random.random() < 0.7)
        start = random.randrange(-10, 30)
        events.append(Event(start, start + random.randint(1, 9), step))
    window = Window(0, 20)
    within = random.randrange(15)

    expected: list[str] = []
    for first, second in permutations(events, 2):
        is_allowed = first.payload.opens and second.payload.closes
        is_in_time = 0 <= second.start - first.end <= within
        is_in_window = window.start <= second.start < window.end
        if is_allowed and is_in_time and is_in_window:
            expected.append(f"{first.payload.label}{second.payload.label}")

    assert pairs(events, within, window) == sorted(expected)


def test_a_match_is_a_point_at_the_start_of_the_second() -> None:
    rows = FollowedBy[str](timedelta(microseconds=4)).compute_result(lasting(a=(0, 3), b=(5, 9)), Window(0, 30))
    assert rows == [Event(5, 6, Match("a", "b", ended=3, started=5))]


def test_with_tumbling_windows_and_a_reach_each_pair_is_reported_once() -> None:
    # 0         10        20        30
    # [-a)      :         :
    #       [b) :         :          a is followed by b in its own window,
    #           :  [c)    :          both by c in the next; a by c after 10, the longest time
    script = Script().insert("1", 0, 3, Step("a")).insert("2", 6, 8, Step("b")).insert("3", 13, 15, Step("c"))

    assert over_windows(script, tumbling(10, reach=11), FollowedBy[str](10)) == [
        (6, Match("a", "b", ended=3, started=6)),
        (13, Match("a", "c", ended=3, started=13)),
        (13, Match("b", "c", ended=8, started=13)),
    ]

    # with a reach of 10 the window of c would lack a
    with pytest.raises(PolicyError, match=r"write: tumbling\(10, reach=11\)"):
        over_windows(script, tumbling(10, reach=10), FollowedBy[str](10))


# Patterns over streams: operators that follow events in order, without windows.

COMPLETE_TO = 60
"""The time up to which streams are complete, after all events."""


def results_of(operator: StreamOperator[Any, Any, Any], events: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return the starts and values of the results of an operator over points."""
    history = [Event.point(time, payload) for time, payload in events]
    return [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(operator), history, COMPLETE_TO)]


def random_events(random: Random, *payloads: Any) -> list[tuple[int, Any]]:
    """Draw the times and payloads of twelve points, in order of time."""
    return sorted(((random.randrange(50), random.choice(payloads)) for _ in range(12)), key=lambda event: event[0])


@pytest.mark.parametrize("seed", range(10))
def test_a_silence_is_a_gap_between_events(seed: int) -> None:
    times = [time for time, _ in random_events(Random(seed), None)]

    results = results_of(Silence(after=7), [(time, None) for time in times])

    expected: list[tuple[int, int]] = []  # when it is noticed, and since when there is silence
    for time, next_time in pairwise([*times, INFINITY]):
        if next_time - time >= 7 and time + 7 <= COMPLETE_TO:
            expected.append((time + 7, time))
    assert [(time, silence.since) for time, silence in results] == expected


FIRST = Part("a", closes=False)
SECOND = Part("b", opens=False)
BREAK = Part("x", opens=False, closes=False, breaks=True)


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_is_two_events_with_neither_a_break_nor_another_second_between_them(seed: int) -> None:
    events = random_events(Random(seed), FIRST, FIRST, SECOND, BREAK)

    results = results_of(FollowedWithout(within=9), events)

    expected: list[tuple[int, int]] = []  # the times of the second and of the first
    for (first_place, (began, first)), (second_place, (time, second)) in combinations(enumerate(events), 2):
        is_pair = first is FIRST and second is SECOND and time - began <= 9
        payloads_between = [payload for _, payload in events[first_place + 1 : second_place]]
        if is_pair and SECOND not in payloads_between and BREAK not in payloads_between:
            expected.append((time, began))
    assert sorted((time, match.began) for time, match in results) == sorted(expected)
    for _, match in results:
        assert match.first == "a"
        assert match.second == "b"


def test_an_event_never_follows_itself() -> None:
    events_that_open_and_close = [(1, Part("a")), (3, Part("b"))]

    results = results_of(FollowedWithout(within=5), events_that_open_and_close)

    assert [match.first for _, match in results] == ["a"]


def test_a_machine_goes_from_state_to_state_by_events_and_by_time() -> None:
    door = StateMachine(
        "shut",
        transitions=[("shut", "open", "open"), ("open", "close", "shut"), ("ajar", "close", "shut")],
        timeouts=[("open", 5, "ajar")],
    )
    # No transition has an event "knock", and none leads from "shut" by "close".
    events = [(1, "open"), (3, "close"), (10, "open"), (12, "knock"), (15, "close"), (20, "close")]

    assert results_of(door, events) == [
        # time, and the states before and after, the event, and since when the state before lasted
        (1, Transition("shut", "open", "open", None)),
        (3, Transition("open", "shut", "close", 1)),
        (10, Transition("shut", "open", "open", None)),
        (15, Transition("open", "ajar", None, 10)),
        (15, Transition("ajar", "shut", "close", 15)),
    ]
