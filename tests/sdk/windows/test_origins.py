"""Windows from an origin: the argument `offset` may be a time or a day at which one of them starts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from muntin import cumulate, hopping, instant, ticks, tumbling
from muntin.errors import DurationError, WindowError
from muntin.windows import Stretches

WEDNESDAY = datetime(2024, 5, 1, tzinfo=UTC)
"""The epoch was a Thursday, so windows of a week start on Thursdays without an offset."""


def start_of_window_at(kind: Any, moment: datetime) -> datetime:
    """Return the start of the last window that begins at or before a time."""
    tick = instant(moment)
    starts: list[datetime] = [window.starts_at for window in kind.cut(Stretches(), tick, tick + 1)]
    return max(starts)


@pytest.mark.parametrize(
    "origin",
    [WEDNESDAY, date(2024, 5, 1), datetime.fromisoformat("2024-05-01"), WEDNESDAY + timedelta(days=21)],
    ids=["aware", "date", "naive", "three weeks later"],
)
def test_one_of_the_windows_starts_at_the_origin(origin: Any) -> None:
    saturday = WEDNESDAY + timedelta(days=3)
    tuesday = WEDNESDAY - timedelta(seconds=1)
    weeks = tumbling("7 days", origin)
    assert start_of_window_at(weeks, saturday) == WEDNESDAY
    assert start_of_window_at(weeks, tuesday) == WEDNESDAY - timedelta(days=7)
    assert start_of_window_at(hopping("14 days", "7 days", origin), saturday) == WEDNESDAY
    assert cumulate("7 days", "1 day", origin).offset == ticks("6 days")


def test_the_zone_of_an_origin_counts() -> None:
    east = timezone(timedelta(hours=2))
    days = tumbling("1 day", datetime(2024, 5, 1, tzinfo=east))
    assert start_of_window_at(days, WEDNESDAY) == WEDNESDAY - timedelta(hours=2)


def test_origins_of_the_same_windows_make_equal_windows() -> None:
    weeks = tumbling("7 days", WEDNESDAY)
    assert weeks == tumbling("7 days", WEDNESDAY + timedelta(days=70))
    assert weeks == tumbling("7 days", "6 days")


def test_an_origin_is_spelled_as_the_offset_that_it_comes_to() -> None:
    assert str(tumbling("1 hour", date(2024, 5, 1))) == str(tumbling("1 hour"))
    assert tumbling("1 hour", WEDNESDAY + timedelta(minutes=15)).offset == ticks("15 minutes")


def test_an_origin_before_the_epoch_makes_the_same_windows_as_one_after_it() -> None:
    assert tumbling("7 days", datetime(1960, 1, 6, tzinfo=UTC)) == tumbling("7 days", date(1970, 1, 7))


def test_a_text_with_a_date_is_refused_as_an_offset() -> None:
    with pytest.raises(DurationError):
        tumbling("1 hour", "2024-05-01")


def test_windows_without_a_size_are_refused_with_an_origin_too() -> None:
    with pytest.raises(WindowError, match="size"):
        tumbling("0 seconds", WEDNESDAY)
