"""Firing when a member lies far enough inside the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import EARLIEST, INFINITY
from muntin.errors import PolicyError
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Percentile(Trigger):
    """Fires once, when a member starts in the last part of the window; made by `percentile`.

    Attributes:
        part: Where that part begins, as a share of the window's extent.
    """

    name: ClassVar[str] = "percentile"

    part: float

    def __post_init__(self) -> None:
        if not 0 < self.part < 1:
            raise PolicyError(
                f"a percentile of a window's extent lies between 0 and 1, got {self.part}\n"
                "  half of the extent is percentile(0.5); its end is past_end()"
            )

    def __str__(self) -> str:
        return f"percentile({self.part})"

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Compare the newest member with the place."""
        is_there = view.newest > EARLIEST and view.newest - window.start >= self.part * window.duration
        return None, Decision.FIRE_LAST if is_there and window.end < INFINITY else Decision.WAIT


def percentile(part: float) -> Trigger:
    """Return a trigger that fires once, when a new member starts at `start + part * (end - start)` or later.

    Raises:
        PolicyError: The part is not between 0 and 1.

    Example:
        >>> percentile(0.25).step(None, Window(0, 60), TriggerView(came=1, newest=15))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Percentile(part)
