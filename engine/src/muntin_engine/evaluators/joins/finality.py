"""Decide when a row of a join is final: when an unmatched row will never match, and a matched one never change.

A change of an input is legal if its sync time, the earliest tick that it changes, is not before the watermark of that
input. So an event whose end may move can still end at any tick from the watermark on, and not before it; one that
starts at the watermark or later may also be retracted, or, if it is a sample, give way to another one of its time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from muntin import EARLIEST, INFINITY, JoinKind
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, JoinQuery, Match
from muntin_engine.evaluators.keyed.event_index import StoredEvent, union
from muntin_engine.plan.evaluator_query import EvaluatorQuery


class Watermarks(NamedTuple):
    """The watermark of each input."""

    left: int
    right: int


class AwaitedWatermark(NamedTuple):
    """A watermark of one input, for which a row of the join waits until it is final.

    Attributes:
        side: The input.
        watermark: The watermark of that input.
    """

    side: int
    watermark: int


class Finality:
    """Tells which rows of a join no legal change can alter any more, by the watermark of each input.

    Attributes:
        watermarks: The watermark of each input.
        past_until: For each input the last tick at which an event of it can end that is past: no legal change is about
            it any more.

    Example:
        An event from 2 to 8 may still end at 5 or later, where ends move and the watermark is 5.

        >>> from muntin.windows import HoppingWindows
        >>> from muntin_engine.plan.evaluator_query import EvaluatorQuery
        >>> side = EvaluatorQuery(HoppingWindows(10, 10), ())
        >>> finality = Finality(JoinQuery(JoinKind.LEFT, (side, side), ()), Watermarks(5, 5))
        >>> event = StoredEvent(("id", 2), 2, 8, ("payload",), since=2, until=8)
        >>> finality.is_past(LEFT, event), finality.is_past(LEFT, event._replace(end=4))
        (False, True)
        >>> finality.lasts(LEFT, event, 5), finality.lasts(LEFT, event, 6)
        (True, False)
        >>> finality.certain_cover([event])
        [(2, 5)]

        With an event from 2 to 5 alone, a row that says "from 2 to 5 nothing matches" waits: the event may be
        extended, and a right event that starts at 5 would end the row there.

        >>> short = event._replace(end=5)
        >>> [(awaited.side, awaited.watermark) for awaited in finality.awaits(short, Match(None, 2, 5), [])]
        [(0, 6), (1, 6)]
    """

    def __init__(self, query: JoinQuery, watermarks: Watermarks) -> None:
        """Prepare to decide for a join.

        Args:
            query: The join.
            watermarks: The watermark of each input.
        """
        self._kind = query.kind
        self._ends_move = tuple(side.event_ends_move for side in query.sides)
        """For each side whether the ends of its events may move."""
        self._is_edge = tuple(side.is_edge for side in query.sides)
        """For each side whether its events are samples, which end where the next one starts."""
        self.watermarks = watermarks
        self.past_until = tuple(
            _past_until(side, watermark) for side, watermark in zip(query.sides, watermarks, strict=True)
        )

    def is_past(self, side: int, event: StoredEvent) -> bool:
        """Return True if an event stays as it is: no legal row of its input can be about it any more.

        At the watermark 5 a revision of an event that ends at 4 would be late; one of an event that ends at 8 may come.
        """
        return event.end <= self.past_until[side]

    def past_from(self, side: int, event: StoredEvent) -> int:
        """Return the first watermark of its input at which an event is past; see `is_past`."""
        return event.end if self._is_edge[side] else event.end + 1

    def lasts(self, side: int, event: StoredEvent, tick: int) -> bool:
        """Return True if an event that ends at a tick or later will not come to end before it.

        At the watermark 5 an event from 2 to 8 lasts up to 5, and may still come to end before 6. A sample does not
        even last its first tick, until the watermark has passed that tick: another sample may replace it.
        """
        return self.watermarks[side] >= tick or self.is_past(side, event)

    def certain_cover(self, rights: Iterable[StoredEvent]) -> list[tuple[int, int]]:
        """Return the intervals in which right events live whatever legal changes come.

        At the watermark 5 an event from 2 to 8 covers 2 to 5 for certain.
        """
        watermark = self.watermarks[RIGHT]
        intervals: list[tuple[int, int]] = []
        for right in rights:
            certain_end = right.end
            if not self.is_past(RIGHT, right):
                certain_end = min(right.end, max(watermark, right.start))
            if right.start < certain_end:
                intervals.append((right.start, certain_end))
        return union(intervals)

    def awaits(self, left: StoredEvent, match: Match, rights: Sequence[StoredEvent]) -> list[AwaitedWatermark]:
        """Return the watermarks that a row of a left event waits for; none if the row is final.

        Once they are reached, the row may still have to wait for further ones.

        Args:
            left: The left event.
            match: The row.
            rights: The `neighbours` of the left event that meet the condition with it.
        """
        right = match.right
        end = match.end

        # The row may not become shorter: neither of its events may come to end before the row does.
        if not self.lasts(LEFT, left, end):
            return [AwaitedWatermark(LEFT, end)]
        if right is None:
            return self._unmatched_awaits(left, match, rights)
        if not self.lasts(RIGHT, right, end):
            return [AwaitedWatermark(RIGHT, end)]

        # Nor may the row become longer. It ends where one of its events does, or both: one event that ends there and is
        # past keeps the row from that.
        awaited: list[AwaitedWatermark] = []
        for side, event in ((LEFT, left), (RIGHT, right)):
            if event.end != end:
                continue
            if self.is_past(side, event):
                return []
            awaited.append(AwaitedWatermark(side, end + 1))
        return awaited

    def _unmatched_awaits(
        self, left: StoredEvent, match: Match, rights: Sequence[StoredEvent]
    ) -> list[AwaitedWatermark]:
        """Return the watermarks that an unmatched part of a left event waits for; none if the part is final.

        The part may still become longer, or be split by a right event.

        Args:
            left: The left event, which does not come to end before the part does.
            match: The part.
            rights: The `neighbours` of the left event that meet the condition with it.
        """
        start = match.start
        end = match.end
        watermark = self.watermarks[RIGHT]

        # First the ticks of the part: a later right event must not cover them.
        if self._kind is JoinKind.SEMI:
            # Here the part consists of covered ticks. They must stay covered, and the tick before the part uncovered.
            if self._certain_end(start, rights) < end:
                # Once the watermark is at the end of the part, no right event can come to end within the part.
                return [AwaitedWatermark(RIGHT, end)]
            if left.start < start and watermark < start:
                return [AwaitedWatermark(RIGHT, start)]
        elif watermark < end:
            # A left event is clipped after its first tick at the earliest: an event of one tick need not wait.
            is_first_tick = self._kind is JoinKind.CLIP and left.start + 1 == end
            if not is_first_tick:
                return [AwaitedWatermark(RIGHT, end)]

        # Then its end: the part must not become longer.
        if self._ends_for_good(end, rights) or (end == left.end and self.is_past(LEFT, left)):
            return []
        awaited: list[AwaitedWatermark] = []
        if end == left.end:
            awaited.append(AwaitedWatermark(LEFT, end + 1))
        if watermark <= end:
            awaited.append(AwaitedWatermark(RIGHT, end + 1))
        return awaited

    def _certain_end(self, start: int, rights: Sequence[StoredEvent]) -> int:
        """Return the tick up to which right events cover all ticks from `start` on, whatever legal changes come.

        It is `start` itself if they do not cover the tick `start`.
        """
        for since, until in self.certain_cover(rights):
            if since <= start < until:
                return until
        return start

    def _ends_for_good(self, end: int, rights: Sequence[StoredEvent]) -> bool:
        """Return True if right events keep an unmatched part from becoming longer, whatever legal changes come.

        Args:
            end: The end of the part.
            rights: The `neighbours` of the left event that meet the condition with it.
        """
        watermark = self.watermarks[RIGHT]
        if self._kind is JoinKind.SEMI:
            # A part of a semi join goes on where a right event covers the next tick.
            return watermark > end and not any(right.start <= end < right.end for right in rights)
        if self._kind is JoinKind.CLIP:
            # A clipped event ends where a right one starts, as long as that is not retracted.
            starts_stay = not self._ends_move[RIGHT] or watermark > end
            return starts_stay and any(right.start == end for right in rights)

        # Other parts are uncovered ticks: one ends for good where a right event covers the next tick for certain.
        return any(since <= end < until for since, until in self.certain_cover(rights))


def _past_until(side: EvaluatorQuery, watermark: int) -> int:
    """Return the last end that an event of an input can have if it is past, by the watermark of the input."""
    if not side.event_ends_move or watermark == INFINITY:
        return INFINITY
    # A sample ends where the next one starts, which no other sample can replace at an earlier time.
    last_end = watermark if side.is_edge else watermark - 1
    return max(EARLIEST, last_end)
