"""Grids of windows: regular ones in ticks, and those of periods of any length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from muntin.axis import INFINITY
from muntin.windows.grid import last_multiple


class Periods(ABC):
    """Stretches that cover the whole axis one after the other: period `n` is `[begins(n), begins(n + 1))`.

    An engine cuts the axis into periods and keeps a partial state per key and period, whatever their lengths. Subclass
    it as a frozen dataclass: two equal objects stand for the same periods, so windows of both share their slices. A
    checkpoint stores states by the numbers of their periods, so the meaning of a number must not change while the
    version of the windows stays the same.

    Cost: the engine calls the methods for the periods that a micro-batch brings rows of, not for each row.

    Example:
        Twelve months in a year of 365 days: eleven of 30 days, and the last one of 35:

        >>> @dataclass(frozen=True, slots=True)
        ... class Months(Periods):
        ...     def begins(self, number):
        ...         return number // 12 * 365 + number % 12 * 30
        ...     def number_at(self, tick):
        ...         return tick // 365 * 12 + min(tick % 365 // 30, 11)
        >>> Months().number_at(364), Months().begins(12)
        (11, 365)
    """

    __slots__ = ()

    @abstractmethod
    def begins(self, number: int) -> int:
        """Return the tick at which a period begins; never one before that of the period before it."""

    @abstractmethod
    def number_at(self, tick: int) -> int:
        """Return the number of the period that a tick lies in: the last one that begins at the tick or before it."""

    @property
    def some_are_empty(self) -> bool:
        """True if a period may be empty: it begins at the same tick as the next one, but never two in a row.

        A window over an empty period alone does not exist. Windows of such periods must not overlap.
        """
        return False

    def spell(self, count: int) -> str:
        """Return a length of `count` periods in words, for `explain()`."""
        return "1 period" if count == 1 else f"{count} periods"


@dataclass(frozen=True, slots=True)
class PeriodWindows:
    """Windows of `size` periods, every `hop` periods: what `grid()` returns for windows of unequal lengths.

    Attributes:
        periods: The periods that `size`, `hop` and `offset` count.
        size: The number of periods of a window.
        hop: The number of periods between the starts of neighbours.
        offset: The number of the period that one of the windows starts with.
    """

    periods: Periods
    size: int
    hop: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class GrowingSteps:
    """The steps in which windows that share a start grow: what `growing()` returns.

    Attributes:
        size: The step by which each window is longer than the one before.
        offset: The start of windows.
        period: The number of ticks after which the next windows start; None if all windows start at the offset, and no
            event before it counts.
    """

    size: int
    offset: int = 0
    period: int | None = None

    @property
    def hop(self) -> int:
        """The step: one window ends in each step."""
        return self.size

    @property
    def periods(self) -> None:
        """None: steps are counted in ticks."""
        return None

    def around(self, tick: int) -> tuple[int, int]:
        """Return the common start of the windows that a tick is in, and the end of the last of them.

        Example:
            >>> GrowingSteps(6, period=24).around(30), GrowingSteps(6, offset=5).around(30)[0]
            ((24, 48), 5)
        """
        if self.period is None:
            return self.offset, INFINITY
        start = last_multiple(tick, self.period, self.offset)
        return start, start + self.period


class RegularWindows(Protocol):
    """Windows of one size at every multiple of a hop from an offset on, counted in ticks or in periods."""

    @property
    def periods(self) -> Periods | None:
        """The periods that `size`, `hop` and `offset` count; None if they count ticks."""
        ...

    @property
    def size(self) -> int:
        """Length of each window."""
        ...

    @property
    def hop(self) -> int:
        """Distance between the starts of neighbours."""
        ...

    @property
    def offset(self) -> int:
        """The start of one of the windows."""
        ...
