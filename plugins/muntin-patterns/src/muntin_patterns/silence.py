"""Keys of which no event comes for some time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from muntin import Duration, Instant, StreamOperator, ticks


@dataclass(frozen=True, slots=True)
class Silent:
    """A silence.

    Attributes:
        since: The time of the last event before it.
    """

    since: Instant


class Silence(StreamOperator[Any, dict[str, int], Silent]):
    """Report each time at which no event has come for `after`.

        events   *  *                 *
        silence         !                  !       `after` later than the event before

    One row per silence: the next one needs another event. An event that comes exactly `after` later comes too late, as
    the silence is told then. A key of which nothing has come is not known, so it is never silent.

    Args:
        after: The length of time without an event, above zero.

    Types: any columns, or none; rows of `since`. Rows are points at the time of the alert.

    Cost: a number per key, until its silence is told; then the key is forgotten.

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
        """Return nothing: no event has come."""
        return {}

    def on_event(self, state: dict[str, int], payload: Any, time: int) -> None:
        """Remember when the last event came."""
        state["last"] = time

    def next_time(self, state: dict[str, int]) -> int:
        """Return when the silence is long enough."""
        return state["last"] + self.after

    def on_time(self, state: dict[str, int], time: int) -> Iterable[Silent]:
        """Tell the silence, and forget the key."""
        return [Silent(state.pop("last"))]

    def is_empty(self, state: dict[str, int]) -> bool:
        """Return True once the silence is told."""
        return not state
