"""Lengths mean what they say on every axis, or are refused where the query is built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from inspect import signature
from typing import Any

import pytest

from muntin import (
    Axis,
    ClipPolicy,
    Duration,
    EmitPolicy,
    Lateness,
    Needs,
    TimestampPolicy,
    Window,
    calendar,
    correct,
    count_by_end,
    count_by_start,
    cumulate,
    early,
    global_windows,
    hopping,
    landmark,
    snapshot,
    ticks,
    tumbling,
)
from muntin.errors import ParameterError, PolicyError, QueryError, WindowError
from muntin.progress import bounded_delay, ordered, punctuate_every, punctuated
from muntin.schemas import describe
from muntin.triggers import Decision, Trigger, TriggerView, after, any_of, every, every_count, past_end, repeat, until
from muntin.windows import WindowKind
from muntin_adapters.combinators import filtering, preset
from muntin_engine.plan import check_trigger, plan_module
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.plan.module_plan import make_module
from muntin_patterns import FollowedBy
from muntin_stats import ExponentiallyWeightedAverage
from tests.plan.plans import AT, input_of, plan_of

TIME, TICKS, MILLIS = AxisScale(Axis.TIME), AxisScale(Axis.TICKS), AxisScale(Axis.TICKS, "ms")
SECOND = 1_000_000


@dataclass(frozen=True)
class Late(Trigger):
    """A query writer's own trigger, with a length."""

    name, version = "test.late", "1"
    by: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.WAIT


TIMED = {
    "window": tumbling("10 minutes"),
    "hop": hopping(timedelta(hours=1), "10 minutes", "1 minute", reach="2 minutes"),
    "delay": bounded_delay("1 minute"),
    "steps": punctuate_every(span="1 minute"),
    "late": correct("1 hour"),
    "trigger": early(repeat(any_of(past_end("5 seconds"), until(every_count(3), past_end("1 minute"))))),
    "own trigger": early(Late(ticks("5 seconds"))),
}
BARE = {
    "window": tumbling(600),
    "hop": hopping(60, 10, 1, reach=2),
    "offset": tumbling("1 hour", 5),
    "delay": bounded_delay(60),
    "steps": punctuate_every(rows=10, delay=5),
    "lag": ordered().with_idle("1 minute", lag=2),
    "late": correct(5),
    "trigger": early(repeat(any_of(past_end(-5), after("1 minute")))),
    "own trigger": early(Late(ticks(5))),
}


@pytest.mark.parametrize("name", TIMED)
def test_a_time_is_refused_where_integers_have_no_unit(name: str) -> None:
    with pytest.raises(QueryError, match=r"integers without a unit\n  say which they have, as in events\(..., unit="):
        TICKS.resolve(TIMED[name])
    assert TIME.resolve(TIMED[name]) == TIMED[name]


@pytest.mark.parametrize("name", BARE)
@pytest.mark.parametrize("scale", [TIME, MILLIS], ids=["time", "ms"])
def test_a_bare_number_is_refused_where_the_axis_is_time(name: str, scale: AxisScale) -> None:
    with pytest.raises(QueryError, match=r"is the bare number .*\n  say how long that is, for example "):
        scale.resolve(BARE[name])


@pytest.mark.parametrize("name", [name for name in BARE if name not in ("offset", "lag", "trigger")])
def test_a_bare_number_counts_ticks_of_any_other_axis(name: str) -> None:
    assert TICKS.resolve(BARE[name]) == BARE[name]


def test_a_clock_is_read_in_time_on_every_axis() -> None:
    policies = (early(every("1 minute")), ordered().with_idle("1 minute", lag="2 minutes"))
    for scale in (TIME, TICKS, MILLIS):
        assert tuple(map(scale.resolve, policies)) == policies
    with pytest.raises(QueryError, match="the period of a timer is the bare number 60"):
        TIME.resolve(early(after(60)))


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000), ("us", SECOND), ("ns", 1000 * SECOND)])
def test_a_time_becomes_a_number_of_units(unit: str, second: int) -> None:
    scale = AxisScale(Axis.TICKS, unit)
    window = hopping("1 hour", "10 minutes", "-1 minute", reach="2 minutes")
    assert scale.resolve(window) == hopping(3600 * second, 600 * second, -60 * second, reach=120 * second)
    assert scale.resolve(correct("1 minute")) == Lateness(correct(1).policy, 60 * second)
    assert scale.resolve(early(past_end("5 seconds"))).trigger == past_end(5 * second)
    assert scale.resolve(bounded_delay(0)).delay == 0


