"""Patterns that follow a stream, against their definitions, which look at all events at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from muntin import INFINITY, Event, StreamOperator
from muntin.testing import WindowedQuery, evaluate
from muntin_patterns import FollowedWithout, Part, Silence, StateMachine, Transition

COMPLETE_TO = 60


def found(operator: StreamOperator[Any, Any, Any], events: Sequence[tuple[int, Any]]) -> list[tuple[int, Any]]:
    history = [Event.point(time, payload) for time, payload in events]
    return [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(operator), history, COMPLETE_TO)]


def drawn(random: Random, *payloads: Any) -> list[tuple[int, Any]]:
    return sorted(((random.randrange(50), random.choice(payloads)) for _ in range(12)), key=lambda event: event[0])


@pytest.mark.parametrize("seed", range(10))
def test_a_silence_is_a_gap_between_events(seed: int) -> None:
    times = [time for time, _ in drawn(Random(seed), None)]
    gaps = [last + 7 for last, time in pairwise([*times, INFINITY]) if time - last >= 7 and last + 7 <= COMPLETE_TO]
    rows = found(Silence(after=7), [(time, None) for time in times])
    assert [time for time, _ in rows] == gaps
    assert [row.since for _, row in rows] == [gap - 7 for gap in gaps]


A, B, X = Part("a", closes=False), Part("b", opens=False), Part("x", opens=False, closes=False, breaks=True)


@pytest.mark.parametrize("seed", range(10))
def test_a_pair_is_two_events_with_neither_a_break_nor_another_second_between_them(seed: int) -> None:
    events = drawn(Random(seed), A, A, B, X)
    wanted = [
        (time, began)
        for place, (began, first) in enumerate(events)
        for later, (time, second) in enumerate(events)
        if first is A and second is B and place < later and time - began <= 9
        if not any(between in (B, X) for _, between in events[place + 1 : later])
    ]
    rows = found(FollowedWithout(within=9), events)
    assert sorted((time, row.began) for time, row in rows) == sorted(wanted)
    assert all((row.first, row.second) == ("a", "b") for _, row in rows)


def test_an_event_never_follows_itself() -> None:
    assert [row.first for _, row in found(FollowedWithout(within=5), [(1, Part("a")), (3, Part("b"))])] == ["a"]


DOOR = StateMachine(
    "shut", [("shut", "open", "open"), ("open", "close", "shut"), ("ajar", "close", "shut")], [("open", 5, "ajar")]
)


def test_a_machine_goes_from_state_to_state_by_events_and_by_time() -> None:
    events = [(1, "open"), (3, "close"), (10, "open"), (12, "knock"), (15, "close"), (20, "close")]
    assert found(DOOR, events) == [
        (1, Transition("shut", "open", "open", None)),
        (3, Transition("open", "shut", "close", 1)),
        (10, Transition("shut", "open", "open", None)),
        (15, Transition("open", "ajar", None, 10)),
        (15, Transition("ajar", "shut", "close", 15)),
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Silence(after=0), "after must be above zero, got 0"),
        (lambda: FollowedWithout(within=-1), "within must not be negative, got -1"),
        (lambda: StateMachine("a", [("a", "x", "b"), ("a", "x", "c")]), "the same state and event"),
        (lambda: StateMachine("a", [], [("a", 1, "b"), ("a", 2, "b")]), "a state has two time-outs"),
        (lambda: StateMachine("a", [], [("a", 0, "b")]), "the time-out of 'a' must be above zero, got 0"),
        (lambda: StateMachine("a", [("b", "x", "a")]), "no transition leads to 'b', and machines start in 'a'"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
