"""What is remembered of a window for its trigger."""

from __future__ import annotations

from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY


class Watch(NamedTuple):
    """The trigger's state of one window, and what has become of its firings.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not asked again.
        clock: The reading of the clock at which it wants to be asked.
        watermark: The watermark at which it wants to be asked.
        panes: How often the window was put out.
        is_changed: True if its members changed since it was last put out.
        since: The last number that its key had given out then: what came later has a larger one.
    """

    state: Any = None
    is_finished: bool = False
    clock: int = INFINITY
    watermark: int = INFINITY
    panes: int = 0
    is_changed: bool = False
    since: int = EARLIEST

    def is_due(self, clock: int, watermark: int) -> bool:
        """True if the trigger wants to be asked."""
        return self.clock <= clock or self.watermark <= watermark
