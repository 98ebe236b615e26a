"""Firing on an external event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class OnSignal(Trigger):
    """Fires once, when a signal comes; made by `on_signal`.

    Attributes:
        signal: Its name.
    """

    name: ClassVar[str] = "on_signal"

    signal: str

    def __str__(self) -> str:
        return f"on_signal({self.signal!r})"

    @property
    def signals(self) -> frozenset[str]:
        """The one signal."""
        return frozenset({self.signal})

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Look for the signal."""
        return None, Decision.FIRE_LAST if self.signal in view.signals else Decision.WAIT


def on_signal(signal: str) -> Trigger:
    """Return a trigger that fires once, when the input brings a signal of that name.

    A signal is a row of the input that says `change = 'signal'`. It reaches every window of every key that is open
    after its micro-batch, also those that the same micro-batch opens.

    Example:
        >>> on_signal("end of day").step(None, Window(0, 60), TriggerView(signals=frozenset({"end of day"})))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return OnSignal(signal)
