"""The trigger of a query: the time between its micro-batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from muntin import Duration, ticks
from muntin.errors import PolicyError

AVAILABLE_NOW: Final = "available_now"
"""Stop when all that there is has been read."""

_OTHER_WORDS: Final = {"availablenow", "available", "once", "batch"}
"""The names of the same elsewhere, without separators between their words."""


def pace_of(trigger: Duration | None) -> dict[str, object]:
    """Return the arguments of Spark's `DataStreamWriter.trigger`; none for the next micro-batch to start at once.

    Args:
        trigger: A duration with a unit, `"available_now"`, or None.

    Raises:
        PolicyError: It is a number without a unit, or negative, or another word.
        DurationError: It cannot be read.

    Example:
        >>> pace_of("10 seconds"), pace_of("available_now"), pace_of(None)
        ({'processingTime': '10000 milliseconds'}, {'availableNow': True}, {})
    """
    if trigger is None:
        return {}
    if trigger == AVAILABLE_NOW:
        return {"availableNow": True}
    if isinstance(trigger, str) and "".join(filter(str.isalpha, trigger)).lower() in _OTHER_WORDS:
        raise PolicyError(
            f"trigger={trigger!r} is not known\n  to stop when all has been read: trigger='available_now'"
        )
    if not isinstance(trigger, str | timedelta):
        raise PolicyError(f"trigger={trigger!r} has no unit\n  expected, for example, trigger='10 seconds'")
    period = ticks(trigger)
    if period < 0:
        raise PolicyError(f"trigger={trigger!r} is negative\n  expected, for example, trigger='10 seconds'")
    return {"processingTime": f"{period // 1000} milliseconds"}
