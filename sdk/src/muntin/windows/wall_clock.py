"""The clock on the wall of a time zone: its reading at an instant, and the instant at which it first shows a time.

Times are seconds: of an instant since 1970-01-01 00:00 UTC, of a wall clock since 1970-01-01 00:00 as it shows it.
The calendar is the Gregorian one, also for times before it was introduced. Python's datetimes end with the years 1 and
9999; it repeats every 400 years, so times beyond are those of a year that is some multiple of 400 years away: they have
the first offset that is known of a zone, or the last rule.
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
"""400 years."""
_LEAST: Final = (date(2, 1, 1).toordinal() - _FIRST_DAY) * DAY
_MOST: Final = (date(9999, 1, 1).toordinal() - _FIRST_DAY) * DAY


def zone_named(name: str) -> tzinfo:
    """Return a time zone by its name in the IANA database."""
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
        close = get_close_matches(str(name), names, n=1, cutoff=0.6)
        suggestion = f"did you mean {close[0]!r}?" if close else "expected a name such as 'Europe/Berlin' or 'UTC'"
        raise WindowError(f"no time zone is named {name!r}\n  {suggestion}") from error


def shown_at(zone: tzinfo, instant: int) -> int:
    """Return the reading of a zone's clock at an instant."""
    near = instant + _shift(instant)
    offset = (_EPOCH + timedelta(seconds=near)).astimezone(zone).utcoffset()
    assert offset is not None, "a zone of the database has an offset at any time"
    return instant + offset // timedelta(seconds=1)


def first_shown(zone: tzinfo, shown: int) -> int:
    """Return the first instant at which the clock of a zone shows a time, or a later one because it skips that time.

    A time that is shown twice, since the clock is set back over it, counts where it is shown first.

    Example:
        >>> berlin = ZoneInfo("Europe/Berlin")
        >>> skipped = datetime(2024, 3, 31, 2, 30, tzinfo=UTC)
        >>> str(datetime.fromtimestamp(first_shown(berlin, int(skipped.timestamp())), UTC))
        '2024-03-31 01:00:00+00:00'
    """
    # The same time in a year that datetimes have; the calendar repeats, and so do the rules.
    near = shown + _shift(shown)
    offset_before, offset_after = _offsets(zone, near)
    if offset_before >= offset_after:
        # The clock shows the time once, or twice as it is set back: the earlier offset gives the first instant.
        return shown - offset_before
    # The clock is set forward over the time, at an instant between the two that the offsets make of it: look for the
    # first instant at which it shows the time or a later one.
    earliest = near - offset_after
    latest = near - offset_before
    seconds = range(latest - earliest)
    seconds_until_shown = bisect_left(seconds, near, key=lambda second: shown_at(zone, earliest + second))
    return earliest + seconds_until_shown + (shown - near)  # back in the year of the time


def day_of(year: int, month: int, day: int) -> int:
    """Return a date as the number of days since 1970-01-01, in any year.

    Example:
        >>> day_of(1970, 2, 1), day_of(1969, 12, 31), day_of(12_024, 2, 29) - day_of(12_024, 2, 28)
        (31, -1, 1)
    """
    cycles, near = divmod(year - 1, _CYCLE_YEARS)
    return date(near + 1, month, day).toordinal() - _FIRST_DAY + cycles * (_CYCLE // DAY)


def date_of(day: int) -> tuple[int, int, int]:
    """Undo `day_of`.

    Example:
        >>> date_of(day_of(2024, 2, 29)), date_of(day_of(-400, 3, 1))
        ((2024, 2, 29), (-400, 3, 1))
    """
    cycles, near = divmod(day + _FIRST_DAY - 1, _CYCLE // DAY)
    date_near = date.fromordinal(near + 1)
    return date_near.year + cycles * _CYCLE_YEARS, date_near.month, date_near.day


def _shift(second: int) -> int:
    """Return the multiple of 400 years that leads into the years of datetimes."""
    # Rounded up, so that the time lands on the first year that is known or after it.
    if second < _LEAST:
        return -(-(_LEAST - second) // _CYCLE) * _CYCLE
    if second >= _MOST:
        return (_MOST - 1 - second) // _CYCLE * _CYCLE
    return 0


@lru_cache(maxsize=1024)
def _offsets(zone: tzinfo, shown: int) -> tuple[int, int]:
    """Return the offsets before and after a change of the clock near a time that it shows; mostly they are equal."""
    time = (_EPOCH + timedelta(seconds=shown)).replace(tzinfo=zone)
    before = time.replace(fold=0).utcoffset()
    after = time.replace(fold=1).utcoffset()
    assert before is not None, "a zone of the database has an offset at any time"
    assert after is not None, "a zone of the database has an offset at any time"
    return before // timedelta(seconds=1), after // timedelta(seconds=1)
