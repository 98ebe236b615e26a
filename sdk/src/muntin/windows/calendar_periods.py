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
"""Seconds: no clock was ever farther from UTC."""


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
        """Return the first tick at which the clock shows the first second of a period, or a later one."""
        return first_shown(zone_named(self.zone), self._first_day(number) * DAY + self.clock) * self.second

    def number_at(self, tick: int) -> int:
        """Return the number of the period that a tick lies in."""
        number = self.number_before(tick)
        # The estimate is off by little: a clock is less than a day behind, and days that a zone skipped are rare.
        while self.begins(number + 1) <= tick:
            number += 1
        return number

    def number_before(self, tick: int) -> int:
        """Return the number of the period that the farthest clock behind UTC may show at a tick, or an earlier one.

        Cost: arithmetic alone.
        """
        day = (tick // self.second - _FARTHEST - self.clock) // DAY
        if self.unit == "day":
            return day
        year, month, date = date_of(day)
        # Before its date, a month belongs to the period that began in the month before.
        return month_of(year, month) - (date < self.date)

    @property
    def some_are_empty(self) -> bool:
        """True for days of a zone that skipped one of them whole, as Samoa did in 2011."""
        return self.unit == "day" and _some_are_empty(self)

    def spell(self, count: int) -> str:
        """Return days, weeks, months, quarters or years."""
        spelled = spell_size(count, self.unit)
        return spelled if spelled[0].isdigit() else f"1 {spelled}"

    def _first_day(self, number: int) -> int:
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


_LOOKED_AT: Final = range(day_of(1800, 1, 1), day_of(2100, 1, 1), 61)
"""Days on which offsets are compared; zones were made, and the date line moved, between these."""


@lru_cache(maxsize=256)
def _days_near_jumps(zone: str) -> tuple[int, ...]:
    """Return the days of the months in which a zone set its clock forward by most of a day; mostly none.

    Cost: a few milliseconds, once for each zone.
    """
    clock = zone_named(zone)
    offsets = [(day, shown_at(clock, day * DAY) - day * DAY) for day in _LOOKED_AT]
    days: list[int] = []
    for (day, offset), (later_day, later_offset) in pairwise(offsets):
        if later_offset - offset > DAY * 3 // 4:
            # The jump lies between two of the days that were compared; days by another clock may begin earlier or
            # later.
            days += range(day - 2, later_day + 2)
    return tuple(days)


@lru_cache(maxsize=256)
def _some_are_empty(days: CalendarPeriods) -> bool:
    return any(days.begins(day) == days.begins(day + 1) for day in _days_near_jumps(days.zone))
