"""The axis: durations become ticks, ticks become datetimes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import INFINITY, instant, moment, ticks
from muntin.axis import spell_ticks
from muntin.errors import DurationError

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


def test_an_instant_counts_microseconds_from_the_epoch() -> None:
    assert instant(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005


def test_a_time_before_the_epoch_is_a_negative_instant() -> None:
    assert instant(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)) == -1_000_000


def test_a_naive_datetime_is_taken_as_utc() -> None:
    assert instant(datetime(2013, 1, 1)) == instant(datetime(2013, 1, 1, tzinfo=UTC))  # noqa: DTZ001


def test_a_datetime_of_another_zone_is_the_same_instant() -> None:
    assert instant(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0


@pytest.mark.parametrize("tick", [0, -1, 1_388_534_400_000_001])
def test_a_moment_is_the_instant_again(tick: int) -> None:
    at = moment(tick)
    assert at is not None
    assert (instant(at), at.tzinfo) == (tick, UTC)


def test_infinity_has_no_moment() -> None:
    assert moment(INFINITY) is None


def test_an_instant_beyond_the_year_9999_is_an_error() -> None:
    with pytest.raises(OverflowError):
        moment(INFINITY - 1)
