"""A temporal join: the rows that left events and the right ones that overlap them give, and when these are final."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from muntin import INFINITY, JoinKind
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start, union
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.plan.join_plan import Condition
from muntin_engine.plan.makes_once import MakesOnce

LEFT, RIGHT = 0, 1


class Watermarks(NamedTuple):
    """The watermark of each input."""

    left: int
    right: int


@dataclass(frozen=True)
class JoinQuery(MakesOnce):
    """A temporal join.

    Attributes:
        kind: The kind of the join.
        sides: The two inputs: how their events come, and what becomes of late rows. Their windows mean nothing.
        columns: The columns of the output, each as the side that it is of and its place in that side's payload.
        is_eager: True if rows are emitted at once, and retracted when they change.
        condition: The condition on the payloads of a left and a right event; None if all meet.
    """

    kind: JoinKind
    sides: tuple[EvaluatorQuery, EvaluatorQuery]
    columns: tuple[tuple[int, int], ...]
    is_eager: bool = False
    condition: Condition | None = None

    @cached_property
    def emits_at_once(self) -> bool:
        """True if a row of the output never changes once its events are there: pairs of events whose ends stay."""
        return self.kind is JoinKind.INNER and not any(side.event_ends_move for side in self.sides)

    @cached_property
    def waits(self) -> bool:
        """True if a row of the output may have to wait for a watermark although its events are there."""
        return not self.is_eager and not self.emits_at_once

    def met(self, left: StoredEvent, rights: list[StoredEvent]) -> list[StoredEvent]:
        """Return the right events that meet the condition with a left one."""
        meet = self.condition
        return rights if meet is None else [right for right in rights if meet(left.payload, right.payload)]

    def value(self, left: StoredEvent, right: StoredEvent | None) -> tuple[Any, ...]:
        """Return the columns of a row; those of the right side are null where it has no right event."""
        given = (left.payload, None if right is None else right.payload)
        return tuple([None if (own := given[side]) is None else own[place] for side, place in self.columns])


class Match(NamedTuple):
    """A row of the output of a left event.

    Attributes:
        right: The right event; None for a part of the left event.
        start: First tick of its lifetime.
        end: First tick after it.
    """

    right: StoredEvent | None
    start: int
    end: int


def neighbours(
    events: Iterable[StoredEvent], others: Iterable[StoredEvent]
) -> Iterator[tuple[StoredEvent, list[StoredEvent]]]:
    """Yield each event with those of the others that live at one of its ticks, in order of their starts.

    The others include those that start where it ends. Events that a filter left out overlap nothing.

    Cost: sorting both; then each event costs the others that live at its start, and those that overlap it.
    """
    known = sorted((other for other in others if other.is_member), key=by_start)
    starts = [other.start for other in known]
    place, alive = 0, list[StoredEvent]()
    for event in sorted((event for event in events if event.is_member), key=by_start):
        while place < len(known) and starts[place] <= event.start:
            alive.append(known[place])
            place += 1
        alive = [other for other in alive if other.end > event.start]
        yield event, alive + known[place : bisect_right(starts, event.end, place)]


def matches(kind: JoinKind, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
    """Return the rows of a left event.

    Args:
        kind: The kind of the join, other than `JoinKind.CLIP`, whose rows `ClipEmission` knows.
        left: The left event.
        rights: Those of its `neighbours` that it meets.
    """
    found: list[Match] = []
    rights = [right for right in rights if right.start < left.end]
    if kind.pairs:
        found += [Match(right, max(left.start, right.start), min(left.end, right.end)) for right in rights]
    if kind is JoinKind.INNER:
        return found
    covered = union((max(left.start, right.start), min(left.end, right.end)) for right in rights)
    if kind is JoinKind.SEMI:
        return [Match(None, *part) for part in covered]
    at = left.start
    for start, end in covered:
        if at < start:
            found.append(Match(None, at, start))
        at = end
    return [*found, Match(None, at, left.end)] if at < left.end else found


class Finality:
    """Tells what no legal change can alter any more, given the watermark of each input.

    A change of an input is legal if its sync time, the earliest tick that it changes, is not before the watermark of
    that input. So an event whose end may move can still end at any tick from the watermark on, and not before it; one
    that starts at the watermark or later may also be retracted, or, if it is a sample, give way to another one of its
    time.

    Attributes:
        watermarks: The watermark of each input.
    """

    def __init__(self, query: JoinQuery, watermarks: Watermarks) -> None:
        self._kind = query.kind
        self._moves = tuple(side.event_ends_move for side in query.sides)
        self._is_edge = tuple(side.is_edge for side in query.sides)
        self.watermarks = watermarks

    def is_past(self, side: int, event: StoredEvent) -> bool:
        """True if no legal row of its own input can be about an event any more, or about what a sample ends."""
        watermark = self.watermarks[side]
        if not self._moves[side] or watermark == INFINITY:
            return True
        return event.end < watermark or (self._is_edge[side] and event.end == watermark)

    def lasts(self, side: int, event: StoredEvent, tick: int) -> bool:
        """True if an event that ends at a tick or later will not come to end before it.

        A sample does not last its first tick either, until the watermark has passed that: another one may replace it.
        """
        return self.watermarks[side] >= tick or self.is_past(side, event)

    def covered(self, rights: Iterable[StoredEvent]) -> list[tuple[int, int]]:
        """Return the intervals in which right events, in order of their starts, live whatever comes."""
        watermark = self.watermarks[RIGHT]
        parts = []
        for right in rights:
            least = right.end
            if not self.is_past(RIGHT, right):
                least = max(watermark, right.start)
            if right.start < least:
                parts.append((right.start, min(least, right.end)))
        return union(parts)

    def awaits(self, left: StoredEvent, match: Match, rights: Sequence[StoredEvent]) -> list[tuple[int, int]]:
        """Return the sides that a row of a left event waits for, each with the watermark that it has to reach.

        Args:
            left: The left event.
            match: The row.
            rights: Those of its `neighbours` that it meets.

        Returns:
            Nothing if the row is final. What it waits for may be but the first of several steps.
        """
        right, start, end = match
        if not self.lasts(LEFT, left, end):
            return [(LEFT, end)]
        if right is None:
            return self._part_awaits(left, start, end, rights)
        if not self.lasts(RIGHT, right, end):
            return [(RIGHT, end)]
        ending = [(side, event) for side, event in ((LEFT, left), (RIGHT, right)) if event.end == end]
        if any(self.is_past(side, event) for side, event in ending):
            return []
        return [(side, end + 1) for side, _ in ending]

    def _part_awaits(
        self, left: StoredEvent, start: int, end: int, rights: Sequence[StoredEvent]
    ) -> list[tuple[int, int]]:
        """Return the same for a part of a left event: it may go on past its end, or what is in it may change."""
        watermark = self.watermarks[RIGHT]
        if self._kind is JoinKind.SEMI:
            sure_to = next((until for since, until in self.covered(rights) if since <= start < until), start)
            if sure_to < end:
                return [(RIGHT, max(sure_to, watermark) + 1)]
            if left.start < start and watermark < start:
                return [(RIGHT, start)]
            is_over = watermark > end and not any(right.start <= end < right.end for right in rights)
        elif watermark < end and not (self._kind is JoinKind.CLIP and left.start + 1 == end):  # nothing clips its start
            return [(RIGHT, end)]
        elif self._kind is JoinKind.CLIP:
            starts_stay = not self._moves[RIGHT] or watermark > end
            is_over = starts_stay and any(right.start == end for right in rights)
        else:
            is_over = any(since <= end < until for since, until in self.covered(rights))
        if is_over or (end == left.end and self.is_past(LEFT, left)):
            return []
        awaited = [(LEFT, end + 1)] if end == left.end else []
        return awaited + ([(RIGHT, end + 1)] if watermark <= end else [])
