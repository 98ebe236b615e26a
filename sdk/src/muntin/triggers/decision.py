"""The decision of a trigger about a window after a micro-batch."""

from __future__ import annotations

from enum import Enum


class Decision(Enum):
    """The decision of a trigger: wait, fire, or fire for the last time.

    Example:
        >>> Decision.FIRE_LAST.fires, Decision.FIRE_LAST.is_finished
        (True, True)
    """

    WAIT = "wait"
    """Nothing yet."""
    FIRE = "fire"
    """Emit the result so far; there may be more to come."""
    FIRE_LAST = "fire last"
    """Emit the result so far. The trigger is finished: it is not called for the window again."""
    STOP = "stop"
    """Emit nothing, now or later: the trigger is finished without firing."""

    @property
    def fires(self) -> bool:
        """True if a result is to be emitted."""
        return self in (Decision.FIRE, Decision.FIRE_LAST)

    @property
    def is_finished(self) -> bool:
        """True if the trigger is not called for the window again."""
        return self in (Decision.FIRE_LAST, Decision.STOP)
