"""The clock on the wall of a time zone: its reading at an instant, and the instant at which it first shows a time.

Times are seconds: an instant is counted since 1970-01-01 00:00 UTC, and a time of a wall clock since the clock showed
1970-01-01 00:00. The calendar is the Gregorian one, also for times before it was introduced. It repeats every 400
years. So a time outside the years 2 to 9998, which Python's datetimes cover in every zone, is treated as the same time
in a covered year, some multiple of 400 years away: there a zone has the first offset, or the last rule, that is known.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from muntin.errors import WindowError

DAY: Final = 86_400
"""Seconds of a day."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
_CYCLE_YEARS: Final = 400
_CYCLE: Final = 146_097 * DAY
"""Seconds of 400 years, after which the calendar repeats."""
_LEAST: Final = (date(2, 1, 1).toordinal() - _FIRST_DAY) * DAY
"""The first second that is looked up as it is."""
_MOST: Final = (date(9999, 1, 1).toordinal() - _FIRST_DAY) * DAY
"""The second after the last one that is looked up as it is."""


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA database.

    Raises:
        WindowError: There is no zone of that name, or this machine has no database of time zones.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError) as error:
        names = available_timezones()
        if not names:
            raise WindowError(
                f"the time zone {name!r} cannot be looked up: this machine has no time zone database\n"
                "  install one, for example with pip install tzdata, here and where the workers run"
            ) from error
        close_names = get_close_matches(str(name), names, n=1, cutoff=0.6)
        suggestion = "expected a name such as 'Europe/Berlin' or 'UTC'"
        if close_names:
            suggestion = f"did you mean {close_names[0]!r}?"
        raise WindowError(f"no time zone is named {name!r}\n  {suggestion}") from error


def shown_at(zone: tzinfo, instant: int) -> int:
    """Return the reading of a zone's clock at an instant, both in seconds since 1970-01-01 00:00.

    The instant is counted in UTC, the reading by the clock itself.
    """
    # The same moment in a year that datetimes cover; the calendar repeats, and so do the rules of a zone.
    covered_instant = instant + _shift(instant)
    offset = (_EPOCH + timedelta(seconds=covered_instant)).astimezone(zone).utcoffset()
    assert offset is not None, "a zone of the database has an offset at any time"
    return instant + offset // timedelta(seconds=1)


def first_shown(zone: tzinfo, shown: int) -> int:
    """Return the first instant at which the clock of a zone shows a time.

    If the clock is set forward over the time, that is the instant at which it shows a later time instead. If the clock
    is set back over the time, and so shows it twice, that is the first of the two instants.

    Args:
        zone: The time zone.
        shown: The time, in seconds since 1970-01-01 00:00 by the same clock.

    Returns:
        The instant, in seconds since the epoch.

    Example:
        >>> berlin = ZoneInfo("Europe/Berlin")
        >>> skipped = datetime(2024, 3, 31, 2, 30, tzinfo=UTC)
        >>> str(datetime.fromtimestamp(first_shown(berlin, int(skipped.timestamp())), UTC))
        '2024-03-31 01:00:00+00:00'
    """
    # The same time in a year that datetimes cover; the calendar repeats, and so do the rules of a zone.
    covered_time = shown + _shift(shown)
    offset_before, offset_after = _offsets(zone, covered_time)
    if offset_before >= offset_after:
        # The clock shows the time once, or twice as it is set back: the earlier offset gives the first instant.
        return shown - offset_before
    # The clock is set forward over the time. The instant lies between the two instants that the offsets make of the
    # time. Between these the clock never goes back: search for the first one at which it shows the time or a later one.
    earliest = covered_time - offset_after
    latest = covered_time - offset_before
    seconds = range(latest - earliest)
    seconds_until_shown = bisect_left(seconds, covered_time, key=lambda second: shown_at(zone, earliest + second))
    covered_instant = earliest + seconds_until_shown
    return covered_instant + (shown - covered_time)  # back in the year of the time


def day_of(year: int, month: int, day: int) -> int:
    """Return a date as the number of days since 1970-01-01, in any year.

    Example:
        >>> day_of(1970, 2, 1), day_of(1969, 12, 31), day_of(12_024, 2, 29) - day_of(12_024, 2, 28)
        (31, -1, 1)
    """
    # Datetimes count years from 1 on.
    cycles, year_in_cycle = divmod(year - 1, _CYCLE_YEARS)
    return date(year_in_cycle + 1, month, day).toordinal() - _FIRST_DAY + cycles * (_CYCLE // DAY)


def date_of(day: int) -> tuple[int, int, int]:
    """Return the year, the month and the day of a number of days since 1970-01-01: the inverse of `day_of`.

    Example:
        >>> date_of(day_of(2024, 2, 29)), date_of(day_of(-400, 3, 1))
        ((2024, 2, 29), (-400, 3, 1))
    """
    # Datetimes count days from 1 on.
    cycles, day_in_cycle = divmod(day + _FIRST_DAY - 1, _CYCLE // DAY)
    date_in_cycle = date.fromordinal(day_in_cycle + 1)
    return date_in_cycle.year + cycles * _CYCLE_YEARS, date_in_cycle.month, date_in_cycle.day


def _shift(second: int) -> int:
    """Return the multiple of 400 years, in seconds, to add to a time so that datetimes cover it; 0 if they do."""
    if second < _LEAST:
        cycles = -(-(_LEAST - second) // _CYCLE)  # rounded up: to the first covered year or after it
        return cycles * _CYCLE
    if second >= _MOST:
        cycles = (_MOST - 1 - second) // _CYCLE  # negative, and rounded down: to the last covered year or before it
        return cycles * _CYCLE
    return 0


@lru_cache(maxsize=1024)
def _offsets(zone: tzinfo, shown: int) -> tuple[int, int]:
    """Return the offsets from UTC, in seconds, before and after the change of the clock that skips or repeats a time.

    If the clock shows the time once, both offsets are the same.
    """
    # For a time that the clock skips or shows twice, `fold` picks the offset before or after the change.
    time = (_EPOCH + timedelta(seconds=shown)).replace(tzinfo=zone)
    before = time.replace(fold=0).utcoffset()
    after = time.replace(fold=1).utcoffset()
    assert before is not None, "a zone of the database has an offset at any time"
    assert after is not None, "a zone of the database has an offset at any time"
    return before // timedelta(seconds=1), after // timedelta(seconds=1)
