"""Ending a trigger when another one fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import INFINITY
from muntin.triggers.decision import Decision
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Until(Trigger):
    """Fires as one trigger until another one fires; made by `until`.

    The state is that of the trigger, that of its end, and whether the end can still come.

    Attributes:
        trigger: The trigger that fires.
        end: The trigger that fires once more and ends it.
    """

    name: ClassVar[str] = "until"

    trigger: Trigger
    end: Trigger

    def __str__(self) -> str:
        return f"until({self.trigger}, {self.end})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """Both triggers."""
        return self.trigger, self.end

    def create_state(self, window: Window) -> list[object]:
        """Return the states of both."""
        return [self.trigger.create_state(window), self.end.create_state(window), True]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Ask the end first, then the trigger."""
        own, end, has_end = state
        if has_end:
            end, ending = self.end.step(end, window, view)
            if ending.fires:
                return [None, None, False], Decision.FIRE_LAST
            has_end = not ending.is_finished
        own, decision = self.trigger.step(own, window, view)
        return [own, end if has_end else None, has_end], decision

    def next_clock(self, state: list[Any], window: Window) -> int:
        """Return the earlier wake-up of the two."""
        own, end, has_end = state
        ending = self.end.next_clock(end, window) if has_end else INFINITY
        return min(self.trigger.next_clock(own, window), ending)

    def next_event_time(self, state: list[Any], window: Window) -> int:
        """Return the earlier wake-up of the two."""
        own, end, has_end = state
        ending = self.end.next_event_time(end, window) if has_end else INFINITY
        return min(self.trigger.next_event_time(own, window), ending)


def until(trigger: Trigger, end: Trigger) -> Trigger:
    """Return a trigger that fires as one does, and is finished when another one has fired (Beam's OrFinally).

    The end fires too. If it ends without firing, the trigger goes on without it.

    Example:
        >>> from muntin.triggers import every, past_end
        >>> print(until(every("1 minute"), past_end()))
        until(repeat(after('1 minute', aligned)), past_end())
    """
    return Until(trigger, end)
