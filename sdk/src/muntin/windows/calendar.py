"""Calendar windows: days, weeks, months, quarters and years by the clock of a time zone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar, Final, Literal

from muntin.axis import EARLIEST, INFINITY, Axis, Duration, spell_as_written, ticks
from muntin.errors import WindowError
from muntin.windows.calendar_periods import CalendarPeriods, month_of
from muntin.windows.calendar_text import read_size, read_start, spell_size, start_of
from muntin.windows.extent import Window
from muntin.windows.hopping import HoppingWindows
from muntin.windows.kind import WindowKind
from muntin.windows.regular import PeriodWindows, RegularWindows
from muntin.windows.specification import WrittenWindows
from muntin.windows.stretches import Stretches
from muntin.windows.wall_clock import DAY, day_of, zone_named

_LEAST_DAYS: Final = {"day": 1, "month": 27}
"""The least number of days in a unit. A zone may once have skipped a day: then a month of 28 days had 27."""

_PAGE: Final = 64
"""The number of windows that are computed at once."""


@dataclass(frozen=True, slots=True)
class CalendarWindows(WindowKind):
    """A window of some days, or of some months, by the clock on the wall of a time zone.

    A day begins when the clock first shows its first second, so it has 23 or 25 hours where summer time begins or ends.
    Where the clock skips that second, the day begins when the clock is set forward; where the clock shows it twice, the
    first time counts. If the clock is set back over midnight, the repeated part of the day before counts for the new
    day. If a zone skipped a whole day, no window begins or ends with that day: of several windows that would begin at
    the same instant only the last one exists, and of several that would end at the same instant only the first.

    Times before the year 2 and after 9998 follow the first offset and the last rule that are known of the zone.

    The fields are the arguments of `calendar`: size and hop in units, the start as a date, perhaps with a time of day.

    Attributes:
        unit: `"day"` or `"month"`.
        second: The number of ticks in a second; a query sets it by the unit of its times.
    """

    name: ClassVar[str] = "calendar"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "calendar windows"
    lengths: ClassVar[tuple[str, ...]] = ("reach", "second")
    waits_for_events: ClassVar[bool] = False
    can_be_time_bound: ClassVar[bool] = True

    size: int
    hop: int
    unit: Literal["day", "month"]
    zone: str = "UTC"
    start: str = "1970-01-01"
    reach: int = 0
    second: int = ticks("1 second")

    def __post_init__(self) -> None:
        """Refuse a unit, a size, a hop, a reach, a zone or a start that makes no windows."""
        if self.unit not in _LEAST_DAYS:
            raise WindowError(f"a calendar window counts days or months, got {self.unit!r}")
        if self.size <= 0 or self.hop <= 0:
            if self.size == self.hop:  # most likely the query has no hop, which then is the size
                raise WindowError(f"a calendar window needs a size above zero, got {self.size} {self.unit}s")
            raise WindowError(
                "a calendar window needs a size and a hop above zero, got "
                f"a size of {self.size} and a hop of {self.hop} {self.unit}s"
            )
        if self.reach < 0:
            raise WindowError(f"the reach of a window cannot be negative, got {spell_as_written(self.reach)}")
        zone_named(self.zone)  # it raises if there is no such zone
        if self.unit == "month" and start_of(self.start).day > 28:
            raise WindowError(
                f"not every month has the day on which windows from {self.start} on start\n"
                "  expected: one of the days 1 to 28"
            )

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged by the reach: the time for which an event stays a member after its end.

        The stretch is empty for an event that lies between two windows.
        """
        reached_end = end if end == INFINITY else end + self.reach
        has_gaps = self.hop > self.size  # only then is there time between windows
        if has_gaps and start < reached_end:
            next_window = next(self._ending_after(start), None)  # None at either end of the axis
            if next_window is not None and next_window.start >= reached_end:
                return start, start
        return start, reached_end

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows of the calendar that share a tick with `[start, end)`."""
        if start < end:
            for window in self._ending_after(start):
                if window.start >= end:
                    return
                yield window

    def grid(self) -> RegularWindows | None:
        """Return the grid of the windows: of ticks for days in UTC, of days or months elsewhere.

        None if the windows have a reach, or if they overlap in a zone that skipped a day: there one of the windows that
        a grid would have does not exist.
        """
        grid = _period_grid(self)
        overlap = self.size > self.hop
        if self.reach or (overlap and grid.periods.some_are_empty):
            return None
        if self.zone != "UTC" or self.unit != "day":
            return grid
        # A day in UTC always has 24 hours, so a grid of ticks has the same windows, and the engine slices it faster.
        day = DAY * self.second
        time_of_day = start_of(self.start).second * self.second
        return HoppingWindows(size=self.size * day, hop=self.hop * day, offset=grid.offset * day + time_of_day)

    @property
    def longest(self) -> int | None:
        """The size in ticks if the windows are a grid of ticks; None elsewhere, as months and some days differ."""
        grid = self.grid()
        return None if grid is None or grid.periods is not None else grid.size

    @property
    def time_zone(self) -> str:
        """The name of the zone."""
        return self.zone

    def with_reach(self, reach: int) -> CalendarWindows:
        """Return the windows with at least this reach."""
        return replace(self, reach=max(self.reach, reach))

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for windows of a day with the reach."""
        return cls(size=1, hop=1, unit="day", reach=axis.round_up(reach)).spell(axis)

    @property
    def holds_past(self) -> int:
        """The reach, and the least time that neighbouring windows share."""
        shared_units = max(0, self.size - self.hop)
        shared_days = shared_units * _LEAST_DAYS[self.unit]
        if self.unit == "day":
            # A zone may have skipped one of the days. The least number of days in a month allows for that already.
            shared_days -= 1
        return self.reach + max(0, shared_days) * DAY * self.second

    def check_lengths(self, longest: int, written: WrittenWindows | None = None) -> None:
        """Refuse a size, a hop or a reach that is too long for the axis."""
        # By name, as `super()` does not work in a dataclass with slots.
        WindowKind.check_lengths(self, longest, written)
        days_in_longest_unit = 1 if self.unit == "day" else 31
        days = max(self.size, self.hop) * days_in_longest_unit
        if days * DAY * self.second > longest:  # `second` is the number of ticks in one
            raise WindowError(
                "{windows} is too long for a window; expected at most {longest} ticks",
                windows=written or WrittenWindows(self),
                longest=longest,
            )

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `calendar` and the arguments that it would take, by name."""
        arguments: dict[str, Any] = {"size": spell_size(self.size, self.unit)}
        if self.hop != self.size:
            arguments["hop"] = spell_size(self.hop, self.unit)
        if self.zone != "UTC":
            arguments["zone"] = self.zone
        if self._has_start:
            arguments["start"] = self.start
        if self.reach:
            arguments["reach"] = self.reach
        return self.name, arguments

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `calendar`."""
        arguments = [repr(spell_size(self.size, self.unit))]
        if self.hop != self.size:
            arguments.append(repr(spell_size(self.hop, self.unit)))
        arguments.append(f"zone={self.zone!r}")
        if self._has_start:
            arguments.append(f"start={self.start!r}")
        if self.reach:
            arguments.append(f"reach={self.spell_field('reach', axis)}")
        return f"calendar({', '.join(arguments)})"

    @property
    def _has_start(self) -> bool:
        """True if windows have a start other than the default."""
        return self.start != read_start(start=None, unit=self.unit, size=self.size, hop=self.hop)

    def _ending_after(self, tick: int) -> Iterator[Window]:
        """Yield the windows that end after a tick, in order and without an end."""
        if tick in (EARLIEST, INFINITY):
            return
        grid = _period_grid(self)
        # The window with the number n ends where the period `offset + n * hop + size` begins. It can end after the tick
        # only if that period comes after the period of the tick.
        least_tick_period = grid.periods.number_before(tick)
        least_end_period = least_tick_period + 1
        # The least n whose window ends with that period or a later one: divided and rounded up, as `-(-a // b)` is.
        least_number = -(-(least_end_period - grid.offset - self.size) // self.hop)
        for page in count(least_number // _PAGE):
            ends, windows = _page(self, page)
            # The first pages may begin with windows that have ended.
            yield from windows[bisect_right(ends, tick) :]


@dataclass(frozen=True, slots=True)
class _CalendarGrid(PeriodWindows):
    """Calendar windows in days or months."""

    periods: CalendarPeriods


@lru_cache(maxsize=256)
def _period_grid(kind: CalendarWindows) -> _CalendarGrid:
    """Return calendar windows as a grid whose periods are days or months, without regard to their reach."""
    start = start_of(kind.start)
    if kind.unit == "day":
        # `date`, the day on which a month begins, means nothing for days.
        periods = CalendarPeriods("day", kind.zone, date=1, clock=start.second, second=kind.second)
        offset = day_of(start.year, start.month, start.day)
    else:
        periods = CalendarPeriods("month", kind.zone, date=start.day, clock=start.second, second=kind.second)
        offset = month_of(start.year, start.month)
    return _CalendarGrid(periods, size=kind.size, hop=kind.hop, offset=offset)


@lru_cache(maxsize=256)
def _page(kind: CalendarWindows, page: int) -> tuple[list[int], list[Window]]:
    """Return the ends of a page of consecutive windows, and the windows, without those that a skipped day leaves out.

    Each event asks for windows, mostly those of a page that an earlier event has asked for: so pages are cached.

    Args:
        kind: The windows.
        page: The number of the page, negative before the start of the windows.
    """
    grid = _period_grid(kind)
    begins = grid.periods.begins
    first_period = grid.offset + page * _PAGE * kind.hop  # the first period of the first window of the page
    previous_end = begins(first_period - kind.hop + kind.size)  # of the last window before the page
    start = begins(first_period)
    windows: list[Window] = []
    for period in range(first_period, first_period + _PAGE * kind.hop, kind.hop):
        next_start = begins(period + kind.hop)
        end = begins(period + kind.size)
        # Of windows that begin at the same instant only the last exists, of those that end at the same one the first.
        if start < next_start and max(start, previous_end) < end:
            windows.append(Window(start, end))
        start = next_start
        previous_end = end
    return [window.end for window in windows], windows


def calendar(
    size: str, hop: str | None = None, *, zone: str = "UTC", start: str | None = None, reach: Duration = 0
) -> CalendarWindows:
    """Return windows of days, weeks, months, quarters or years, as a calendar on the wall has them.

    `CalendarWindows` says what happens where the clock is set. Times of the query are timestamps, or integers with a
    unit; `timestamp_ntz` has no zone, so it takes only `zone="UTC"`. The boundaries come from the time zone database of
    the machine, so all machines should have the same version. A machine without one needs the package `tzdata`;
    `zone="UTC"` needs none.

    Final results are evaluated over slices of days or months. The general evaluator takes windows with a `reach`, and
    two kinds of windows of days where the zone skipped a day: those that overlap, and those of single days over events
    with lifetimes.

    Args:
        size: Length of each window: `"day"`, `"week"`, `"month"`, `"quarter"`, `"year"`, or a number of these, as in
            `"2 weeks"`.
        hop: Distance between neighbouring starts; by default the size. A size in days or weeks needs a hop in days or
            weeks, and one in months, quarters or years a hop in these.
        zone: The time zone whose clock counts, by its name in the IANA database, such as `"America/New_York"`.
        start: The start of any of the windows, by that clock: a date (`"2024-04-06"`), a day of the week
            (`"sunday"`), a month (`"april"`), a time of day (`"06:00"`), or a date, day or month with a time. By
            default windows start at midnight, on Mondays where they are whole weeks, and in January where they are
            years.
        reach: The time after its end for which an event stays a member.

    Raises:
        WindowError: A size, a zone or a start does not exist by that name, or the reach is negative.

    Example:
        >>> print(calendar("3 months", "month", zone="America/New_York"))
        calendar('quarter', 'month', zone='America/New_York')
        >>> print(calendar("week", start="sunday"))
        calendar('week', zone='UTC', start='1970-01-04')

        Where summer time begins, a day has 23 hours:

        >>> from datetime import UTC, datetime
        >>> from muntin import instant
        >>> from muntin.windows import Stretches
        >>> noon = instant(datetime(2024, 3, 31, 12, tzinfo=UTC))
        >>> for day in calendar("day", zone="Europe/Berlin").cut(Stretches(), noon, noon + 1):
        ...     print(f"{day.starts_at:%Y-%m-%d %H:%M} - {day.ends_at:%Y-%m-%d %H:%M}")
        2024-03-30 23:00 - 2024-03-31 22:00
        >>> for year in calendar("year", zone="Europe/London", start="2000-04-06").cut(Stretches(), noon, noon + 1):
        ...     print(f"{year.starts_at:%Y-%m-%d %H:%M} - {year.ends_at:%Y-%m-%d %H:%M}")
        2023-04-05 23:00 - 2024-04-05 23:00
    """
    length, unit = read_size(size)
    distance, unit_of_hop = read_size(size if hop is None else hop)
    if unit != unit_of_hop:
        raise WindowError(
            f"a calendar window of {size!r} cannot hop by {hop!r}: months have no fixed number of days\n"
            "  expected: days and weeks, or months, quarters and years"
        )
    return CalendarWindows(
        size=length,
        hop=distance,
        unit=unit,
        zone=zone,
        start=read_start(start, unit, size=length, hop=distance),
        reach=ticks(reach),
    )
