"""Events at which one of two values rises above the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from muntin import StreamOperator


class Averages(NamedTuple):
    """Two values of one time."""

    short: float
    long: float


class Crossings(StreamOperator[Averages, list[bool], Averages]):
    """Report each event whose short value is above its long value, if that was not so of the event before.

    The first event of a key crosses nothing. An equal value is not above. Neither is NaN.

    Types: two floats, to rows of these two. Rows are points at their event.

    Cost: a call of Python per event; a truth value per key, for ever.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> events = [Event.point(at, Averages(short, 2.0)) for at, short in enumerate((3.0, 2.0, 4.0, 5.0))]
        >>> [(row.start, row.value.short) for row in evaluate(WindowedQuery.unwindowed(Crossings()), events)]
        [(2, 4.0)]
    """

    name, version = "tilt.crossings", "1.0.0"

    def create_state(self) -> list[bool]:
        """Return an empty state: there is no event before the first."""
        return []

    def on_event(self, state: list[bool], payload: Averages, time: int) -> Iterable[Averages]:
        """Return the event if it crosses, and store its side."""
        is_above = payload.short > payload.long
        was_below = state == [False]  # there is an event before, and its short value was not above
        has_crossed = is_above and was_below
        state[:] = [is_above]
        return (payload,) if has_crossed else ()
