"""The pace of micro-batches, as `every` and `available_now` of `write` set it, for Spark's trigger."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from muntin import Duration, ticks
from muntin.errors import PolicyError, QueryError

_WORDS_FOR_AVAILABLE_NOW: Final = {"availablenow", "available", "once", "batch"}
"""The names that other APIs have for `available_now`, without separators between their words."""


def trigger_arguments(every: Duration | None, *, available_now: bool = False) -> dict[str, object]:
    """Return the arguments of Spark's `DataStreamWriter.trigger`, by name.

    They are empty if neither argument is given: then each micro-batch begins when the previous one has ended.

    Args:
        every: The time from the beginning of a micro-batch to that of the next, with a unit; or None.
        available_now: True to end the query when it has read all rows that exist at its start.

    Raises:
        QueryError: Both are given, or `available_now` is not a boolean.
        PolicyError: The duration is a number without a unit, negative, or a word such as 'once'.
        DurationError: The duration cannot be read.

    Example:
        >>> trigger_arguments("10 seconds"), trigger_arguments(None, available_now=True), trigger_arguments(None)
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
    if isinstance(every, str) and _letters(every) in _WORDS_FOR_AVAILABLE_NOW:
        raise PolicyError(f"every={every!r} is not a time\n  to stop when all has been read: available_now=True")
    if not isinstance(every, str | timedelta):
        raise PolicyError(f"every={every!r} has no unit\n  expected, for example, every='10 seconds'")
    period = ticks(every)  # in microseconds
    if period < 0:
        raise PolicyError(f"every={every!r} is negative\n  expected, for example, every='10 seconds'")
    return {"processingTime": f"{period // 1000} milliseconds"}


def _letters(text: str) -> str:
    """Return the letters of a text, in lower case."""
    return "".join(filter(str.isalpha, text)).lower()
