"""One event followed by another, without a third in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

from typing_extensions import TypeVar

from muntin import Duration, Instant, StreamOperator, ticks

T = TypeVar("T")


class Part(NamedTuple, Generic[T]):
    """An event that may take part in a sequence.

    Attributes:
        label: What a row reports of it, such as an id.
        opens: Whether it may be the first.
        closes: Whether it may be the second.
        breaks: Whether a sequence ends at it without a row.
    """

    label: T
    opens: bool = True
    closes: bool = True
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """Two events, the second after the first.

    Attributes:
        first: The label of the first.
        second: The label of the second.
        began: When the first happened.
    """

    first: T
    second: T
    began: Instant


@dataclass(slots=True)
class Waiting(Generic[T]):
    """The first events that wait for a second.

    Attributes:
        labels: Their labels, the oldest first.
        times: When they happened.
    """

    labels: list[T] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def drop(self, count: int) -> None:
        """Drop the oldest."""
        del self.labels[:count], self.times[:count]


class FollowedWithout(StreamOperator[Part[T], Waiting[T], Pair[T]], Generic[T]):
    """Report each event that is followed by another within a time, with none that breaks it in between.

        opens    a     a            a
        breaks                  x
        closes            b                b
        row               !!               !       both a with the first b, then the last a with the last b

    A first event is in one row: that with the next event that closes. All that wait are in a row with that event. An
    event that may do several things breaks first, then closes, then opens: so it never follows itself. What happens at
    one time has an order, the column `order` of the query.

    Args:
        within: The longest time from the first event to the second; included.

    Types: a label, and optionally three booleans, `opens`, `closes` and `breaks`; rows of `first`, `second` and
    `began`. Rows are points at the time of the second event.

    Cost: the labels and times of the first events that wait, for `within` at most.

    Example:
        >>> from muntin import Event
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> a, b, x = Part("a", closes=False), Part("b", opens=False), Part("x", False, False, breaks=True)
        >>> events = [Event.point(1, a), Event.point(4, b), Event.point(6, a), Event.point(7, x), Event.point(8, b)]
        >>> found = evaluate(WindowedQuery.unwindowed(FollowedWithout(within=10)), events)
        >>> [(row.start, row.value) for row in found]
        [(4, Pair(first='a', second='b', began=1))]
    """

    name, version = "patterns.followed_without", "0.1.0"

    def __init__(self, within: Duration) -> None:
        self.within = ticks(within)
        if self.within < 0:
            raise ValueError(f"within must not be negative, got {within!r}")

    def create_state(self) -> Waiting[T]:
        """Return that no event waits."""
        return Waiting()

    def on_event(self, state: Waiting[T], payload: Part[T], time: int) -> Iterable[Pair[T]]:
        """Break, close or open sequences."""
        found: Sequence[Pair[T]] = []
        if payload.breaks:
            state.drop(len(state.labels))
        if payload.closes:
            pairs = zip(state.labels, state.times, strict=True)
            found = [Pair(label, payload.label, began) for label, began in pairs]
            state.drop(len(state.labels))
        if payload.opens:
            state.labels.append(payload.label)
            state.times.append(time)
        return found

    def next_time(self, state: Waiting[T]) -> int:
        """Return when the oldest has waited for too long."""
        return state.times[0] + self.within + 1

    def on_time(self, state: Waiting[T], time: int) -> None:
        """Drop those that have waited for too long."""
        state.drop(sum(began + self.within < time for began in state.times))

    def is_empty(self, state: Waiting[T]) -> bool:
        """Return True if none waits."""
        return not state.labels
