"""Firing when the max event time passes a place of the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import INFINITY, Duration, spell_given, ticks
from muntin.errors import PolicyError
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Past(Trigger):
    """Fires once, when the max event time has reached a place of the window; made by `past_end` and `past_part`.

    Attributes:
        part: The place as a share of the window's extent: 0 is its start, 1 its end.
        delay: The number of ticks after that.
    """

    name: ClassVar[str] = "past"

    part: float = 1.0
    delay: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.part <= 1:
            raise PolicyError(f"a part of a window lies between 0 and 1, got {self.part}")

    def __str__(self) -> str:
        return (
            f"past_end({spell_given(self.delay) if self.delay else ''})"
            if self.part == 1
            else f"past_part({self.part})"
        )

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Compare the max event time with the place."""
        return None, Decision.FIRE_LAST if view.max_event_time >= self._place(window) else Decision.WAIT

    def next_event_time(self, state: object, window: Window) -> int:
        """Return the place."""
        return self._place(window)

    def _place(self, window: Window) -> int:
        if window.end == INFINITY and self.part > 0:
            return INFINITY
        place = window.end if self.part == 1 else window.start + round(self.part * window.duration)
        return min(place + self.delay, INFINITY)


def past_end(delay: Duration = 0) -> Trigger:
    """Return a trigger that fires once, when the max event time has reached a window's end.

    The max event time is the newest start seen where that is ahead of the watermark. So with a delay of the input, or
    an id that lets events be revised, the window is usually still open: this is Beam's and Flink's on-time result.

    Args:
        delay: The time after the end; a negative number of ticks is before it.

    Raises:
        DurationError: The delay cannot be read.

    Example:
        >>> print(past_end("1 second"))
        past_end('1 second')
    """
    return Past(delay=ticks(delay))


def past_part(part: float) -> Trigger:
    """Return a trigger that fires once, when the max event time has passed a part of a window's extent.

    It looks at the whole input; `percentile` looks at the window's own members.

    Raises:
        PolicyError: The part does not lie between 0 and 1.

    Example:
        >>> past_part(0.5).step(None, Window(0, 60), TriggerView(max_event_time=30))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Past(part)
