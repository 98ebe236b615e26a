"""Firing when any of several triggers fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.decision import Decision
from muntin.triggers.parallel import Parallel
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class AnyOf(Parallel):
    """Fires once, when the first of its triggers does; made by `any_of`."""

    name: ClassVar[str] = "any_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """See whether one fires."""
        state, decisions = self._ask(state, window, view)
        if any(decision.fires for decision in decisions):
            return state, Decision.FIRE_LAST
        return state, Decision.STOP if all(is_done for is_done, _ in state) else Decision.WAIT


def any_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when the first of several fires (Beam's AfterFirst).

    It is then finished, also if that one is not; `repeat(any_of(...))` starts all of them anew. One that ends without
    firing drops out.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(any_of(after_count(10), on_signal("open")))
        any_of(after_count(10), on_signal('open'))
    """
    return AnyOf(triggers)
