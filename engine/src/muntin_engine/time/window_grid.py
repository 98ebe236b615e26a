"""The arithmetic of windows of one size at every multiple of a hop: from ticks to numbers of windows, and back.

What a size and a hop count are ticks, or periods of any lengths, such as the days of a time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeAlias, TypeVar

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import Periods
from muntin.windows.regular import GrowingSteps, RegularWindows

NEVER: Final = 2**62
"""A slice, or a window, that lies after all others."""

_ENDS_OF_THE_AXIS: Final = (EARLIEST, INFINITY)


class WholeNumber(Protocol):
    """An integer, or a NumPy array of integers."""

    def __add__(self, other: Self | int, /) -> Self: ...

    def __sub__(self, other: Self | int, /) -> Self: ...

    def __mul__(self, other: int, /) -> Self: ...

    def __floordiv__(self, other: int, /) -> Self: ...

    def __mod__(self, other: int, /) -> Self: ...


T = TypeVar("T", bound=WholeNumber)


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """Windows `[offset + n * hop, offset + n * hop + size)`, numbered in both directions.

    Methods of a `WholeNumber` take an array of them as well as one.

    Attributes:
        size: The length of a window.
        hop: How far the starts of neighbours are apart.
        offset: Where window 0 starts.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> grid = WindowGrid.of(HoppingWindows(size=9, hop=6))
        >>> grid.first_ending_after(8), grid.last_starting_before(13), grid.window(2)
        (0, 2, Window(start=12, end=21))
    """

    size: int
    hop: int
    offset: int = 0

    @classmethod
    def of(cls, windows: RegularWindows) -> WindowGrid:
        """Return the grid of a specification, in what its size and its hop count."""
        return cls(windows.size, windows.hop, windows.offset)

    @property
    def counted(self) -> WindowGrid:
        """Itself, over what it counts."""
        return self

    @property
    def periods(self) -> None:
        """None: it counts ticks."""
        return None

    def first_ending_after(self, tick: T) -> T:
        """Return the number of the first window that ends after a tick."""
        return (tick - self.offset - self.size) // self.hop + 1

    def last_starting_before(self, tick: T) -> T:
        """Return the number of the last window that starts before a tick."""
        return (tick - self.offset - 1) // self.hop

    def first_starting_from(self, tick: T) -> T:
        """Return the number of the first window that starts at a tick or after it."""
        return (tick - self.offset - 1) // self.hop + 1

    def start(self, number: T) -> T:
        """Return the start of a window."""
        return number * self.hop + self.offset

    def extent_start(self, start: T) -> T:
        """Return the start of the extent of a window that starts at a tick."""
        return start

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        start = self.start(number)
        return Window(self.extent_start(start), start + self.size)

    def next_start(self, tick: int) -> int:
        """Return the start of the first window that ends after a tick; the tick itself at either end of the axis."""
        if tick in _ENDS_OF_THE_AXIS:
            return tick
        return (tick - self.size - self.offset) // self.hop * self.hop + self.hop + self.offset

    def last_end(self, tick: int) -> int:
        """Return the last end of a window at a tick or before it; the tick itself at either end of the axis."""
        return tick if tick in _ENDS_OF_THE_AXIS else tick - (tick - self.offset - self.size) % self.hop

    def first_open(self, watermark: int) -> int:
        """Return the number of the first window that is not complete: `-NEVER` if none is, and `NEVER` if all are."""
        if watermark <= EARLIEST:
            return -NEVER
        return NEVER if watermark >= INFINITY else self.first_ending_after(watermark)

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not start before a horizon; `-NEVER` if none does."""
        return -NEVER if horizon <= EARLIEST else (horizon - self.offset - 1) // self.hop + 1


