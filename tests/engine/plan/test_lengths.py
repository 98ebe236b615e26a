"""Lengths mean what they say on every axis, or are refused where the query is built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from inspect import signature
from typing import Any

import pytest

from muntin import (
    Axis,
    ClipPolicy,
    Duration,
    Needs,
    Window,
    calendar,
    cumulate,
    early,
    global_windows,
    hopping,
    landmark,
    ticks,
    tumbling,
)
from muntin.errors import DurationError, ParameterError, PolicyError, QueryError
from muntin.progress import bounded_delay
from muntin.schemas import describe
from muntin.triggers import Decision, Trigger, TriggerView, any_of, every, past_end
from muntin_adapters.combinators import filtering, preset
from muntin_engine.plan import check_trigger, plan_module
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import make_module
from muntin_patterns import FollowedBy
from muntin_stats import ExponentiallyWeightedAverage
from tests.engine.plan.plans import AT, input_of, plan_of
from tests.engine.plan.queries import NAMES

TIME = AxisScale(Axis.TIME)
TICKS = AxisScale(Axis.TICKS)
MILLIS = AxisScale(Axis.TICKS, "ms")
CENTS = AxisScale(Axis.TICKS, decimal_places=2)
SECOND = 1_000_000
UNITS = [("s", 1), ("ms", 1000), ("us", SECOND), ("ns", 1000 * SECOND)]


@dataclass(frozen=True)
class Late(Trigger):
    """A query writer's own trigger, with a length."""

    name, version = "test.late", "1"
    by: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.WAIT


def length(text: str) -> Any:
    return eval(text, {**NAMES, "Late": Late, "timedelta": timedelta})


TIMED = {
    # a time: what is refused over plain numbers, and what it is in milliseconds
    "tumbling('10 minutes')": ("the size of a window is 10 minutes", "tumbling(600_000)"),
    "hopping(timedelta(hours=1), '10 minutes', '-1 minute', reach='2 minutes')": (
        "the size of a window is 1 hour",
        "hopping(3_600_000, 600_000, -60_000, reach=120_000)",
    ),
    "landmark('1 hour', since='1970-01-02')": ("the step is 1 hour", "landmark(3_600_000, since=86_400_000)"),
    "bounded_delay('1 minute')": ("the delay is 1 minute", "bounded_delay(60_000)"),
    "punctuate_every(span='1 minute')": ("the span is 1 minute", "punctuate_every(span=60_000)"),
    "correct('1 hour')": ("the allowed lateness is 1 hour", "correct(3_600_000)"),
    "early(until(every_count(3), any_of(past_end('5 seconds'), past_end('1 minute'))))": (
        "the delay is 5 seconds",
        "early(until(every_count(3), any_of(past_end(5_000), past_end(60_000))))",
    ),
    "early(Late(ticks('5 seconds')))": ("the by is 5 seconds", "early(Late(5_000))"),
}
BARE = {
    # a bare number, over integers as it is: what is refused over times, and what it is over decimals of two places
    "tumbling(600)": ("the size of a window is the bare number 600", "tumbling(60_000)"),
    "hopping(60, 10, 1, reach=2)": (
        "the size of a window is the bare number 60",
        "hopping(6000, 1000, 100, reach=200)",
    ),
    "landmark(7, since=3)": ("the step is the bare number 7", "landmark(700, since=300)"),
    "bounded_delay(60)": ("the delay is the bare number 60", "bounded_delay(6000)"),
    "punctuate_every(rows=10, delay=5)": ("the delay is the bare number 5", "punctuate_every(rows=10, delay=500)"),
    "ordered().with_idle('1 minute', lag=2)": (
        "the lag is the bare number 2",
        "ordered().with_idle('1 minute', lag=2)",
    ),
    "correct(5)": ("the allowed lateness is the bare number 5", "correct(500)"),
    "early(repeat(any_of(past_end(5), after('1 minute'))))": (
        "the delay is the bare number 5",
        "early(repeat(any_of(past_end(500), after('1 minute'))))",
    ),
    "early(Late(ticks(5)))": ("the by is the bare number 5", "early(Late(500))"),
}
DECIMAL = {
    # a decimal: what is refused elsewhere, and what it is over decimals of two places
    "tumbling(Decimal('0.25'))": ("the size of a window is", "tumbling(25)"),
    "hopping(Decimal('2.5'), Decimal('0.5'), Decimal('-0.01'), reach=Decimal('0.1'))": (
        "the size of a window is",
        "hopping(250, 50, -1, reach=10)",
    ),
    "cumulate(Decimal('0.5'), Decimal('0.25'))": ("the size of a window is", "cumulate(50, 25)"),
    "trailing(Decimal('0.5'), every=3)": ("the length is", "trailing(50, every=3)"),
    "session(Decimal('0.5'))": ("the gap is", "session(50)"),
    "last(elapsed(Decimal('0.5')))": ("the length is", "last(elapsed(50))"),
    "bounded_delay(Decimal('0.5'))": ("the delay is", "bounded_delay(50)"),
    "correct(Decimal('0.5'))": ("the allowed lateness is", "correct(50)"),
    "early(any_of(past_end(Decimal('0.5')), every_count(3)))": (
        "the delay is",
        "early(any_of(past_end(50), every_count(3)))",
    ),
}
EVERYWHERE = (
    # what has no length, or is read on a clock
    *("snapshot()", "count_by_start(3)", "punctuated()", "bounded_delay(0)", "early(every_count(5))"),
    *("last(3).trigger(delta('x', 2))", "early(every('1 minute'))", "ordered().with_idle('1 minute', lag='2 minutes')"),
)
OTHERWISE = (
    # what else cannot be
    (
        TIME,
        "tumbling('1 hour', 5)",
        "the offset of the windows is the bare number 5, and the times in at are timestamps",
    ),
    (TIME, "early(after(60))", "the period of a timer is the bare number 60, and the times in at are timestamps"),
    (
        MILLIS,
        "bounded_delay('1.5 ms')",
        "the delay is 1 millisecond 500 microseconds, which is not a whole number of the",
    ),
    (CENTS, "tumbling(Decimal('0.005'))", "Decimal('0.005'), and the times in at are decimals of 2 places"),
    (
        TICKS,
        "calendar('month')",
        "the second of a calendar is 1 second, and the times in at are integers without a unit",
    ),
)


