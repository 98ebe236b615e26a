"""The reference evaluator: what modules see, and which lifetimes their output gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from muntin import (
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
    snapshot,
    tumbling,
)
from muntin.changes import fold
from muntin.testing import Computation, OutputEvent, WindowedQuery, evaluate
from muntin.testing.reference import clip
from muntin.windows import WindowKind
from muntin_engine.testing import random_stream
from tests.sdk.query_modules import Count, Echo, Names, Seen, TimeWeightedAverage

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
    *((event, dict.fromkeys(ClipPolicy, (event.start, event.end))) for event in (Event(2, 5, "a"), Event(0, 10, "a"))),
    *(
        (event, dict.fromkeys(ClipPolicy, (event.start, event.end)))
        for event in (Event(-3, -1, "a"), Event(-3, 0, "a"))
    ),
    (Event(12, 14, "b"), dict.fromkeys(ClipPolicy, (12, 14))),
]


@pytest.mark.parametrize(("event", "seen"), CLIPPED, ids=str)
def test_a_clip_moves_the_ends_that_lie_outside(event: Event[str], seen: dict[ClipPolicy, tuple[int, int]]) -> None:
    for policy, lifetime in seen.items():
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
def test_what_changes_the_input_from_a_tick_on_changes_no_time_bound_result_before_it(
    window: WindowKind,
) -> None:
    """The sync time of each change of random streams is that tick (SI-48)."""
    module = Names() if window == snapshot() else Lengths()
    query = WindowedQuery(window, [Computation(module)], timestamps=TimestampPolicy.TIME_BOUND)
    compared = 0
    for seed in range(12):
        stream = random_stream(seed, keys=("k",), payload=lambda random: random.choice("abc"))
        changes = [step.change for step in stream.changes()]
        for place, change in enumerate(changes):
            before, after = (fold(some).values() for some in (changes[:place], changes[: place + 1]))
            told = [told_before(change.sync_time, evaluate(query, events, horizon=90)) for events in (before, after)]
            assert told[0] == told[1], change
            compared += bool(told[0])
    assert compared > 30


def told_before(time: int, rows: list[OutputEvent]) -> list[tuple[int, Any]]:
    """Return what stands at each tick before a time, whichever window says it."""
    return sorted((tick, row.value) for row in rows for tick in range(row.start, min(row.end, time, 100)))


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


#         0   4      10
# 10.0    [---)
# 20.0        [---------)     6 ticks of it lie inside
def test_a_time_weighted_average_needs_full_clip_to_be_an_average() -> None:
    events = [Event(0, 4, 10.0), Event(4, 14, 20.0)]
    window = hopping(10, 100)
    full = evaluate(WindowedQuery(window, [Computation(TimeWeightedAverage())], ClipPolicy.FULL), events)
    none = evaluate(WindowedQuery(window, [Computation(TimeWeightedAverage())], ClipPolicy.NONE), events)
    assert [row.value for row in full] == [(16.0,)]
    assert [row.value for row in none] == [(24.0,)]


ONE_MODULE_EVERYWHERE: list[tuple[WindowKind, list[tuple[int, int, list[str]]]]] = [
    (tumbling(5), [(0, 5, ["a"]), (5, 10, ["a", "b"])]),
    (hopping(4, 8), [(0, 4, ["a"]), (8, 12, ["b"])]),
    (snapshot(), [(1, 6, ["a"]), (6, 7, ["a", "b"]), (7, 9, ["b"])]),
    (count_by_start(2), [(1, 7, ["a", "b"])]),
    (count_by_end(2), [(7, 10, ["a", "b"])]),
]


#         1    6 9
# a       [-----)
# b            [--)
@pytest.mark.parametrize(("window", "expected"), ONE_MODULE_EVERYWHERE, ids=str)
@pytest.mark.parametrize("policy", ClipPolicy)
def test_the_same_module_runs_under_every_window_and_clip(
    window: WindowKind, expected: list[tuple[int, int, list[str]]], policy: ClipPolicy
) -> None:
    output = evaluate(WindowedQuery(window, [Computation(Echo())], policy), [Event(1, 7, "a"), Event(6, 9, "b")])
    found: dict[tuple[int, int], list[str]] = {}
    for row in output:
        found.setdefault((row.window.start, row.window.end), []).append(row.value)
    assert [(*window, values) for window, values in found.items()] == expected


def test_the_order_of_events_does_not_matter() -> None:
    events = [Event(1, 7, "a"), Event(6, 9, "b"), Event(2, INFINITY, "c")]
    query = WindowedQuery(hopping(6, 2), [Computation(Names())])
    assert evaluate(query, events) == evaluate(query, reversed(events))
