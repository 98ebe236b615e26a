"""Operators that follow a stream, as the reference runs them: where they are woken, and what their rows last."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from muntin import Axis, Event, StreamOperator
from muntin.errors import ModuleContractError, ModuleDefinitionError
from muntin.query_checks import time_asked_for
from muntin.testing import WindowedQuery, evaluate
from tests.modules.stream_operators import Alarms, Gaps, Newest, Reminders, Silence, Ticker
from tests.sdk.module_classes import module_class


def rows_of(operator: StreamOperator[Any, Any, Any], *times: int, **limits: int) -> list[tuple[int, int, Any]]:
    """Run an operator over points whose payload is their time; return its rows as start, end and value.

    A limit is the `complete_to` or the `horizon` of the evaluation; without one the stream has ended.
    """
    events = [Event.point(time, time) for time in times]
    output = evaluate(WindowedQuery.unwindowed(operator), events, **limits)
    return [(row.start, row.end, row.value) for row in output]


# 0    5    10   15   20
# a  b         c
#        !         !           silent for 4 ticks
def test_an_operator_is_woken_at_the_time_that_its_state_asks_for_when_that_is_complete() -> None:
    assert rows_of(Silence(4), 0, 3, 13, complete_to=16) == [(7, 8, "silent since 3")]
    assert rows_of(Silence(4), 0, 3, 13, complete_to=17) == [(7, 8, "silent since 3"), (17, 18, "silent since 13")]


def test_a_wake_up_is_before_the_events_of_its_tick() -> None:
    assert rows_of(Silence(4), 3, 7, complete_to=8) == [(7, 8, "silent since 3")]


def test_a_periodic_operator_is_woken_up_to_the_horizon_of_a_stream_that_ends_and_once_more() -> None:
    assert rows_of(Ticker(5), 1, 12) == [(5, 6, 1), (10, 11, 1), (15, 16, 12)]
    assert rows_of(Ticker(5), 1, horizon=11) == [(5, 6, 1), (10, 11, 1), (15, 16, 1)]


ALWAYS_AT_5 = module_class(Newest, next_time=lambda self, state: 5, on_time=lambda self, state, time: [-time])()
"""Yields the largest payload so far, asks to be woken at 5 each time, and then yields the negative time."""


def test_a_time_that_has_passed_and_was_answered_is_no_wake_up() -> None:
    assert rows_of(ALWAYS_AT_5, 3, 5, 9) == [(3, 4, 3), (5, 6, -5), (5, 6, 5), (9, 10, 9)]


def test_a_time_that_had_passed_when_it_was_asked_for_is_answered_a_tick_after_the_events_that_asked() -> None:
    assert rows_of(ALWAYS_AT_5, 7, 7, 9, complete_to=8) == [(7, 8, 7), (7, 8, 7), (8, 9, -8)]
    assert rows_of(ALWAYS_AT_5, 7, 9, complete_to=7) == []


def test_a_row_has_the_lifetime_that_it_is_returned_with() -> None:
    """`Gaps` yields events from the end of a long gap on, as long as the gap."""
    assert rows_of(Gaps(3), 0, 2, 9, 20) == [(9, 16, 7), (20, 31, 11)]


REMINDERS: dict[str, tuple[list[tuple[int, int]], dict[str, int], list[tuple[int, str]]]] = {
    # (time, due) of each point; limits of the evaluation; (time, value) of each row
    "one ahead, and one that has passed": ([(5, 12), (15, 3)], {}, [(12, "due 12"), (16, "due 3")]),
    "two that have passed, the earlier first, and one ahead": (
        [(10, 4), (10, 2), (10, 13)],
        {},
        [(11, "due 2"), (11, "due 4"), (13, "due 13")],
    ),
    "three that have passed, two of them the same": (
        [(10, 10), (20, 7), (30, 7)],
        {},
        [(11, "due 10"), (21, "due 7"), (31, "due 7")],
    ),
    "all that wait when the stream ends": (
        [(1, 60), (2, 40), (3, 50)],
        {},
        [(40, "due 40"), (50, "due 50"), (60, "due 60")],
    ),
    "those that are complete": ([(1, 60), (2, 40), (3, 50)], {"complete_to": 45}, [(40, "due 40")]),
}


@pytest.mark.parametrize("case", REMINDERS)
def test_each_time_that_is_asked_for_is_answered_once(case: str) -> None:
    """The payload of a point is the time at which a reminder is due."""
    points, limits, expected = REMINDERS[case]
    events = [Event.point(time, due) for time, due in points]
    output = evaluate(WindowedQuery.unwindowed(Reminders()), events, **limits)
    assert [(row.start, row.value) for row in output] == expected


#     0    5    10   15   20
# a      [--------)            asks for 2, at its start and at its end: both times that has passed
# b        [------------)      asks for 30
#         !        !           a tick after a has started and after it has ended; and at 30
def test_starts_and_ends_of_events_may_ask_for_times_that_have_passed() -> None:
    events = [Event(3, 12, payload=2), Event(5, 18, payload=30)]
    output = evaluate(WindowedQuery.unwindowed(Alarms()), events)
    assert [(row.start, row.value) for row in output] == [(4, "due 2"), (13, "due 2"), (30, "due 30")]


def test_a_handler_that_does_not_take_what_it_is_called_with_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"on_time\(state\) is called with \(state, time\)"):
        module_class(Newest, on_time=lambda self, state: None).check_definition()


MINUTE = 60 * 10**6
NOON = 1_714_564_800 * 10**6  # 2024-05-01 12:00:00 UTC


@pytest.mark.parametrize("answer", [0, 10 * MINUTE, 365 * 24 * 60 * MINUTE, timedelta(minutes=10)])
def test_a_length_in_the_place_of_a_time_to_be_woken_at_is_an_error(answer: object) -> None:
    with pytest.raises(ModuleContractError) as failed:
        time_asked_for(Silence(), answer, NOON, "pump", Axis.TIME)
    complaint, key, *_ = str(failed.value).splitlines()
    assert complaint.endswith("from next_time at 2024-05-01T12:00:00Z, which is a length")
    assert key == "  key: 'pump'"


# the time that `next_time` returns, that of the event for which it is called, and the axis
@pytest.mark.parametrize(
    ("answer", "time", "axis"),
    [
        (NOON - 10 * MINUTE, NOON, Axis.TIME),
        (-MINUTE, NOON, Axis.TIME),
        (10 * MINUTE, 20 * MINUTE, Axis.TIME),  # all of the stream lies in 1970
        (10, 5000, Axis.TICKS),
        (10, NOON, Axis.TICKS),
    ],
)
def test_a_time_to_be_woken_at_that_has_passed_is_no_error(answer: int, time: int, axis: Axis) -> None:
    assert time_asked_for(Silence(), answer, time, "pump", axis) == answer
