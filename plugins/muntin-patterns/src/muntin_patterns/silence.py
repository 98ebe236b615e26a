"""Keys that have no event for some time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from muntin import Duration, Instant, StreamOperator, ticks


@dataclass(frozen=True, slots=True)
class Silent:
    """A silence.

    Attributes:
        since: Time of the last event before the silence.
    """

    since: Instant


class Silence(StreamOperator[Any, dict[str, int], Silent]):
    """Report each time at which a key has had no event for `after`.

        events   *  *                 *
        silence         !                  !       `after` later than the event before

    A silence has one row: the next row needs another event. An event exactly `after` later comes too late, as the
    silence is reported at that time. A key without any event is unknown, so it is never silent.

    Args:
        after: Length of time without an event, above zero.

    Types: any columns, or none; rows of `since`. Rows are points at the time of the alert.

    Cost: a number per key, until its silence is reported; then the key is forgotten.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> events = [Event.point(1, None), Event.point(3, None), Event.point(20, None)]
        >>> [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(Silence(after=10)), events, 25)]
        [(13, Silent(since=3))]
    """

    name, version = "patterns.silence", "0.1.0"

    def __init__(self, after: Duration) -> None:
        self.after = ticks(after)
        if self.after <= 0:
            raise ValueError(f"after must be above zero, got {after!r}")

    def create_state(self) -> dict[str, int]:
        """Return an empty state, without a last event."""
        return {}

    def on_event(self, state: dict[str, int], payload: Any, time: int) -> None:
        """Store the time of the last event."""
        state["last"] = time

    def next_time(self, state: dict[str, int]) -> int:
        """Return the time at which the silence is long enough; the key has an event, or nobody asks."""
        return state["last"] + self.after

    def on_time(self, state: dict[str, int], time: int) -> Iterable[Silent]:
        """Report the silence, and forget the key."""
        return [Silent(state.pop("last"))]

    def is_empty(self, state: dict[str, int]) -> bool:
        """True once the silence is reported."""
        return not state
