"""Firing by a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import EARLIEST, INFINITY, BareClockLength, Duration, clock_ticks, spell_ticks
from muntin.errors import PolicyError
from muntin.triggers.in_turn import Repeat
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window

_UNKNOWN = EARLIEST
"""The state after a member came while no clock had been read; the first reading then counts as its time."""


@dataclass(frozen=True, slots=True)
class Timer(Trigger):
    """Fires once, some time of the clock after a member came; made by `after` and `every`.

    Its state is the reading at which it fires, or None while no member came.

    Attributes:
        period: In microseconds.
        is_aligned: True if it fires at the next multiple of the period, false if a whole period later.
    """

    name: ClassVar[str] = "timer"

    period: int
    is_aligned: bool = False

    def __post_init__(self) -> None:
        if self.period < 1:
            is_bare = isinstance(self.period, BareClockLength)
            given = self.period if is_bare else repr(spell_ticks(self.period))
            raise PolicyError(f"a timer needs a period above zero, got {given}")

    def __str__(self) -> str:
        return f"after({spell_ticks(self.period)!r}{', aligned' if self.is_aligned else ''})"

    @property
    def reads_clock(self) -> bool:
        """It does."""
        return True

    def step(self, state: int | None, window: Window, view: TriggerView) -> tuple[int | None, Decision]:
        """Set the timer at the first member, and see whether its time has come."""
        if state is None and not view.came:
            return None, Decision.WAIT
        if state is None or state == _UNKNOWN:
            return self._fires_at(view.clock), Decision.WAIT
        return state, Decision.FIRE_LAST if view.clock >= state else Decision.WAIT

    def next_clock(self, state: int | None, window: Window) -> int:
        """Return the reading at which it fires."""
        if state is None:
            return INFINITY
        return EARLIEST + 1 if state == _UNKNOWN else state

    def _fires_at(self, clock: int) -> int:
        if clock == EARLIEST:
            return _UNKNOWN
        return (clock // self.period + 1) * self.period if self.is_aligned else clock + self.period


def after(delay: Duration) -> Trigger:
    """Return a trigger that fires once, so long after a window got its first member since the trigger started.

    Time is that of the clock which the input brings, never of the machine: see `TriggerView.clock`.

    Raises:
        DurationError: The delay cannot be read.
        PolicyError: It is not above zero.

    Example:
        >>> after("30 seconds")
        Timer(period=30000000, is_aligned=False)
    """
    return Timer(clock_ticks(delay))


def every(period: Duration) -> Trigger:
    """Return a trigger that fires at each full period of the clock, for each window that got members since.

    With `"1 minute"` all windows fire together, on the minute. Members that came with a reading of 12:00:10 are put
    out by the first micro-batch whose reading is 12:01 or later.

    Raises:
        DurationError: The period cannot be read.
        PolicyError: It is not above zero.

    Example:
        >>> print(every("1 minute"))
        repeat(after('1 minute', aligned))
    """
    return Repeat(Timer(clock_ticks(period), is_aligned=True))
