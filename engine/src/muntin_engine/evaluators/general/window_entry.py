"""The entry of a window that was emitted or has a trigger state: its size, module states and live output."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from muntin import EARLIEST, INFINITY
from muntin_engine.evaluators.keyed.live_output import LiveRow


class TriggerState(NamedTuple):
    """The trigger state of one window.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not called again.
        due_clock: The clock reading at which the trigger is due.
        due_event_time: The max event time at which it is due.
        firings: The number of firings so far.
        is_changed: True if the window's members changed since the last firing.
        last_serial: The key's last serial number at that firing: events that came later have larger ones.
        refined: The state of a refinement of one's own.
    """

    state: Any = None
    is_finished: bool = False
    due_clock: int = INFINITY
    due_event_time: int = INFINITY
    firings: int = 0
    is_changed: bool = False
    last_serial: int = EARLIEST
    refined: Any = None

    def wakes(self, clock: int, max_event_time: int) -> bool:
        """True if the trigger is due."""
        return self.due_clock <= clock or self.due_event_time <= max_event_time


class WindowEntry(NamedTuple):
    """One window that has been emitted, or has a trigger state.

    Attributes:
        size: The number of its members; zero for a replaced window, which no longer exists but has live output.
        states: The state of each module, None for one without; empty while none is worth keeping.
        live: Its live output events.
        trigger_state: The state of the query's trigger; None without one.
    """

    size: int
    states: list[Any]
    live: list[LiveRow]
    trigger_state: TriggerState | None = None


NEW: Final = WindowEntry(0, [], [])
"""The entry of a window that is not in the index: no members and no output."""
