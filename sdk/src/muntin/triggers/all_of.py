"""Firing when all of several triggers have fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.decision import Decision
from muntin.triggers.parallel import Parallel
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class AllOf(Parallel):
    """Fires once, when the last of its triggers has; made by `all_of`."""

    name: ClassVar[str] = "all_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Remember who has fired."""
        state, decisions = self._ask(state, window, view)
        if Decision.STOP in decisions:
            return state, Decision.STOP
        return state, Decision.FIRE_LAST if all(is_done for is_done, _ in state) else Decision.WAIT


def all_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when each of several has fired since it started (Beam's AfterAll).

    A trigger that has fired is remembered and not called again. If one ends without firing, so does the whole.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(all_of(after_count(10), on_signal("open")))
        all_of(after_count(10), on_signal('open'))
    """
    return AllOf(triggers)
