"""The windows of a query along the axis: from ticks and watermarks to the numbers of windows, and back.

All are a `Grid`: of ticks, of steps in which windows grow, or of periods of any lengths, such as the days of a time
zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import Periods
from muntin.windows.grid import Grid, T
from muntin.windows.regular import GrowingSteps, RegularWindows

NEVER: Final = 2**62
"""The number of a slice, or of a window, that lies after all others; its negative is that of one before all others."""

_ENDS_OF_THE_AXIS: Final = (EARLIEST, INFINITY)


@dataclass(frozen=True, slots=True)
class WindowGrid(Grid):
    """A grid, and which of its windows are complete at a watermark.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> grid = WindowGrid.of(HoppingWindows(size=9, hop=6))
        >>> grid.first_open(14), grid.first_open(15), grid.first_unbegun(12), grid.first_unbegun(13)
        (1, 2, 2, 3)
    """

    @classmethod
    def of(cls, windows: RegularWindows) -> WindowGrid:
        """Return the grid of a specification, in the unit in which it counts: ticks, or periods such as months."""
        return cls(windows.size, windows.hop, windows.offset)

    @property
    def unit_grid(self) -> WindowGrid:
        """The grid itself, whatever it counts."""
        return self

    def extent_start(self, start: T) -> T:
        """Return the start of the whole window, given the start of its last step: here a window is one step."""
        return start

    def first_open(self, watermark: int) -> int:
        """Return the number of the first window that is not complete: `-NEVER` if none is, and `NEVER` if all are."""
        if watermark <= EARLIEST:
            return -NEVER
        if watermark >= INFINITY:
            return NEVER
        return self.first_ending_after(watermark)

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not start before a horizon; `-NEVER` if none does."""
        if horizon <= EARLIEST:
            return -NEVER
        return self.first_starting_from(horizon)


@dataclass(frozen=True, slots=True)
class GrowingGrid(WindowGrid):
    """Windows that share a start and grow step by step.

    In the grid a window is its last step: it has the number of that step, and starts where the step does.

    Attributes:
        period: The ticks after which the next windows start; None if all windows start at the offset, a landmark, so
            that window 0 is the first one.

    Example:
        >>> day = GrowingGrid(size=6, hop=6, period=24)
        >>> day.window(5), day.last_of(5), day.first_of(5), day.first_unbegun(25)
        (Window(start=24, end=36), 7, 4, 8)
    """

    period: int | None = None

    @property
    def unit_grid(self) -> GrowingGrid:
        """The grid itself: it counts ticks."""
        return self

    def extent_start(self, start: T) -> T:
        """Return the start of a whole window, given the start of its last step.

        A window starts where its period does; if there are no periods, all windows start at the landmark.
        """
        distance = start - self.offset
        if self.period is not None:
            distance = distance % self.period
        return start - distance

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        if self.period is None:
            number = max(0, number)  # before the landmark there are no windows: the first one stands for these
        start = self.start(number)
        return Window(self.extent_start(start), start + self.size)

    def first_of(self, number: T) -> T:
        """Return the number of the first window that starts where a given window does."""
        if self.period is None:
            return number * 0  # zero, or an array of zeros
        return number - number % (self.period // self.hop)

    def last_of(self, number: T) -> T:
        """Return the number of the last window that starts where a given window does.

        Windows of a landmark have no last one: the number then lies after all others.
        """
        windows_of_a_start = NEVER if self.period is None else self.period // self.hop
        return self.first_of(number) + (windows_of_a_start - 1)

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not exist before a horizon; `-NEVER` if none exists."""
        unbegun = WindowGrid.first_unbegun(self, horizon)
        if self.period is None or unbegun == -NEVER:
            return unbegun
        # All windows of a period exist once the first one has begun.
        return self.last_of(unbegun - 1) + 1


@dataclass(frozen=True, slots=True)
class PeriodGrid:
    """Windows of a number of periods each, such as three months: a `WindowGrid` over the numbers of periods.

    A period begins after a tick if its number is larger than that of the tick's period. So each method turns a tick
    into the number of its period, and asks the grid of numbers.

    Cost: that of `Periods.number_at` and `begins`.

    Attributes:
        unit_grid: The windows, over the numbers of periods in place of ticks.
        periods: The periods.
    """

    unit_grid: WindowGrid
    periods: Periods

    def first_ending_after(self, tick: int) -> int:
        """Return the number of the first window that ends after a tick."""
        return self.unit_grid.first_ending_after(self.periods.number_at(tick))

    def start(self, number: int) -> int:
        """Return the start of a window."""
        return self.periods.begins(self.unit_grid.start(number))

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        period_numbers = self.unit_grid.window(number)
        return Window(self.periods.begins(period_numbers.start), self.periods.begins(period_numbers.end))

    def last_end(self, tick: int) -> int:
        """Return the last end of a window at a tick or before it; a tick at an end of the axis is returned as it is."""
        if tick in _ENDS_OF_THE_AXIS:
            return tick
        return self.periods.begins(self.unit_grid.last_end(self.periods.number_at(tick)))

    def first_open(self, watermark: int) -> int:
        """Return the number of the first window that is not complete: `-NEVER` if none is, and `NEVER` if all are."""
        if watermark in _ENDS_OF_THE_AXIS:
            return self.unit_grid.first_open(watermark)
        return self.unit_grid.first_open(self.periods.number_at(watermark))

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not start before a horizon.

        `-NEVER` if none does, and `NEVER` if all do.
        """
        if horizon == EARLIEST:
            return -NEVER
        if horizon == INFINITY:
            return NEVER
        # The first period that does not begin before the horizon comes after that of the tick before the horizon.
        first_period = self.periods.number_at(horizon - 1) + 1
        return self.unit_grid.first_starting_from(first_period)


TickGrid: TypeAlias = WindowGrid | PeriodGrid
"""The windows of a specification, from ticks to their numbers and back."""


def grid_of(windows: RegularWindows) -> TickGrid:
    """Return the grid of the windows of a specification."""
    if isinstance(windows, GrowingSteps):
        return GrowingGrid(windows.size, windows.hop, windows.offset, windows.period)
    unit_grid = WindowGrid.of(windows)
    if windows.periods is None:
        return unit_grid
    return PeriodGrid(unit_grid, windows.periods)


def settled(grids: Iterable[TickGrid], watermark: int) -> int:
    """Return the last end of a window at or before a watermark, over all grids.

    Windows close at their ends and nowhere else, so output does not change between this end and the watermark.

    Example:
        >>> settled([WindowGrid(size=10, hop=5)], 23)
        20
    """
    return max([grid.last_end(watermark) for grid in grids])


def open_windows(grids: Sequence[TickGrid], watermark: int, horizon: int) -> int | None:
    """Return the number of windows that have begun and are not complete, of all grids.

    Returns:
        None if there is no grid, or no watermark yet: any window may be open then.

    Example:
        >>> open_windows([WindowGrid(size=10, hop=5)], 23, 31)  # those that start at 15, 20, 25 and 30
        4
    """
    if not grids or watermark <= EARLIEST:
        return None
    count = 0
    for grid in grids:
        count += max(0, grid.first_unbegun(horizon) - grid.first_open(watermark))
    return count
