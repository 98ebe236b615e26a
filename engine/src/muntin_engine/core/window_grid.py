"""The arithmetic of windows of one size at every multiple of a hop: from ticks to numbers of windows, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeVar

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import RegularWindows

NEVER: Final = 2**62
"""A slice, or a window, that lies after all others."""


class WholeNumber(Protocol):
    """An integer, or a NumPy array of integers."""

    def __add__(self, other: int, /) -> Self: ...

    def __sub__(self, other: int, /) -> Self: ...

    def __mul__(self, other: int, /) -> Self: ...

    def __floordiv__(self, other: int, /) -> Self: ...


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
        >>> from muntin import HoppingWindows
        >>> grid = WindowGrid.of(HoppingWindows(size=9, hop=6))
        >>> grid.first_ending_after(8), grid.last_starting_before(13), grid.window(2)
        (0, 2, Window(start=12, end=21))
    """

    size: int
    hop: int
    offset: int = 0

    @classmethod
    def of(cls, windows: RegularWindows) -> WindowGrid:
        """Return the grid of a specification."""
        return cls(windows.size, windows.hop, windows.offset)

    def first_ending_after(self, tick: T) -> T:
        """Return the number of the first window that ends after a tick."""
        return (tick - self.offset - self.size) // self.hop + 1

    def last_starting_before(self, tick: T) -> T:
        """Return the number of the last window that starts before a tick."""
        return (tick - self.offset - 1) // self.hop

    def first_starting_from(self, tick: T) -> T:
        """Return the number of the first window that starts at a tick or after it."""
        return (tick - self.offset - 1) // self.hop + 1

    def firsts_ending_after(self, ticks: Iterable[int]) -> list[int]:
        """Return `first_ending_after` of many ticks, without a call for each."""
        past = self.offset + self.size
        return [(tick - past) // self.hop + 1 for tick in ticks]

    def firsts_starting_after(self, ticks: Iterable[int]) -> list[int]:
        """Return the number of the first window that starts after each of some ticks, without a call for each."""
        return [(tick - self.offset) // self.hop + 1 for tick in ticks]

    def start(self, number: T) -> T:
        """Return the start of a window."""
        return number * self.hop + self.offset

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        start = self.start(number)
        return Window(start, start + self.size)

    def first_open(self, watermark: int) -> int:
        """Return the number of the first window that is not complete: `-NEVER` if none is, and `NEVER` if all are."""
        if watermark <= EARLIEST:
            return -NEVER
        return NEVER if watermark >= INFINITY else self.first_ending_after(watermark)

    def first_unbegun(self, horizon: int) -> int:
        """Return the number of the first window that does not start before a horizon; `-NEVER` if none does."""
        return -NEVER if horizon <= EARLIEST else (horizon - self.offset - 1) // self.hop + 1


def settled(specifications: Iterable[RegularWindows], watermark: int) -> int:
    """Return the last end of a window of any specification at or before a watermark: up to there output is settled.

    Windows close at their ends and nowhere else, so the input's progress need not be known any finer.

    Example:
        >>> from muntin import HoppingWindows
        >>> settled([HoppingWindows(size=10, hop=5)], 23)
        20
    """
    if watermark in (EARLIEST, INFINITY):
        return watermark
    return max([watermark - (watermark - some.offset - some.size) % some.hop for some in specifications])


def open_windows(grids: Sequence[WindowGrid], watermark: int, horizon: int) -> int | None:
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
