"""Windows from a given origin: `offset` takes a time or a day at which one of them starts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from muntin import cumulate, hopping, instant, ticks, tumbling
from muntin.errors import DurationError, WindowError
from muntin.windows import Stretches

MAY = datetime(2024, 5, 1, tzinfo=UTC)
"""A Wednesday; the epoch was a Thursday, so windows of a week start on Thursdays without an offset."""


def start_at(window: Any, moment: datetime) -> datetime:
    """Return the start of the last window that begins at or before a time."""
    tick = instant(moment)
    starts: list[datetime] = [cut.starts_at for cut in window.cut(Stretches(), tick, tick + 1)]
    return max(starts)


@pytest.mark.parametrize(
    "origin", [MAY, date(2024, 5, 1), datetime.fromisoformat("2024-05-01"), MAY + timedelta(days=21)]
)
def test_one_of_the_windows_starts_at_the_origin(origin: Any) -> None:
    weeks = tumbling("7 days", origin)
    assert start_at(weeks, MAY + timedelta(days=3)) == MAY
    assert start_at(weeks, MAY - timedelta(seconds=1)) == MAY - timedelta(days=7)
    assert start_at(hopping("14 days", "7 days", origin), MAY + timedelta(days=3)) == MAY
    assert cumulate("7 days", "1 day", origin).offset == ticks("6 days")


def test_a_zone_counts() -> None:
    east = timezone(timedelta(hours=2))
    assert start_at(tumbling("1 day", datetime(2024, 5, 1, tzinfo=east)), MAY) == MAY - timedelta(hours=2)


def test_origins_of_the_same_windows_are_the_same_windows() -> None:
    assert tumbling("7 days", MAY) == tumbling("7 days", MAY + timedelta(days=70)) == tumbling("7 days", "6 days")
    assert str(tumbling("1 hour", date(2024, 5, 1))) == str(tumbling("1 hour"))
    assert tumbling("1 hour", MAY + timedelta(minutes=15)).offset == ticks("15 minutes")


def test_before_the_epoch_and_after_it_are_alike() -> None:
    assert tumbling("7 days", datetime(1960, 1, 6, tzinfo=UTC)) == tumbling("7 days", date(1970, 1, 7))


def test_what_is_no_offset_is_refused() -> None:
    with pytest.raises(DurationError):
        tumbling("1 hour", "2024-05-01")
    with pytest.raises(WindowError, match="size"):
        tumbling("0 seconds", MAY)
