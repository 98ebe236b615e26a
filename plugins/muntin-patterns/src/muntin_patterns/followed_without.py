"""One event followed by another, without a third in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

from typing_extensions import TypeVar

from muntin import Duration, Instant, StreamOperator, ticks
from muntin.frozen import subscriptable

T = TypeVar("T")


class Part(NamedTuple, Generic[T]):
    """An event that may take part in a sequence.

    Attributes:
        label: Label of the event in a row, such as an id.
        opens: True if it may be the first event.
        closes: True if it may be the second event.
        breaks: True if it ends open sequences without a row.
    """

    label: T
    opens: bool = True
    closes: bool = True
    breaks: bool = False


@subscriptable
@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """Two events, the second after the first.

    Attributes:
        first: Label of the first event.
        second: Label of the second event.
        began: Time of the first event.
    """

    first: T
    second: T
    began: Instant


@dataclass(slots=True)
class Waiting(Generic[T]):
    """The first events that wait for a second event.

    Attributes:
        labels: Labels, that of the oldest event first.
        times: Times, in the order of the labels.
    """

    labels: list[T] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def drop(self, count: int) -> None:
        """Drop the oldest events."""
        del self.labels[:count]
        del self.times[:count]


class FollowedWithout(StreamOperator[Part[T], Waiting[T], Pair[T]], Generic[T]):
    """Report each event that is followed by another event within a time, without an event in between that breaks it.

        opens    a     a            a
        breaks                  x
        closes            b                b
        row               !!               !       both a with the first b, then the last a with the last b

    A first event is in one row: the row with the next event that closes. Each event that waits has a row with that
    event. An event that may do several things breaks first, then closes, then opens: so it never follows itself. The
    column `order` of the query orders events of the same time.

    Args:
        within: Longest time from the first event to the second; included.

    Types: a label, and optionally three booleans, `opens`, `closes` and `breaks`; rows of `first`, `second` and
    `began`. Rows are points at the time of the second event.

    Cost: the labels and times of waiting events, for `within` at most.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> a, b, x = Part("a", closes=False), Part("b", opens=False), Part("x", False, False, breaks=True)
        >>> events = [Event.point(1, a), Event.point(4, b), Event.point(6, a), Event.point(7, x), Event.point(8, b)]
        >>> rows = evaluate(WindowedQuery.unwindowed(FollowedWithout(within=10)), events)
        >>> [(row.start, row.value) for row in rows]
        [(4, Pair(first='a', second='b', began=1))]
    """

    name, version = "patterns.followed_without", "0.1.0"

    def __init__(self, within: Duration) -> None:
        self.within = ticks(within)
        if self.within < 0:
            raise ValueError(f"within must not be negative, got {within!r}")

    def create_state(self) -> Waiting[T]:
        """Return a state without waiting events."""
        return Waiting()

    def on_event(self, state: Waiting[T], payload: Part[T], time: int) -> Iterable[Pair[T]]:
        """Break, close or open sequences."""
        # An event may be all three: it breaks what waits, closes what is left, and only then opens.
        pairs: list[Pair[T]] = []
        if payload.breaks:
            state.drop(len(state.labels))
        if payload.closes:
            for label, began in zip(state.labels, state.times, strict=True):
                pairs.append(Pair(label, payload.label, began))
            state.drop(len(state.labels))
        if payload.opens:
            state.labels.append(payload.label)
            state.times.append(time)
        return pairs

    def next_time(self, state: Waiting[T]) -> int:
        """Return the time at which the oldest event has waited for too long; some event waits, or nobody asks."""
        return state.times[0] + self.within + 1

    def on_time(self, state: Waiting[T], time: int) -> None:
        """Drop events that have waited for too long."""
        state.drop(sum(began + self.within < time for began in state.times))

    def is_empty(self, state: Waiting[T]) -> bool:
        """True if no event waits."""
        return not state.labels
