"""Firing after so many members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.errors import PolicyError
from muntin.triggers.in_turn import Repeat
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class AfterCount(Trigger):
    """Fires once, when so many members have come; made by `after_count`.

    Attributes:
        count: The number of events.
    """

    name: ClassVar[str] = "after_count"

    count: int

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count < 1:
            raise PolicyError(f"a trigger fires after one member or more, got {self.count!r}")

    def __str__(self) -> str:
        return f"after_count({self.count})"

    def create_state(self, window: Window) -> int:
        """Start the count of new members at zero."""
        return 0

    def step(self, state: int, window: Window, view: TriggerView) -> tuple[int, Decision]:
        """Count."""
        came = state + view.came
        return came, Decision.FIRE_LAST if came >= self.count else Decision.WAIT


def after_count(count: int) -> Trigger:
    """Return a trigger that fires once, when a window has got so many new members.

    What leaves a window again was counted. Members of one micro-batch come together: `after_count(2)` in one that
    brings five fires once.

    Raises:
        PolicyError: The count is below one.

    Example:
        >>> after_count(3)
        AfterCount(count=3)
    """
    return AfterCount(count)


def every_count(count: int) -> Trigger:
    """Return a trigger that fires each time a window has got so many more members.

    Counting starts anew with each firing.

    Raises:
        PolicyError: The count is below one.

    Example:
        >>> print(every_count(100))
        repeat(after_count(100))
    """
    return Repeat(AfterCount(count))
