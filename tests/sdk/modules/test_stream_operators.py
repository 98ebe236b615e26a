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

Row = tuple[int, int, Any]
AGAIN = module_class(Newest, next_time=lambda self, state: 5, on_time=lambda self, state, time: [-time])()
"""Asks for a time that may not be after the last call."""

RUNS: list[tuple[StreamOperator[Any, Any, Any], tuple[int, ...], dict[str, int], list[Row]]] = [
    # 0    5    10   15   20
    # a  b         c
    # silent for 4     !     !
    (Silence(4), (0, 3, 13), {"complete_to": 17}, [(7, 8, "silent since 3"), (17, 18, "silent since 13")]),
    (Silence(4), (0, 3, 13), {"complete_to": 16}, [(7, 8, "silent since 3")]),
    # an event at the very time of the wake-up starts after it: four ticks [3, 7) were silent
    (Silence(4), (3, 7), {"complete_to": 8}, [(7, 8, "silent since 3")]),
    # a periodic operator is woken up to the horizon of a stream that ends, and once more
    (Ticker(5), (1, 12), {}, [(5, 6, 1), (10, 11, 1), (15, 16, 12)]),
    (Ticker(5), (1,), {"horizon": 11}, [(5, 6, 1), (10, 11, 1), (15, 16, 1)]),
    # a time that has passed and was answered is no wake-up
    (AGAIN, (3, 5, 9), {}, [(3, 4, 3), (5, 6, -5), (5, 6, 5), (9, 10, 9)]),
    # one that was not answered is, a tick after the events of its time
    (AGAIN, (7, 7, 9), {"complete_to": 8}, [(7, 8, 7), (7, 8, 7), (8, 9, -8)]),
    (AGAIN, (7, 9), {"complete_to": 7}, []),
    # a row keeps the lifetime that it is returned with
    (Gaps(3), (0, 2, 9, 20), {}, [(9, 16, 7), (20, 31, 11)]),
]


REMINDERS: list[tuple[list[tuple[int, int]], dict[str, int], list[tuple[int, str]]]] = [
    # 0    5    10   15   20   25   30
    #      a         b              due: a at 12, b at 3
    #             !  !
    ([(5, 12), (15, 3)], {}, [(12, "due 12"), (16, "due 3")]),
    # two that have passed come at one time, the earlier first, and do not silence what comes later
    ([(10, 4), (10, 2), (10, 13)], {}, [(11, "due 2"), (11, "due 4"), (13, "due 13")]),
    ([(10, 10), (20, 7), (30, 7)], {}, [(11, "due 10"), (21, "due 7"), (31, "due 7")]),
    # all that wait when the stream ends come, in order, and not one of each key
    ([(1, 60), (2, 40), (3, 50)], {}, [(40, "due 40"), (50, "due 50"), (60, "due 60")]),
    ([(1, 60), (2, 40), (3, 50)], {"complete_to": 45}, [(40, "due 40")]),
]


@pytest.mark.parametrize(("points", "limits", "rows"), REMINDERS)
def test_each_time_that_is_asked_for_is_answered_once(
    points: list[tuple[int, int]], limits: dict[str, int], rows: list[tuple[int, str]]
) -> None:
    events = [Event.point(time, due) for time, due in points]
    output = evaluate(WindowedQuery.unwindowed(Reminders()), events, **limits)
    assert [(row.start, row.value) for row in output] == rows


def test_starts_and_ends_ask_for_times_that_have_passed() -> None:
    """
    0    5    10   15   20
       a [--------)            due at 2
           b [-------------)   due at 30
         !        !        at 4 and 13, both a tick after it was asked for; then at 30
    """
    events = [Event(3, 12, 2), Event(5, 18, 30)]
    output = evaluate(WindowedQuery.unwindowed(Alarms()), events)
    assert [(row.start, row.value) for row in output] == [(4, "due 2"), (13, "due 2"), (30, "due 30")]


@pytest.mark.parametrize(("operator", "times", "limits", "rows"), RUNS)
def test_an_operator_is_woken_where_its_state_asks_for_it(
    operator: StreamOperator[Any, Any, Any], times: tuple[int, ...], limits: dict[str, int], rows: list[Row]
) -> None:
    results = evaluate(WindowedQuery.unwindowed(operator), [Event.point(at, at) for at in times], **limits)
    assert [(row.start, row.end, row.value) for row in results] == rows


def test_a_method_that_does_not_take_what_it_is_called_with_is_refused() -> None:
    with pytest.raises(ModuleDefinitionError, match=r"on_time\(state\) is called with \(state, time\)"):
        module_class(Newest, on_time=lambda self, state: None).check_definition()


MINUTE = 60 * 10**6
NOON = 1_714_564_800 * 10**6  # 2024-05-01 12:00:00 UTC


@pytest.mark.parametrize("answer", [0, 10 * MINUTE, 365 * 24 * 60 * MINUTE, timedelta(minutes=10)])
def test_a_length_in_the_place_of_a_time_is_an_error(answer: object) -> None:
    with pytest.raises(ModuleContractError) as failed:
        time_asked_for(Silence(), answer, NOON, "pump", Axis.TIME)
    lines = str(failed.value).splitlines()
    assert lines[0].endswith("from next_time at 2024-05-01T12:00:00Z, which is a length")
    assert lines[1] == "  key: 'pump'"


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
def test_a_time_that_has_passed_is_no_error(answer: int, time: int, axis: Axis) -> None:
    assert time_asked_for(Silence(), answer, time, "pump", axis) == answer
