"""A temporal join: the rows of its output, by the left events and the right ones that overlap them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from muntin import JoinKind
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start, union
from muntin_engine.plan.evaluator_query import EvaluatorQuery, MakesOnce
from muntin_engine.plan.join_plan import Condition

LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class JoinQuery(MakesOnce):
    """A temporal join.

    Attributes:
        kind: The kind of the join.
        sides: The two inputs: how their events come, and what becomes of late rows. Their windows mean nothing.
        columns: The columns of the output, each as a side and a place in that side's payload.
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
        if meet is None:
            return rights
        return [right for right in rights if meet(left.payload, right.payload)]

    def value(self, left: StoredEvent, right: StoredEvent | None) -> tuple[Any, ...]:
        """Return the columns of a row; those of the right side are null where it has no right event."""
        if right is None:
            return tuple([left.payload[place] if side == LEFT else None for side, place in self.columns])
        payloads = (left.payload, right.payload)
        return tuple([payloads[side][place] for side, place in self.columns])


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
    """Yield each event with its neighbours: the others that live at one of its ticks, in order of their starts.

    The others include those that start where it ends. Events that a filter left out overlap nothing.

    Cost: sorting both; then each event costs the others that live at its start, and those that overlap it.
    """
    others_by_start = sorted((other for other in others if other.is_member), key=by_start)
    starts = [other.start for other in others_by_start]
    alive: list[StoredEvent] = []  # the others that start at an event's start or before, and end after it
    started = 0
    for event in sorted((event for event in events if event.is_member), key=by_start):
        while started < len(starts) and starts[started] <= event.start:
            alive.append(others_by_start[started])
            started += 1
        alive = [other for other in alive if other.end > event.start]
        starting_later = others_by_start[started : bisect_right(starts, event.end, started)]
        yield event, alive + starting_later


def matches(kind: JoinKind, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
    """Return the rows of a left event.

    Args:
        kind: The kind of the join, other than `JoinKind.CLIP`, whose rows `ClipEmission` knows.
        left: The left event.
        rights: The `neighbours` of the left event that it meets.
    """
    overlapping = [right for right in rights if right.start < left.end]
    rows: list[Match] = []
    if kind.pairs:
        rows += [Match(right, max(left.start, right.start), min(left.end, right.end)) for right in overlapping]
    if kind is JoinKind.INNER:
        return rows
    covered = union((max(left.start, right.start), min(left.end, right.end)) for right in overlapping)
    if kind is JoinKind.SEMI:
        return [Match(None, start, end) for start, end in covered]
    # The parts of the left event that no right one covers.
    uncovered_from = left.start
    for start, end in covered:
        if uncovered_from < start:
            rows.append(Match(None, uncovered_from, start))
        uncovered_from = end
    if uncovered_from < left.end:
        rows.append(Match(None, uncovered_from, left.end))
    return rows
