"""One window: a stretch of the axis."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import TickSpan


@dataclass(frozen=True, slots=True, order=True)
class Window(TickSpan):
    """One window: its extent `[start, end)` in ticks.

    Example:
        >>> Window(0, 60).duration
        60
    """

    start: int
    end: int