def test_a_time_that_is_no_whole_number_of_units_is_refused() -> None:
    with pytest.raises(
        QueryError, match="the delay is 1 millisecond 500 microseconds, which is no whole number of the unit"
    ):
        MILLIS.resolve(bounded_delay("1.5 ms"))


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1000), ("us", SECOND), ("ns", 1000 * SECOND)])
def test_a_module_reads_its_durations_in_ticks_of_the_axis_of_the_query(unit: str, second: int) -> None:
    scale = AxisScale(Axis.TICKS, unit)
    for cls in (FollowedBy, preset(FollowedBy, within="10 minutes"), filtering(FollowedBy, bool)):
        given = {"within": "10 minutes"} if "within" in signature(cls).parameters else {}
        module: Any = make_module(cls, given, scale.resolve)
        assert module.needs.reach == 600 * second + 1
    average: Any = make_module(ExponentiallyWeightedAverage, {"half_life": timedelta(seconds=5)}, scale.resolve)
    assert average.half_life == 5 * second
    assert FollowedBy("10 minutes").within == 600 * SECOND


def test_a_duration_that_a_module_reads_twice_is_converted_once() -> None:
    class Twice(ExponentiallyWeightedAverage):
        name, version = "test.twice", "1"

        def __init__(self, half_life: Duration) -> None:
            super().__init__(ticks(half_life))

    twice: Any = make_module(Twice, {"half_life": "5 seconds"}, MILLIS.resolve)
    assert twice.half_life == 5000


