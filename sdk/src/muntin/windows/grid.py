"""The grid: windows of one size at every multiple of a hop. All windows that no event changes are made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, Self, TypeVar

from muntin.axis import EARLIEST, INFINITY
from muntin.windows.extent import Window

_ENDS_OF_THE_AXIS: Final = (EARLIEST, INFINITY)


class WholeNumber(Protocol):
    """An integer, or a NumPy array of integers."""

    def __add__(self, other: Self | int, /) -> Self: ...

    def __sub__(self, other: Self | int, /) -> Self: ...

    def __mul__(self, other: int, /) -> Self: ...

    def __floordiv__(self, other: int, /) -> Self: ...

    def __mod__(self, other: int, /) -> Self: ...


T = TypeVar("T", bound=WholeNumber)


def last_multiple(tick: int, step: int, offset: int = 0) -> int:
    """Return the last tick, at a given tick or before it, that is the offset plus a multiple of the step.

    Example:
        >>> last_multiple(17, 5), last_multiple(17, 5, offset=3), last_multiple(-1, 5)
        (15, 13, -5)
    """
    return (tick - offset) // step * step + offset


@dataclass(frozen=True, slots=True)
class Grid:
    """Windows `[offset + n * hop, offset + n * hop + size)`, numbered by `n` in both directions.

    The unit of all numbers is a tick, or another thing that is counted, such as a day of a time zone. Methods with a
    `WholeNumber` take a single number or an array of numbers.

    Attributes:
        size: The length of a window.
        hop: The distance between the starts of neighbours.
        offset: The start of window 0.

    Example:
        >>> grid = Grid(size=9, hop=6)
        >>> grid.window(2), grid.first_ending_after(8), grid.first_ending_after(9)
        (Window(start=12, end=21), 0, 1)
        >>> grid.last_starting_before(12), grid.first_starting_from(12)
        (1, 2)
        >>> grid.next_start(8), grid.next_start(9), grid.last_end(14), grid.last_end(15)
        (0, 6, 9, 15)
    """

    periods: ClassVar[None] = None
    """None: the grid counts ticks, and no periods."""

    size: int
    hop: int
    offset: int = 0

    def start(self, number: T) -> T:
        """Return the start of a window."""
        return number * self.hop + self.offset

    def window(self, number: int) -> Window:
        """Return the extent of a window."""
        start = self.start(number)
        return Window(start, start + self.size)

    def first_ending_after(self, tick: T) -> T:
        """Return the number of the first window that ends after a tick."""
        # The quotient is the number of the last window that ends at the tick or before it.
        return (tick - self.offset - self.size) // self.hop + 1

    def last_starting_before(self, tick: T) -> T:
        """Return the number of the last window that starts before a tick."""
        return (tick - self.offset - 1) // self.hop

    def first_starting_from(self, tick: T) -> T:
        """Return the number of the first window that starts at a tick or after it."""
        return self.last_starting_before(tick) + 1

    def next_start(self, tick: int) -> int:
        """Return the start of the first window that ends after a tick; the tick itself at either end of the axis."""
        if tick in _ENDS_OF_THE_AXIS:
            return tick
        # This is `self.start(self.first_ending_after(tick))`, written out, as it is called for each event.
        return (tick - self.size - self.offset) // self.hop * self.hop + self.hop + self.offset

    def last_end(self, tick: int) -> int:
        """Return the last end of a window at a tick or before it; the tick itself at either end of the axis."""
        if tick in _ENDS_OF_THE_AXIS:
            return tick
        # Ends are `offset + size` plus a multiple of the hop: the remainder is the distance from the last of them.
        return tick - (tick - self.offset - self.size) % self.hop
