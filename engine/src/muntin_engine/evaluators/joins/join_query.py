"""A temporal join in the terms of its evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from muntin import JoinKind
from muntin_engine.core.evaluator_query import EvaluatorQuery, MakesOnce
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.plan.join_plan import Condition


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
        return tuple(None if (own := given[side]) is None else own[place] for side, place in self.columns)