@pytest.mark.parametrize(
    ("scale", "within", "message"),
    [
        (TIME, 10, "the length is the bare number 10, and the times in at are timestamps\n  say how long that is"),
        (MILLIS, 10, "the length is the bare number 10, and the times in at are in ms"),
        (MILLIS, "1.5 ms", "1 millisecond 500 microseconds, which is no whole number of the unit 'ms'"),
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


def test_windows_and_triggers_are_told_as_they_are_written() -> None:
    assert str(past_end("1 second")) == "past_end('1 second')"
    assert (str(past_end(5)), str(past_end())) == ("past_end(5)", "past_end()")
    with pytest.raises(WindowError, match="above zero, got '-10 minutes'"):
        tumbling("-10 minutes")
    with pytest.raises(WindowError, match="above zero, got the size 60 and the hop -1"):
        hopping(60, -1)
    with pytest.raises(WindowError, match="cannot be negative, got '-1 hour'"):
        tumbling("1 hour", reach="-1 hour")


def test_a_query_over_integers_with_a_unit_is_explained_in_time() -> None:
    policies: dict[str, Any] = {
        "window": MILLIS.resolve(hopping("1 hour", "10 minutes", reach="90 seconds")),
        "input": input_of(MILLIS.resolve(bounded_delay("2 minutes")), late=MILLIS.resolve(correct("1 day"))),
    }
    told = explain_plan(plan_of(axis=Axis.TICKS, unit="ms", **policies))
    assert "hopping('1 hour', '10 minutes', reach='1 minute 30 seconds')" in told
    assert "2 minutes behind the newest start" in told
    assert "up to 1 day behind the watermark" in told
    assert "ticks" not in told


@pytest.mark.parametrize("scale", [TIME, MILLIS])
def test_a_trigger_that_cannot_be_asked_is_told_as_it_is_written(scale: AxisScale) -> None:
    written = early(any_of(every("1 minute"), past_end("1 second")))
    plan = plan_of(axis=scale.axis, unit=scale.unit, emit=scale.resolve(written), written_emit=str(written))
    with pytest.raises(PolicyError, match=r"past_end\('1 second'\)\), accumulate\) waits for a clock"):
        check_trigger(plan)


def test_what_a_module_needs_is_told_in_time_where_integers_have_a_unit() -> None:
    given = [describe(int, "c0")]
    module = plan_module("", FollowedBy, {"within": "10 minutes"}, given, lambda place, _: place, MILLIS.resolve)
    short = MILLIS.resolve(tumbling("1 hour", reach="5 minutes"))
    with pytest.raises(
        PolicyError, match=r"keeps them for 5 minutes\n(.*\n)* +write: tumbling\('1 hour', reach='10 minut"
    ):
        plan_of(module, axis=Axis.TICKS, unit="ms", window=short, clip=ClipPolicy.RIGHT)
    enough = MILLIS.resolve(tumbling("1 hour", reach="10 minutes 1 second"))
    plan_of(module, axis=Axis.TICKS, unit="ms", window=enough, clip=ClipPolicy.RIGHT)


def test_what_has_no_length_stays_as_it_is() -> None:
    for policy in (snapshot(), count_by_start(3), punctuated(), early(every_count(5)), None):
        assert all(scale.resolve(policy) is policy for scale in (TIME, TICKS, MILLIS))


def test_resolved_lengths_are_plain_numbers() -> None:
    window = TIME.resolve(hopping("1 hour", "10 minutes", 0))
    assert {type(value) for value in (window.size, window.hop, window.offset, window.reach)} == {int}


def test_a_unit_must_be_one_and_timestamps_have_their_own() -> None:
    with pytest.raises(QueryError, match="'hours' is not a unit of times\n  there are 'ns', 'us', 'ms', 's'"):
        AxisScale(Axis.TICKS, "hours")
    with pytest.raises(QueryError, match="are timestamps, so unit='ms' says nothing of them"):
        AxisScale(Axis.TIME, "ms")


@pytest.mark.parametrize(("unit", "second"), [("s", 1), ("ms", 1_000), ("us", SECOND), ("ns", 1_000 * SECOND)])
def test_a_calendar_knows_how_many_ticks_a_second_has(unit: str, second: int) -> None:
    days = AxisScale(Axis.TICKS, unit).resolve(calendar("day", zone="Europe/Berlin", reach="1 minute"))
    assert (days.second, days.reach) == (second, 60 * second)
    assert TIME.resolve(calendar("day")) == calendar("day")
    told = explain_plan(plan_of(window=days, axis=Axis.TICKS, unit=unit))
    assert "calendar('day', zone='Europe/Berlin', reach='1 minute')" in told


def test_a_calendar_over_integers_without_a_unit_is_refused_with_what_to_write() -> None:
    with pytest.raises(QueryError) as refused:
        TICKS.resolve(calendar("month"))
    assert str(refused.value) == (
        "the second of a calendar is 1 second, and the times in at are integers without a unit\n"
        "  say which they have, as in events(..., unit='ms'), or give lengths as integers"
    )


def test_a_clock_cannot_be_asked_about_times_that_one_has_shown_already() -> None:
    local = {"start": replace(AT, type="timestamp_ntz")}
    assert plan_of(window=calendar("month"), columns=local).window == calendar("month")
    with pytest.raises(QueryError) as refused:
        plan_of(window=calendar("month", zone="Asia/Tokyo"), columns=local)
    assert str(refused.value).endswith(
        "the times in at are timestamp_ntz: some clock has shown them already\n"
        "  cast them to timestamp; or, if that clock is the one of Asia/Tokyo, leave the zone out"
    )


def test_windows_that_grow_know_the_unit_and_say_when_they_are_complete() -> None:
    grown = MILLIS.resolve(landmark("1 hour", since="1970-01-02"))
    assert (grown.step, grown.since) == (3_600_000, 86_400_000)
    told = explain_plan(plan_of(window=grown, axis=Axis.TICKS, unit="ms"))
    assert "landmark('1 hour', since='1970-01-02T00:00:00Z')" in told
    told = explain_plan(plan_of(window=TIME.resolve(cumulate("1 day", "1 hour"))))
    assert "cumulate('1 day', '1 hour')" in told
    assert "less than 1 day, as results start where their windows do" in told
    assert "less than" not in explain_plan(plan_of(window=global_windows()))


@pytest.mark.parametrize(
    "window",
    [
        *(cumulate("1 day", "1 hour"), landmark("1 hour"), global_windows()),
        *(count_by_start(2, every=2), count_by_end(2, every=3)),
    ],
    ids=str,
)
def test_windows_that_grow_or_follow_ranks_have_no_time_bound_results(window: WindowKind) -> None:
    with pytest.raises(PolicyError, match="does not say\n  use timestamps='align', or another window"):
        plan_of(window=TIME.resolve(window), timestamps=TimestampPolicy.TIME_BOUND, emit=EmitPolicy.EAGER)


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
