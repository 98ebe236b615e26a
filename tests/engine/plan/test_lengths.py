"""Lengths mean what they say on every axis, or are refused where the query is built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
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
    """A trigger of a query writer's own, with a length."""

    name, version = "test.late", "1"
    by: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.WAIT


def value_of(text: str) -> Any:
    """Return the windows or the policy that an expression makes."""
    return eval(text, {**NAMES, "Late": Late, "timedelta": timedelta})


TIMED = {
    # lengths of time, which are refused over plain numbers: how the error begins, and the value in milliseconds
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
    # bare numbers, which are refused over times: how the error begins, and the value over decimals of two places
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
    # decimals, which are refused elsewhere: how the error begins, and the value over decimals of two places
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
    # values without a length on the axis: they have none, or one that is read on a clock
    *("snapshot()", "count_by_start(3)", "punctuated()", "bounded_delay(0)", "early(every_count(5))"),
    *("last(3).trigger(delta('x', 2))", "early(every('1 minute'))", "ordered().with_idle('1 minute', lag='2 minutes')"),
)
REFUSED = (
    # the axis, further lengths that it does not have, and a part of the error
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
    """Return the error for an expression whose lengths an axis does not have."""
    with pytest.raises(QueryError) as caught:
        scale.resolve(value_of(text))
    return str(caught.value)


@pytest.mark.parametrize("text", TIMED)
def test_a_length_of_time_is_a_number_of_units_and_refused_where_times_have_no_unit(text: str) -> None:
    beginning, text_in_millis = TIMED[text]
    assert TIME.resolve(value_of(text)) == value_of(text)
    assert MILLIS.resolve(value_of(text)) == value_of(text_in_millis)
    assert refusal(TICKS, text) == (
        f"{beginning}, and the times in at are integers without a unit\n"
        "  say which they have, as in events(..., unit='ms'), or give lengths as integers"
    )
    assert refusal(CENTS, text) == (
        f"{beginning}, and the times in at are decimals\n  give lengths as numbers, such as 5 or Decimal('0.25')"
    )


@pytest.mark.parametrize("text", BARE)
def test_a_bare_number_counts_ticks_and_is_refused_where_times_have_a_unit(text: str) -> None:
    beginning, text_in_cents = BARE[text]
    assert TICKS.resolve(value_of(text)) == value_of(text)
    assert CENTS.resolve(value_of(text)) == value_of(text_in_cents)
    number = beginning.rpartition(" ")[2]
    for scale, times in ((TIME, "timestamps"), (MILLIS, "in ms")):
        assert refusal(scale, text) == (
            f"{beginning}, and the times in at are {times}\n"
            f"  say how long that is, for example '{number} seconds' or timedelta(seconds={number})"
        )


@pytest.mark.parametrize("text", DECIMAL)
def test_a_decimal_is_a_number_of_the_last_places_over_decimals_and_refused_elsewhere(text: str) -> None:
    beginning, text_in_cents = DECIMAL[text]
    assert CENTS.resolve(value_of(text)) == value_of(text_in_cents)
    first_number = Decimal(text.partition("Decimal('")[2].partition("'")[0])
    assert refusal(TICKS, text) == f"{beginning} {first_number!r}, and the times in at are integers"
    for scale, times in ((TIME, "timestamps"), (MILLIS, "in ms")):
        assert refusal(scale, text).startswith(
            f"{beginning} the number {first_number!r}, and the times in at are {times}\n"
        )


def test_a_whole_decimal_is_an_integer_over_integers() -> None:
    assert TICKS.resolve(tumbling(Decimal(10))) == tumbling(10)


@pytest.mark.parametrize("scale", [TIME, TICKS, MILLIS, CENTS], ids=["time", "ticks", "ms", "decimals"])
@pytest.mark.parametrize("text", EVERYWHERE)
def test_a_value_without_a_length_on_the_axis_stays_as_it_is(text: str, scale: AxisScale) -> None:
    assert scale.resolve(value_of(text)) == value_of(text)


@pytest.mark.parametrize(("scale", "text", "message"), REFUSED)
def test_a_length_that_is_not_on_the_axis_is_refused(scale: AxisScale, text: str, message: str) -> None:
    assert message in refusal(scale, text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1E-19", "0.0000000000000000001"])
def test_a_decimal_that_no_axis_can_have_is_refused(number: str) -> None:
    with pytest.raises(DurationError, match="not a number of at most 18 decimal places"):
        ticks(Decimal(number))


@pytest.mark.parametrize(("unit", "second"), UNITS)
def test_the_lengths_of_windows_are_converted_to_ticks_of_each_unit(unit: str, second: int) -> None:
    scale = AxisScale(Axis.TICKS, unit)
    assert scale.resolve(hopping("1 hour", "10 minutes")) == hopping(3600 * second, 600 * second)

    days = scale.resolve(calendar("day", zone="Europe/Berlin", reach="1 minute"))
    assert days.second == second
    assert days.reach == 60 * second
    explanation = explain_plan(plan_of(window=days, axis=Axis.TICKS, unit=unit))
    assert "calendar('day', zone='Europe/Berlin', reach='1 minute')" in explanation


@pytest.mark.parametrize(("unit", "second"), UNITS)
def test_the_durations_of_modules_are_converted_to_ticks_of_each_unit(unit: str, second: int) -> None:
    scale = AxisScale(Axis.TICKS, unit)
    ten_minutes = {"within": "10 minutes"}
    within_ten_minutes: list[tuple[Any, dict[str, Any]]] = [
        (FollowedBy, ten_minutes),
        (filtering(FollowedBy, bool), ten_minutes),
        (preset(FollowedBy, **ten_minutes), {}),
    ]
    for cls, parameters in within_ten_minutes:
        module: Any = make_module(cls, parameters, scale.resolve)
        assert module.needs.reach == 600 * second + 1

    average: Any = make_module(ExponentiallyWeightedAverage, {"half_life": timedelta(seconds=5)}, scale.resolve)
    assert average.half_life == 5 * second


def test_a_duration_that_a_module_reads_with_ticks_itself_is_converted_once() -> None:
    class Twice(ExponentiallyWeightedAverage[float]):
        name, version = "test.twice", "1"

        def __init__(self, half_life: Duration) -> None:
            super().__init__(ticks(half_life))

    twice: Any = make_module(Twice, {"half_life": "5 seconds"}, MILLIS.resolve)
    assert twice.half_life == 5000


def test_all_lengths_of_windows_over_time_are_integers() -> None:
    windows = TIME.resolve(hopping("1 hour", "10 minutes", 0))
    assert {type(length) for length in (windows.size, windows.hop, windows.offset, windows.reach)} == {int}


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


def test_a_bare_number_as_a_duration_of_a_module_counts_ticks() -> None:
    module: Any = make_module(FollowedBy, {"within": 10}, TICKS.resolve)
    assert module.within == 10


@pytest.mark.parametrize(
    ("window", "plan_parts", "expected_texts"),
    [
        (
            MILLIS.resolve(hopping("1 hour", "10 minutes", reach="90 seconds")),
            {
                "unit": "ms",
                "input": input_of(
                    MILLIS.resolve(bounded_delay("2 minutes")), late=MILLIS.resolve(value_of("correct('1 day')"))
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
    window: Any, plan_parts: dict[str, Any], expected_texts: list[str]
) -> None:
    explanation = explain_plan(plan_of(window=window, **({"axis": Axis.TICKS} | plan_parts)))
    for text in expected_texts:
        assert text in explanation
    assert "ticks" not in explanation


def test_the_plan_of_windows_without_an_end_gives_no_bound_on_their_results() -> None:
    assert "less than" not in explain_plan(plan_of(window=global_windows()))


@pytest.mark.parametrize("scale", [TIME, MILLIS])
def test_the_error_for_a_trigger_has_its_lengths_as_they_are_written(scale: AxisScale) -> None:
    emission = early(any_of(every("1 minute"), past_end("1 second")))
    plan = plan_of(axis=scale.axis, unit=scale.unit, emit=scale.resolve(emission), written_emit=str(emission))
    with pytest.raises(PolicyError, match=r"past_end\('1 second'\)\), accumulate\) waits for a clock"):
        check_trigger(plan)


def test_a_trigger_is_written_with_its_length_if_it_has_one() -> None:
    assert str(past_end(5)) == "past_end(5)"
    assert str(past_end()) == "past_end()"


def test_the_error_for_windows_that_are_too_short_for_a_module_has_lengths_of_time_where_integers_have_a_unit() -> None:
    fields = [describe(int, "c0")]
    module = plan_module("", FollowedBy, {"within": "10 minutes"}, fields, lambda place, _: place, MILLIS.resolve)
    short = MILLIS.resolve(tumbling("1 hour", reach="5 minutes"))
    with pytest.raises(
        PolicyError, match=r"keeps them for 5 minutes\n(.*\n)* +write: tumbling\('1 hour', reach='10 minut"
    ):
        plan_of(module, axis=Axis.TICKS, unit="ms", window=short, clip=ClipPolicy.RIGHT)
    enough = MILLIS.resolve(tumbling("1 hour", reach="10 minutes 1 second"))
    plan_of(module, axis=Axis.TICKS, unit="ms", window=enough, clip=ClipPolicy.RIGHT)


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(QueryError, match="'hours' is not a unit of times\n  there are 'ns', 'us', 'ms', 's'"):
        AxisScale(Axis.TICKS, "hours")


def test_a_unit_of_timestamps_is_refused() -> None:
    with pytest.raises(QueryError, match="are timestamps, so unit='ms' says nothing of them"):
        AxisScale(Axis.TIME, "ms")


def test_a_calendar_over_local_times_has_no_zone() -> None:
    local_times = {"start": replace(AT, type="timestamp_ntz")}
    assert plan_of(window=calendar("month"), columns=local_times).window == TIME.resolve(calendar("month"))
    with pytest.raises(QueryError) as caught:
        plan_of(window=calendar("month", zone="Asia/Tokyo"), columns=local_times)
    assert str(caught.value).endswith(
        "the times in at are timestamp_ntz: some clock has shown them already\n"
        "  cast them to timestamp; or, if that clock is the one of Asia/Tokyo, leave the zone out"
    )


def test_the_error_of_a_module_that_looks_back_names_windows_that_have_a_reach() -> None:
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
def test_windows_of_decimals_are_shown_as_they_are_written(window: Any, spelled: str) -> None:
    assert str(window) == spelled


def test_the_error_for_a_size_that_is_no_multiple_of_the_step_has_decimals() -> None:
    with pytest.raises(QueryError, match=r"got the size Decimal\('1.3'\) and the step Decimal\('0.5'\)"):
        cumulate(Decimal("1.3"), Decimal("0.5"))
