"""Firing on a row that says so: a punctuation trigger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.decision import Decision
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class When(Trigger):
    """Fires once, when a condition is true of a new member; made by `when`.

    Attributes:
        condition: An SQL expression over the columns of the input, of type boolean.
    """

    name: ClassVar[str] = "when"

    condition: str

    def __str__(self) -> str:
        return f"when({self.condition!r})"

    @property
    def reads(self) -> tuple[str, ...]:
        """The condition."""
        return (self.condition,)

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Look for a new member of which the condition is true; null is not."""
        return None, Decision.FIRE_LAST if any(view.values[self.condition]) else Decision.WAIT


def conditions_of(trigger: Trigger) -> list[str]:
    """Return the conditions in a trigger, at any depth."""
    own = [trigger.condition] if isinstance(trigger, When) else []
    return own + [condition for part in trigger.parts for condition in conditions_of(part)]


def when(condition: str) -> Trigger:
    """Return a trigger that fires once, when a condition is true of a new member of the window.

    Args:
        condition: An SQL expression over the columns of the input, whether modules read them or not, for example
            `"kind = 'settlement'"`. Spark computes it for each row.

    Example:
        >>> from muntin.triggers import repeat
        >>> print(repeat(when("price > 100")))
        repeat(when('price > 100'))
    """
    return When(condition)
