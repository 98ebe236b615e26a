"""The axis: durations become ticks, ticks become datetimes; events and lifetimes lie on it."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime, timedelta, timezone
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import INFINITY, Event, Lifetime, instant, moment, ticks
from muntin.axis import spell_ticks
from muntin.errors import DurationError, StreamError

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (7, 7),
        (-7, -7),
        (timedelta(milliseconds=2), 2000),
        ("10 minutes", 10 * MINUTE),
        ("1 hour 30 minutes", 90 * MINUTE),
        ("1 hour, 30 min", 90 * MINUTE),
        ("1.5 h", 90 * MINUTE),
        ("250ms", 250_000),
        ("0.000001 s", 1),
        ("3 µs", 3),
        ("1 Week", 7 * 24 * 60 * MINUTE),
    ],
)
def test_a_duration_is_read_as_ticks(duration: int | str | timedelta, expected: int) -> None:
    assert ticks(duration) == expected


UNITS = "units: microseconds (us), milliseconds (ms), seconds (s), minutes (min), hours (h), days (d), weeks (w)"


@pytest.mark.parametrize(
    ("duration", "unit", "meant"),
    [
        ("10 minuts", "minuts", "10 minutes"),
        ("10m", "m", "10 minutes"),
        ("1 minut", "minut", "1 minute"),
        ("1 hour 30 mins 5 sceonds", "sceonds", "1 hour 30 mins 5 seconds"),
        ("-7 millis", "millis", "-7 milliseconds"),
        ("3 fortnights", "fortnights", None),
        ("5 nanoseconds", "nanoseconds", None),
        ("1 M", "M", None),
    ],
)
def test_an_unknown_unit_is_answered_with_the_closest_and_with_all(duration: str, unit: str, meant: str | None) -> None:
    with pytest.raises(DurationError) as refused:
        ticks(duration)
    suggestion = "" if meant is None else f"  did you mean {meant!r}?\n"
    assert str(refused.value) == (
        f"{duration!r} is not a duration: the unit {unit!r} is unknown\n"
        "  expected: ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'\n"
        f"{suggestion}  {UNITS}"
    )
    if meant is not None:
        assert ticks(meant)


@given(st.integers(-(2**62), 2**62))
def test_a_length_in_words_is_read_as_itself(length: int) -> None:
    assert ticks(spell_ticks(length)) == length


@pytest.mark.parametrize(
    ("duration", "reason"),
    [
        ("1 month", "the unit 'month' has no fixed length"),
        ("2 years", "the unit 'years' has no fixed length"),
        ("soon", "it is not a list of numbers with units"),
        ("", "it is not a list of numbers with units"),
        ("10", "it is not a list of numbers with units"),
        ("5 - 3 minutes", "it is not a list of numbers with units"),
        ("--5 minutes", "it is not a list of numbers with units"),
        ("-", "it is not a list of numbers with units"),
        ("1,000 ms", "it is not a list of numbers with units"),
        ("10 minutes ago", "it is not a list of numbers with units"),
        ("0.5 us", "0.5 us is not a whole number of microseconds"),
        (True, "it is a bool"),
        (1.5, "it is a float"),
        (None, "it is a NoneType"),
    ],
)
def test_what_has_no_fixed_length_is_refused_with_the_reason(duration: object, reason: str) -> None:
    with pytest.raises(DurationError) as refused:
        ticks(duration)  # type: ignore[arg-type]  # that is the point
    assert refused.value.value is duration
    assert str(refused.value) == (
        f"{duration!r} is not a duration: {reason}\n"
        "  expected: ticks as an int, a timedelta, or text such as '10 minutes' or '1 hour 30 minutes'"
        + (f"\n  windows of months are calendar({duration!r})" if "fixed length" in reason else "")
    )


HOUR_EAST = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC), 1_000_005),
        (datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), -1_000_000),
        (datetime(1970, 1, 1, 0, 0, 1), 1_000_000),  # noqa: DTZ001  # a naive one is taken as UTC
        (datetime(1970, 1, 1, 1, tzinfo=HOUR_EAST), 0),
    ],
)
def test_an_instant_counts_microseconds_from_the_epoch(at: datetime, expected: int) -> None:
    assert instant(at) == expected


@pytest.mark.parametrize("tick", [0, -1, 1_388_534_400_000_001])
def test_a_moment_is_the_instant_again(tick: int) -> None:
    at = moment(tick)
    assert at is not None
    assert (instant(at), at.tzinfo) == (tick, UTC)
    assert moment(INFINITY) is None
    with pytest.raises(OverflowError):
        moment(INFINITY - 1)  # beyond the year 9999


# events and lifetimes


def test_an_event_lasts_a_tick_or_until_more_is_known_or_from_one_time_to_another() -> None:
    point, edge, event = Event.point(4, "hit"), Event.edge(4, 1.5), Event(0, 1_000_000, None)
    assert (point.start, point.end, point.duration) == (4, 5, 1)
    assert (edge.end, edge.lifetime.is_open, edge.ends_at) == (INFINITY, True, None)
    assert (event.starts_at, event.ends_at) == (moment(0), moment(1_000_000))


@pytest.mark.parametrize("kind", [Lifetime, lambda start, end: Event(start, end, "payload")])
@pytest.mark.parametrize("end", [3, 2, -4])
def test_an_end_must_lie_after_the_start(kind: type[Lifetime], end: int) -> None:
    with pytest.raises(StreamError, match=rf"must end after it starts, got \[3, {end}\)") as refused:
        kind(3, end)
    assert refused.value.values == {"start": 3, "end": end}


#         0    5    10
# first   [----)
# second       [----)      they touch
# third       [-)          it overlaps both
def test_lifetimes_that_touch_do_not_overlap_and_sort_by_start_then_end() -> None:
    first, second, third = Lifetime(0, 5), Lifetime(5, 10), Lifetime(4, 6)
    overlaps = [(a, b) for a, b in permutations((first, second, third), 2) if a.overlaps(b)]
    assert overlaps == [(first, third), (second, third), (third, first), (third, second)]
    assert sorted([Lifetime(2, 4), Lifetime(1, 9), Lifetime(2, 3)]) == [Lifetime(1, 9), Lifetime(2, 3), Lifetime(2, 4)]


def test_events_are_values() -> None:
    event = Event(1, 2, ("a", 1))
    assert pickle.loads(pickle.dumps(event)) == event
    assert len({event, Event(1, 2, ("a", 1))}) == 1
    with pytest.raises(AttributeError):
        event.end = 5  # type: ignore[misc]  # that is the point