def refusal(scale: AxisScale, text: str) -> str:
    with pytest.raises(QueryError) as caught:
        scale.resolve(length(text))
    return str(caught.value)


@pytest.mark.parametrize("text", TIMED)
def test_a_time_is_a_number_of_units_and_refused_where_there_are_none(text: str) -> None:
    in_ticks, in_millis = TIMED[text]
    assert TIME.resolve(length(text)) == length(text)
    assert MILLIS.resolve(length(text)) == length(in_millis)
    assert refusal(TICKS, text) == (
        f"{in_ticks}, and the times in at are integers without a unit\n"
        "  say which they have, as in events(..., unit='ms'), or give lengths as integers"
    )
    assert refusal(CENTS, text) == (
        f"{in_ticks}, and the times in at are decimals\n  give lengths as numbers, such as 5 or Decimal('0.25')"
    )


@pytest.mark.parametrize("text", BARE)
def test_a_bare_number_counts_ticks_and_is_refused_where_times_have_a_unit(text: str) -> None:
    in_ticks, in_cents = BARE[text]
    assert TICKS.resolve(length(text)) == length(text)
    assert CENTS.resolve(length(text)) == length(in_cents)
    number = in_ticks.rpartition(" ")[2]
    for scale, times in ((TIME, "timestamps"), (MILLIS, "in ms")):
        assert refusal(scale, text) == (
            f"{in_ticks}, and the times in at are {times}\n"
            f"  say how long that is, for example '{number} seconds' or timedelta(seconds={number})"
        )


@pytest.mark.parametrize("text", DECIMAL)
def test_a_decimal_is_what_it_says_over_decimals_and_refused_elsewhere(text: str) -> None:
    in_ticks, in_cents = DECIMAL[text]
    assert CENTS.resolve(length(text)) == length(in_cents)
    number = Decimal(text.partition("Decimal('")[2].partition("'")[0])
    assert refusal(TICKS, text) == f"{in_ticks} {number!r}, and the times in at are integers"
    for scale, times in ((TIME, "timestamps"), (MILLIS, "in ms")):
        assert refusal(scale, text).startswith(f"{in_ticks} the number {number!r}, and the times in at are {times}\n")
    assert TICKS.resolve(tumbling(Decimal(10))) == tumbling(10)


@pytest.mark.parametrize("text", EVERYWHERE)
def test_what_has_no_length_on_the_axis_stays_as_it_is(text: str) -> None:
    assert [scale.resolve(length(text)) for scale in (TIME, TICKS, MILLIS, CENTS)] == [length(text)] * 4


