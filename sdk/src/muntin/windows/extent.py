"""One window: a stretch of the axis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from muntin.axis import EARLIEST, moment


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """One window: its extent `[start, end)` in ticks.

    Example:
        >>> Window(0, 60).duration
        60
    """

    start: int
    end: int

    @property
    def duration(self) -> int:
        """Its length in ticks."""
        return self.end - self.start

    @property
    def starts_at(self) -> datetime | None:
        """The start as a UTC datetime, where ticks are microseconds; None for the global window."""
        return None if self.start == EARLIEST else moment(self.start)

    @property
    def ends_at(self) -> datetime | None:
        """The end as a UTC datetime, where ticks are microseconds; None if it is open."""
        return moment(self.end)
