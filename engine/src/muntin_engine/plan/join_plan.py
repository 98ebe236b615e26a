"""A join in a plan: its kind, and the columns of its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from muntin import JoinKind
from muntin.schemas import Field
from muntin_engine.plan.pair_condition import PairCondition

Condition: TypeAlias = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]
"""Whether the payloads of a left and a right event meet."""


class JoinedColumn(NamedTuple):
    """A column of the results, as a column of an input has it.

    Attributes:
        field: Its name and type.
        side: The place of the input among those of the query.
        place: The place of the column in the payload of that input.
    """

    field: Field
    side: int
    place: int


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """A join of the two inputs of a query.

    Attributes:
        kind: The kind of the join.
        columns: The columns of the results, without keys and lifetime.
        on: The condition that a left and a right event have to meet; None if there is none.
    """

    kind: JoinKind
    columns: tuple[JoinedColumn, ...]
    on: PairCondition | None = None

    def identity(self) -> list[object]:
        """Return the part of the join on which the state in a checkpoint depends, as plain data."""
        columns = ([column.field.name, column.side, column.place] for column in self.columns)
        return [str(self.kind), *columns, *([] if self.on is None else [{"on": self.on.identity()}])]
