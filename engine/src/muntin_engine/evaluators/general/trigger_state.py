"""The state of a window's trigger, and the firings so far."""

from __future__ import annotations

from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY


class TriggerState(NamedTuple):
    """The trigger's state of one window, and what has become of its firings.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not asked again.
        clock: The reading of the clock at which it wants to be asked.
        max_event_time: The max event time at which it wants to be asked.
        firings: How often the window was put out.
        is_changed: True if its members changed since it was last put out.
        since: The last number that its key had given out then: what came later has a larger one.
    """

    state: Any = None
    is_finished: bool = False
    clock: int = INFINITY
    max_event_time: int = INFINITY
    firings: int = 0
    is_changed: bool = False
    since: int = EARLIEST

    def is_due(self, clock: int, max_event_time: int) -> bool:
        """True if the trigger wants to be asked."""
        return self.clock <= clock or self.max_event_time <= max_event_time