@dataclass(frozen=True, slots=True)
class GrowingGrid(WindowGrid):
    """Windows that share a start and grow by a step: numbered, and told from each other, by their last steps.

    Attributes:
        period: After how many ticks the next ones start; None if all start at the offset, window 0 being the first.

    Example:
        >>> day = GrowingGrid(size=6, hop=6, period=24)
        >>> day.window(5), day.last_of(5), day.first_of(5), day.first_unbegun(25)
        (Window(start=24, end=36), 7, 4, 8)
    """

    period: int | None = None

    @property
    def counted(self) -> GrowingGrid:
        """Itself."""
        return self

    def extent_start(self, start: T) -> T:
        """Return the start of the period, or the landmark."""
        behind = start - self.offset
        return start - (behind if self.period is None else behind - behind // self.period * self.period)

    def window(self, number: int) -> Window:
        """Return the extent of a window; of the first one where there are none yet."""
        return WindowGrid.window(self, number if self.period is not None else max(0, number))

    def first_of(self, number: T) -> T:
        """Return the first of the windows that share their start with one; window 0 if all do."""
        return number * 0 if self.period is None else number - number % (self.period // self.hop)

    def last_of(self, number: T) -> T:
        """Return the last of the windows that share their start with one; one after all others if there is none."""
        first = self.first_of(number)
        return first + ((NEVER if self.period is None else self.period // self.hop) - 1)

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that is not there before a horizon; `-NEVER` if none is."""
        found = WindowGrid.first_unbegun(self, horizon)
        return found if self.period is None or found == -NEVER else self.last_of(found - 1) + 1


@dataclass(frozen=True, slots=True)
class PeriodGrid:
    """Windows of some periods each, every so many periods: those of a `WindowGrid` over the numbers of the periods.

    A period begins after a tick if its number is above that of the period of the tick, so all that is asked of ticks is
    asked of numbers.

    Cost: that of `Periods.number_at` and `begins`.

    Attributes:
        counted: The windows, over numbers of periods.
        periods: The periods.
    """

    counted: WindowGrid
    periods: Periods

    def first_ending_after(self, tick: int) -> int:
        """Return the number of the first window that ends after a tick."""
        return self.counted.first_ending_after(self.periods.number_at(tick))

    def start(self, number: int) -> int:
        """Return the start of a window."""
        return self.periods.begins(self.counted.start(number))

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        counted = self.counted.window(number)
        return Window(self.periods.begins(counted.start), self.periods.begins(counted.end))

    def last_end(self, tick: int) -> int:
        """Return the last end of a window at a tick or before it; the tick itself at either end of the axis."""
        if tick in _ENDS_OF_THE_AXIS:
            return tick
        return self.periods.begins(self.counted.last_end(self.periods.number_at(tick)))

    def first_open(self, watermark: int) -> int:
        """Return the number of the first window that is not complete: `-NEVER` if none is, and `NEVER` if all are."""
        return self.counted.first_open(
            watermark if watermark in _ENDS_OF_THE_AXIS else self.periods.number_at(watermark)
        )

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not start before a horizon.

        `-NEVER` if none does, and `NEVER` if all do.
        """
        if horizon in _ENDS_OF_THE_AXIS:
            return -NEVER if horizon == EARLIEST else NEVER
        return self.counted.first_starting_from(self.periods.number_at(horizon - 1) + 1)


TickGrid: TypeAlias = WindowGrid | PeriodGrid
"""The windows of a specification, from ticks to their numbers and back."""


def grid_of(windows: RegularWindows) -> TickGrid:
    """Return the windows of a specification."""
    if isinstance(windows, GrowingSteps):
        return GrowingGrid(windows.size, windows.hop, windows.offset, windows.period)
    counted = WindowGrid.of(windows)
    return counted if windows.periods is None else PeriodGrid(counted, windows.periods)


def settled(grids: Iterable[TickGrid], watermark: int) -> int:
    """Return the last end of a window of any grid at or before a watermark: up to there output is settled.

    Windows close at their ends and nowhere else, so the input's progress need not be known any finer.

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
    return sum(max(0, grid.first_unbegun(horizon) - grid.first_open(watermark)) for grid in grids)
