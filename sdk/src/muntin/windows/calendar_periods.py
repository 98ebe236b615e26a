"""Days and months by the clock on the wall of a time zone, numbered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from muntin.windows.calendar_text import spell_size
from muntin.windows.regular import Periods
from muntin.windows.wall_clock import DAY, date_of, day_of, first_shown, shown_at, zone_named

_FARTHEST: Final = 16 * 3600
"""The most seconds by which a clock was ever behind UTC, or before it."""


@dataclass(frozen=True, slots=True)
class CalendarPeriods(Periods):
    """Days since 1970-01-01, or months since January 1970, by the clock of a zone.

    Attributes:
        unit: `"day"` or `"month"`.
        zone: The name of the time zone in the IANA database.
        date: The day of the month on which a month begins.
        clock: The second of the day at which a day or a month begins, by that clock.
        second: The number of ticks in a second.

    Example:
        >>> days = CalendarPeriods("day", "Europe/Berlin", 1, 0, second=1)
        >>> days.number_at(-3_601), days.number_at(-3_600), days.begins(0)
        (-1, 0, -3600)
    """

    unit: Literal["day", "month"]
    zone: str
    date: int
    clock: int
    second: int

    def begins(self, number: int) -> int:
        """Return the first tick at which the clock shows the first second of a period, or a later time."""
        first_second = self._first_day(number) * DAY + self.clock
        return first_shown(zone_named(self.zone), first_second) * self.second

    def number_at(self, tick: int) -> int:
        """Return the number of the period that a tick lies in."""
        number = self.number_before(tick)
        # The lower bound is close: a clock is less than a day behind UTC, and days that a zone skipped are rare.
        while self.begins(number + 1) <= tick:
            number += 1
        return number

    def number_before(self, tick: int) -> int:
        """Return a lower bound of the number of the period that a tick lies in.

        Cost: arithmetic alone, without the rules of the zone.
        """
        # The day by the clock that is farthest behind UTC, where a day begins at the second `clock`.
        day = (tick // self.second - _FARTHEST - self.clock) // DAY
        if self.unit == "day":
            return day
        year, month, date = date_of(day)
        number = month_of(year, month)
        # The first dates of a month belong to the period that began in the month before.
        return number - 1 if date < self.date else number

    @property
    def some_are_empty(self) -> bool:
        """True for days in a zone that once skipped a whole day, as Samoa did in 2011."""
        return self.unit == "day" and _some_are_empty(self)

    def spell(self, count: int) -> str:
        """Return a number of periods in days, weeks, months, quarters or years, such as `1 week`."""
        spelled = spell_size(count, self.unit)
        return spelled if spelled[0].isdigit() else f"1 {spelled}"

    def _first_day(self, number: int) -> int:
        """Return the day, since 1970-01-01, on which a period begins."""
        if self.unit == "day":
            return number
        years, months = divmod(number, 12)
        return day_of(1970 + years, months + 1, self.date)


def month_of(year: int, month: int) -> int:
    """Return a month as the number of months since January 1970.

    Example:
        >>> month_of(1969, 12), month_of(2024, 3)
        (-1, 650)
    """
    return (year - 1970) * 12 + month - 1


_COMPARED_DAYS: Final = range(day_of(1800, 1, 1), day_of(2100, 1, 1), 61)
"""The days on which the offsets of a zone are compared, two months apart, over the years in which there are zones."""


@lru_cache(maxsize=256)
def _days_near_jumps(zone: str) -> tuple[int, ...]:
    """Return the days, within a few months, around each jump of a zone's clock over a whole day; mostly none.

    Cost: a few milliseconds, once for each zone.
    """
    clock = zone_named(zone)
    offsets = [(day, shown_at(clock, day * DAY) - day * DAY) for day in _COMPARED_DAYS]
    days: list[int] = []
    for (day, offset), (later_day, later_offset) in pairwise(offsets):
        # Days are skipped where a clock moves forward. Summer time moves it by an hour or two; only a jump over the
        # date line moves it by most of a day.
        if later_offset - offset > DAY * 3 // 4:
            # Two days more on each side, as the days of the windows may begin at another time than midnight.
            days += range(day - 2, later_day + 2)
    return tuple(days)


@lru_cache(maxsize=256)
def _some_are_empty(days: CalendarPeriods) -> bool:
    """Return True if one of the days begins at the same tick as the next one."""
    return any(days.begins(day) == days.begins(day + 1) for day in _days_near_jumps(days.zone))
