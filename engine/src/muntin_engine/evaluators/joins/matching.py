"""A temporal join: the rows of its output, by the left events and the right ones that overlap them.

A row is either a *pair* of a left and a right event, which lasts as long as both, or an unmatched *part* of a left
event alone: an interval in which right events do not overlap it (in a semi join, in which they do).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from muntin import JoinKind
from muntin_engine.evaluators.keyed.event_index import MANY, EventIndex, StoredEvent, by_start, union
from muntin_engine.plan.evaluator_query import EvaluatorQuery, MakesOnce
from muntin_engine.plan.join_plan import Condition, JoinedColumn

LEFT: Final = 0
RIGHT: Final = 1


@dataclass(frozen=True)
class JoinQuery(MakesOnce):
    """A temporal join.

    Attributes:
        kind: The kind of the join.
        sides: The two inputs: how their events come, and what becomes of late rows. Their windows mean nothing.
        columns: The columns of the output.
        is_eager: True if rows are emitted at once, and retracted when they change.
        condition: The condition on the payloads of a left and a right event; None if all events that overlap match.
    """

    kind: JoinKind
    sides: tuple[EvaluatorQuery, EvaluatorQuery]
    columns: Sequence[JoinedColumn]
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

    def matching_rights(self, left: StoredEvent, rights: list[StoredEvent]) -> list[StoredEvent]:
        """Return those of the right events that meet the condition of the join together with a left event."""
        condition = self.condition
        if condition is None:
            return rights
        return [right for right in rights if condition(left.payload, right.payload)]

    def value(self, left: StoredEvent, right: StoredEvent | None) -> tuple[Any, ...]:
        """Return the columns of a row; those of the right side are null if it has no right event.

        Args:
            left: The left event.
            right: The right event; None if the row is a part of the left event alone.
        """
        if right is None:
            return tuple([left.payload[place] if side == LEFT else None for _, side, place in self.columns])
        payloads = (left.payload, right.payload)
        return tuple([payloads[side][place] for _, side, place in self.columns])


class Match(NamedTuple):
    """A row of the output of a left event: a pair, or a part of the event alone.

    Attributes:
        right: The right event of a pair; None for a part.
        start: First tick of its lifetime.
        end: First tick after it.
    """

    right: StoredEvent | None
    start: int
    end: int


def neighbours(events: Iterable[StoredEvent], opposite: EventIndex) -> Iterator[tuple[StoredEvent, list[StoredEvent]]]:
    """Yield each event of one side with its neighbours, the events of the opposite side that overlap or follow it.

    Neighbours are in order of their starts. One that starts where the event ends is among them, as it decides whether a
    part of the event goes on there. Events that a filter left out overlap nothing.

    Cost: a few events search the opposite side, see `EventIndex.overlapping`. Many are sorted, and so is the opposite
    side; then each event costs the opposite events that live at its start or overlap it.

    Args:
        events: The events of one side, in any order.
        opposite: The events of the other side.
    """
    members_by_start = sorted((event for event in events if event.is_member), key=by_start)
    if len(members_by_start) <= len(opposite) // MANY:
        for event in members_by_start:
            yield event, sorted(opposite.overlapping(event.start, event.end + 1), key=by_start)
        return

    opposite_by_start = sorted((event for event in opposite if event.is_member), key=by_start)
    starts = [event.start for event in opposite_by_start]

    # A sweep in order of starts: `alive` are the opposite events that have started, and end after the present start.
    alive: list[StoredEvent] = []
    started_count = 0
    for event in members_by_start:
        while started_count < len(starts) and starts[started_count] <= event.start:
            alive.append(opposite_by_start[started_count])
            started_count += 1
        alive = [opposite_event for opposite_event in alive if opposite_event.end > event.start]
        starting_later = opposite_by_start[started_count : bisect_right(starts, event.end, started_count)]
        yield event, alive + starting_later


def matches(kind: JoinKind, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
    """Return the rows of a left event.

    Args:
        kind: The kind of the join, other than `JoinKind.CLIP`, whose rows `ClipEmission` knows.
        left: The left event.
        rights: The `neighbours` of the left event that meet the condition with it.
    """
    # A neighbour that starts where the left event ends shares no tick with it.
    overlapping = [right for right in rights if right.start < left.end]
    rows: list[Match] = []
    if kind.pairs:
        for right in overlapping:
            rows.append(Match(right, max(left.start, right.start), min(left.end, right.end)))
    if kind is JoinKind.INNER:
        return rows

    # The other kinds need the intervals that any right event covers.
    covered = union((max(left.start, right.start), min(left.end, right.end)) for right in overlapping)
    if kind is JoinKind.SEMI:
        return [Match(None, start, end) for start, end in covered]

    # The gaps between the covered intervals are the parts of the left event that no right event overlaps.
    uncovered_from = left.start
    for start, end in covered:
        if uncovered_from < start:
            rows.append(Match(None, uncovered_from, start))
        uncovered_from = end
    if uncovered_from < left.end:
        rows.append(Match(None, uncovered_from, left.end))
    return rows
