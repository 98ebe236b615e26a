"""A join in a plan: its kind, and the columns of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from muntin import JoinKind
from muntin.schemas import Field


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
    """

    kind: JoinKind
    columns: tuple[JoinedColumn, ...]

    def identity(self) -> list[object]:
        """Return the part of the join on which the state in a checkpoint depends, as plain data."""
        return [str(self.kind), *([column.field.name, column.side, column.place] for column in self.columns)]
