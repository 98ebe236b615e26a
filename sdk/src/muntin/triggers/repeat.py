"""Starting a trigger anew each time it is finished."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.decision import Decision
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Repeat(Trigger):
    """Never finishes; made by `repeat`.

    Attributes:
        repeated: The trigger that is started again and again.
    """

    name: ClassVar[str] = "repeat"

    repeated: Trigger

    def __str__(self) -> str:
        return f"repeat({self.repeated})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The repeated trigger."""
        return (self.repeated,)

    def create_state(self, window: Window) -> object:
        """Return the state of the repeated trigger."""
        return self.repeated.create_state(window)

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Ask the repeated trigger, and start it anew if it is finished."""
        state, decision = self.repeated.step(state, window, view)
        if decision.is_finished:
            state = self.repeated.create_state(window)
        return state, Decision.FIRE if decision.fires else Decision.WAIT

    def next_clock(self, state: object, window: Window) -> int:
        """Return the wake-up of the repeated trigger."""
        return self.repeated.next_clock(state, window)

    def next_event_time(self, state: object, window: Window) -> int:
        """Return the wake-up of the repeated trigger."""
        return self.repeated.next_event_time(state, window)


def repeat(trigger: Trigger) -> Trigger:
    """Return a trigger that starts another one anew each time that is finished (Beam's Repeatedly).

    What is repeated begins with the next micro-batch after it finished.

    Example:
        >>> from muntin.triggers import after_count, any_of, on_signal
        >>> print(repeat(any_of(after_count(10), on_signal("refresh"))))
        repeat(any_of(after_count(10), on_signal('refresh')))
    """
    return Repeat(trigger)
