"""Triggers by the results so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.trigger import Decision, Trigger, TriggerView
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


@dataclass(frozen=True, slots=True)
class Reaches(Trigger):
    """Fires once, when a member comes or leaves and a result is then at a limit or above; made by `reaches`.

    Attributes:
        result: The name of the result's column.
        limit: The limit.
    """

    name: ClassVar[str] = "reaches"

    result: str
    limit: float

    def __str__(self) -> str:
        return f"reaches({self.result!r}, {self.limit})"

    @property
    def reads_results(self) -> tuple[str, ...]:
        """The result."""
        return (self.result,)

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Compare the result with the limit, where members have changed it; null has not reached it."""
        value = view.results[self.result] if view.came or view.left else None
        return None, Decision.FIRE_LAST if value is not None and value >= self.limit else Decision.WAIT


def reaches(result: str, limit: float) -> Trigger:
    """Return a trigger that fires once, when a result of the window has reached a limit.

    It looks at the result in the micro-batches in which a member comes or leaves. A revision that changes the end of a
    member alone is seen with the next of these.

    Args:
        result: The name of the result's column, as `aggregate(...)` names it.
        limit: The limit; a result at it or above has reached it.

    Example:
        >>> reaches("total", 100).step(None, Window(0, 60), TriggerView(came=1, results={"total": 120.0}))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Reaches(result, limit)
