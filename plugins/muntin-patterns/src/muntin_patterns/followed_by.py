"""One event followed by another within a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar, Generic, NamedTuple

from typing_extensions import TypeVar

from muntin import (
    INFINITY,
    ClipPolicy,
    Duration,
    Event,
    Instant,
    Needs,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    ticks,
)
from muntin.windows import HoppingWindows

T = TypeVar("T")


class Step(NamedTuple, Generic[T]):
    """One event that may take part in a match.

    Attributes:
        label: Label of the event in a match, such as an id.
        opens: True if it may be the first of a pair.
        closes: True if it may be the second of a pair.
    """

    label: T
    opens: bool = True
    closes: bool = True


@dataclass(frozen=True)
class Match(Generic[T]):
    """Two events, the second after the first.

    Attributes:
        first: Label of the first event.
        second: Label of the second event.
        ended: End of the first event.
        started: Start of the second event.
    """

    first: T
    second: T
    ended: Instant
    started: Instant


class FollowedBy(Operator[Step[T], Match[T]], Generic[T]):
    """Report pairs of events: the second starts no earlier than the first ends, and no later than `within` after.

        first   [----)
        second           [---)         started - ended <= within
        match            !             a point event

    A match is reported in the window in which its second event starts. The first event must be a member of that window
    too: with `tumbling(size, reach=...)` and a reach above `within`, each pair is reported exactly once. A query with
    windows of another kind or of a shorter reach is refused, and a query without clip and timestamps gets `right` and
    `unchanged`. An event that has not ended is the first of no pair.

    Args:
        within: Longest time between the end of the first event and the start of the second; included.

    Types: a label, and optionally two booleans, `opens` and `closes`; rows have `first`, `second`, `ended`, `started`.

    Laws: starts before the window must be seen as they are, so left clipping is refused. A match starts where
    its second event does, so the output is time-bound.

    Cost: sorting the members, plus the matches.

    Example:
        >>> events = [Event(0, 3, Step("a")), Event(5, 9, Step("b")), Event(20, 21, Step("c"))]
        >>> FollowedBy(within=4).compute_result(events, Window(0, 30))
        [Event(start=5, end=6, payload=Match(first='a', second='b', ended=3, started=5))]
    """

    name, version = "patterns.followed_by", "0.1.0"
    is_time_sensitive = True
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})
    contract: ClassVar[OutputContract] = OutputContract.TIME_BOUND

    def __init__(self, within: Duration) -> None:
        self.within = ticks(within)
        if self.within < 0:
            raise ValueError(f"within must not be negative, got {within!r}")

    @property
    def needs(self) -> Needs:  # type: ignore[override]  # a class has one, this one depends on within
        """Windows in which the first event of each pair is still a member when the second event starts."""
        return Needs((HoppingWindows,), self.within + 1, ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)

    def compute_result(self, events: Sequence[Event[Step[T]]], window: Window) -> list[Event[Match[T]]]:
        """Return the matches whose second event starts in the window, as point events at that start."""
        # First events are sorted by their ends, so those that one second event follows in time are a slice.
        firsts = [event for event in events if event.payload.opens and event.end != INFINITY]
        firsts.sort(key=attrgetter("end"))
        ends = [event.end for event in firsts]
        matches: list[Event[Match[T]]] = []
        for second in events:
            if not second.payload.closes or not window.start <= second.start < window.end:
                continue
            begin = bisect_left(ends, second.start - self.within)
            stop = bisect_right(ends, second.start)
            for first in firsts[begin:stop]:
                match = Match(first.payload.label, second.payload.label, first.end, second.start)
                matches.append(Event.point(second.start, match))
        return matches