@pytest.mark.parametrize(("scale", "text", "message"), OTHERWISE)
def test_a_length_that_no_axis_has_is_refused(scale: AxisScale, text: str, message: str) -> None:
    assert message in refusal(scale, text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1E-19", "0.0000000000000000001"])
def test_a_decimal_that_no_axis_can_have_is_refused(number: str) -> None:
    with pytest.raises(DurationError, match="not a number of at most 18 decimal places"):
        ticks(Decimal(number))


@pytest.mark.parametrize(("unit", "second"), UNITS)
def test_every_unit_counts_its_ticks_of_a_second(unit: str, second: int) -> None:
    scale = AxisScale(Axis.TICKS, unit)
    assert scale.resolve(hopping("1 hour", "10 minutes")) == hopping(3600 * second, 600 * second)
    days = scale.resolve(calendar("day", zone="Europe/Berlin", reach="1 minute"))
    assert (days.second, days.reach) == (second, 60 * second)
    explanation = explain_plan(plan_of(window=days, axis=Axis.TICKS, unit=unit))
    assert "calendar('day', zone='Europe/Berlin', reach='1 minute')" in explanation
    for cls in (FollowedBy, preset(FollowedBy, within="10 minutes"), filtering(FollowedBy, bool)):
        parameters = {"within": "10 minutes"} if "within" in signature(cls).parameters else {}
        module: Any = make_module(cls, parameters, scale.resolve)
        assert module.needs.reach == 600 * second + 1
    average: Any = make_module(ExponentiallyWeightedAverage, {"half_life": timedelta(seconds=5)}, scale.resolve)
    assert average.half_life == 5 * second


def test_a_duration_that_a_module_reads_twice_is_converted_once() -> None:
    class Twice(ExponentiallyWeightedAverage[float]):
        name, version = "test.twice", "1"

        def __init__(self, half_life: Duration) -> None:
            super().__init__(ticks(half_life))

    twice: Any = make_module(Twice, {"half_life": "5 seconds"}, MILLIS.resolve)
    assert twice.half_life == 5000
    window = TIME.resolve(hopping("1 hour", "10 minutes", 0))
    assert {type(value) for value in (window.size, window.hop, window.offset, window.reach)} == {int}


@pytest.mark.parametrize(
    ("scale", "within", "message"),
    [
        (TIME, 10, "the length is the bare number 10, and the times in at are timestamps\n  say how long that is"),
        (MILLIS, 10, "the length is the bare number 10, and the times in at are in ms"),
        (MILLIS, "1.5 ms", "1 millisecond 500 microseconds, which is not a whole number of the unit 'ms'"),
        (TICKS, "10 minutes", "the times in at are integers without a unit"),
    ],
)
def test_a_duration_of_a_module_that_means_nothing_on_the_axis_is_refused(
    scale: AxisScale, within: Any, message: str
) -> None:
    with pytest.raises(ParameterError, match=rf"(?s)patterns.followed_by\(within: .*{message}.*given: within="):
        make_module(FollowedBy, {"within": within}, scale.resolve)
    module: Any = make_module(FollowedBy, {"within": 10}, TICKS.resolve)
    assert module.within == 10


@pytest.mark.parametrize(
    ("window", "changed", "expected_texts"),
    [
        (
            MILLIS.resolve(hopping("1 hour", "10 minutes", reach="90 seconds")),
            {
                "unit": "ms",
                "input": input_of(
                    MILLIS.resolve(bounded_delay("2 minutes")), late=MILLIS.resolve(length("correct('1 day')"))
                ),
            },
            [
                "hopping('1 hour', '10 minutes', reach='1 minute 30 seconds')",
                "2 minutes behind the newest start",
                "up to 1 day behind the watermark",
            ],
        ),
        (
            MILLIS.resolve(landmark("1 hour", since="1970-01-02")),
            {"unit": "ms"},
            ["landmark('1 hour', since='1970-01-02T00:00:00Z')"],
        ),
        (
            TIME.resolve(cumulate("1 day", "1 hour")),
            {"axis": Axis.TIME},
            ["cumulate('1 day', '1 hour')", "less than 1 day, as results start where their windows do"],
        ),
        (
            CENTS.resolve(hopping(2, Decimal("0.5"))),
            {"decimal_places": 2, "columns": {"start": replace(AT, type="decimal(10,2)")}},
            ["hopping(2, Decimal('0.5'))", "less than 2.00"],
        ),
    ],
    ids=["integers with a unit", "landmark", "time", "decimals"],
)
def test_a_query_is_explained_in_the_lengths_of_its_axis(
    window: Any, changed: dict[str, Any], expected_texts: list[str]
) -> None:
    explained = explain_plan(plan_of(window=window, **({"axis": Axis.TICKS} | changed)))
    assert [text for text in expected_texts if text not in explained] == []
    assert "ticks" not in explained


def test_the_plan_of_windows_without_an_end_gives_no_bound_on_their_results() -> None:
    assert "less than" not in explain_plan(plan_of(window=global_windows()))


@pytest.mark.parametrize("scale", [TIME, MILLIS])
def test_a_trigger_that_cannot_be_asked_is_told_as_it_is_written(scale: AxisScale) -> None:
    emission = early(any_of(every("1 minute"), past_end("1 second")))
    plan = plan_of(axis=scale.axis, unit=scale.unit, emit=scale.resolve(emission), written_emit=str(emission))
    with pytest.raises(PolicyError, match=r"past_end\('1 second'\)\), accumulate\) waits for a clock"):
        check_trigger(plan)
    assert [str(past_end(5)), str(past_end())] == ["past_end(5)", "past_end()"]


def test_what_a_module_needs_is_told_in_time_where_integers_have_a_unit() -> None:
    fields = [describe(int, "c0")]
    module = plan_module("", FollowedBy, {"within": "10 minutes"}, fields, lambda place, _: place, MILLIS.resolve)
    short = MILLIS.resolve(tumbling("1 hour", reach="5 minutes"))
    with pytest.raises(
        PolicyError, match=r"keeps them for 5 minutes\n(.*\n)* +write: tumbling\('1 hour', reach='10 minut"
    ):
        plan_of(module, axis=Axis.TICKS, unit="ms", window=short, clip=ClipPolicy.RIGHT)
    enough = MILLIS.resolve(tumbling("1 hour", reach="10 minutes 1 second"))
    plan_of(module, axis=Axis.TICKS, unit="ms", window=enough, clip=ClipPolicy.RIGHT)


def test_a_unit_must_be_one_and_timestamps_have_their_own() -> None:
    with pytest.raises(QueryError, match="'hours' is not a unit of times\n  there are 'ns', 'us', 'ms', 's'"):
        AxisScale(Axis.TICKS, "hours")
    with pytest.raises(QueryError, match="are timestamps, so unit='ms' says nothing of them"):
        AxisScale(Axis.TIME, "ms")


def test_a_clock_cannot_be_asked_about_times_that_one_has_shown_already() -> None:
    local = {"start": replace(AT, type="timestamp_ntz")}
    assert plan_of(window=calendar("month"), columns=local).window == TIME.resolve(calendar("month"))
    with pytest.raises(QueryError) as caught:
        plan_of(window=calendar("month", zone="Asia/Tokyo"), columns=local)
    assert str(caught.value).endswith(
        "the times in at are timestamp_ntz: some clock has shown them already\n"
        "  cast them to timestamp; or, if that clock is the one of Asia/Tokyo, leave the zone out"
    )


def test_a_module_that_looks_back_is_told_which_windows_have_a_reach() -> None:
    needs = Needs(reach=30 * 60 * SECOND)
    assert needs.lacks(TIME.resolve(cumulate("1 day", "1 hour")), Axis.TIME).endswith(
        "cumulate('1 day', '1 hour') keeps them for 0 seconds\n"
        "  what lies further apart would not be found, and nothing would say so\n"
        "  write: tumbling('1 hour', reach='30 minutes')"
    )
    days = calendar("day", zone="Asia/Tokyo")
    assert needs.lacks(days, Axis.TIME).endswith("write: calendar('day', zone='Asia/Tokyo', reach='30 minutes')")
    assert needs.lacks(landmark("1 hour"), Axis.TIME) == ""


@pytest.mark.parametrize(
    ("window", "spelled"),
    [
        (tumbling(Decimal("0.25")), "tumbling(Decimal('0.25'))"),
        (landmark(Decimal(2), since=1), "landmark(2, since=1)"),
    ],
)
def test_a_decimal_is_spelled_as_it_is_written(window: Any, spelled: str) -> None:
    assert str(window) == spelled
    with pytest.raises(QueryError, match=r"got the size Decimal\('1.3'\) and the step Decimal\('0.5'\)"):
        cumulate(Decimal("1.3"), Decimal("0.5"))
