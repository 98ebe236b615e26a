"""The time between the micro-batches of a query."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from muntin import Duration, ticks
from muntin.errors import PolicyError, QueryError

_WORDS: Final = {"availablenow", "available", "once", "batch"}
"""The names of the end of what is there now, without separators between their words."""


def pace_of(every: Duration | None, *, available_now: bool = False) -> dict[str, object]:
    """Return the arguments of Spark's `DataStreamWriter.trigger`; none for the next micro-batch to start at once.

    Args:
        every: A duration with a unit, or None.
        available_now: True to stop when all that is there now has been read.

    Raises:
        QueryError: Both are given, or the second is not a boolean.
        PolicyError: The duration is a number without a unit, or negative, or a word.
        DurationError: It cannot be read.

    Example:
        >>> pace_of("10 seconds"), pace_of(None, available_now=True), pace_of(None)
        ({'processingTime': '10000 milliseconds'}, {'availableNow': True}, {})
    """
    if not isinstance(available_now, bool):
        raise QueryError(f"available_now={available_now!r} is neither True nor False")
    if every is None:
        return {"availableNow": True} if available_now else {}
    if available_now:
        raise QueryError(
            f"every={every!r} goes on for ever, and available_now=True ends with what is there now\n  give one of them"
        )
    if isinstance(every, str) and "".join(filter(str.isalpha, every)).lower() in _WORDS:
        raise PolicyError(f"every={every!r} is not a time\n  to stop when all has been read: available_now=True")
    if not isinstance(every, str | timedelta):
        raise PolicyError(f"every={every!r} has no unit\n  expected, for example, every='10 seconds'")
    period = ticks(every)
    if period < 0:
        raise PolicyError(f"every={every!r} is negative\n  expected, for example, every='10 seconds'")
    return {"processingTime": f"{period // 1000} milliseconds"}
