"""Going through several triggers, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.errors import PolicyError
from muntin.triggers.decision import Decision
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Each(Trigger):
    """Fires as each of its triggers in turn; made by `each`. The state is the place of the current one, and its state.

    Attributes:
        triggers: One or more.
    """

    name: ClassVar[str] = "each"

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise PolicyError("each() needs at least one trigger")

    def __str__(self) -> str:
        return f"each({', '.join(map(str, self.triggers))})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The triggers."""
        return self.triggers

    def create_state(self, window: Window) -> list[object]:
        """Return the state of the first."""
        return [0, self.triggers[0].create_state(window)]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Ask the current one, and go on to the next if it is finished."""
        place, own = state
        own, decision = self.triggers[place].step(own, window, view)
        if not decision.is_finished or place + 1 == len(self.triggers):
            return [place, own], decision
        following = [place + 1, self.triggers[place + 1].create_state(window)]
        return following, Decision.FIRE if decision.fires else Decision.WAIT

    def next_clock(self, state: list[Any], window: Window) -> int:
        """Return the wake-up of the current one."""
        current, own = self._current(state)
        return current.next_clock(own, window)

    def next_event_time(self, state: list[Any], window: Window) -> int:
        """Return the wake-up of the current one."""
        current, own = self._current(state)
        return current.next_event_time(own, window)

    def _current(self, state: list[Any]) -> tuple[Trigger, object]:
        place, own = state
        return self.triggers[place], own


def each(*triggers: Trigger) -> Trigger:
    """Return a trigger that is each of several in turn, until the last is finished (Beam's AfterEach).

    The next one begins with the micro-batch after the one in which the one before it finished. After one that never
    finishes, such as `every(...)`, no other gets its turn; bound it by `until`.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, every
        >>> print(each(after_count(1), every("1 minute")))
        each(after_count(1), repeat(after('1 minute', aligned)))
    """
    return Each(triggers)
