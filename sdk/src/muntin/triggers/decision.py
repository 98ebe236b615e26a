"""What a trigger says about a window after a micro-batch."""

from __future__ import annotations

from enum import Enum


class Decision(Enum):
    """What a trigger wants of its window.

    Example:
        >>> Decision.FIRE_LAST.fires, Decision.FIRE_LAST.is_finished
        (True, True)
    """

    WAIT = "wait"
    """Nothing yet."""
    FIRE = "fire"
    """Put out what there is; there may be more to come."""
    FIRE_LAST = "fire last"
    """Put out what there is. The trigger is finished: it is not asked about the window again."""
    STOP = "stop"
    """Put out nothing, now or later: the trigger is finished without firing."""

    @property
    def fires(self) -> bool:
        """True if a result is to be put out."""
        return self in (Decision.FIRE, Decision.FIRE_LAST)

    @property
    def is_finished(self) -> bool:
        """True if the trigger has nothing more to say about the window."""
        return self in (Decision.FIRE_LAST, Decision.STOP)
