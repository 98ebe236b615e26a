"""From the query writer's join to its plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muntin.schemas import Field
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, PairCondition, plan_condition
from muntin_engine.spark.columns import ReadColumns, fields_of
from muntin_engine.spark.types import field_of, passed_on

if TYPE_CHECKING:
    from muntin_engine.api.request import JoinCondition, JoinRequest


def plan_join(inputs: Sequence[ReadColumns], join: JoinRequest) -> JoinPlan:
    """Return a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError, TypeMismatchError: A condition does not fit; see `_plan_condition`.
    """
    columns: list[JoinedColumn] = []
    for side, (given, named) in enumerate(zip(inputs, (join.columns, join.other), strict=True)):
        parts = fields_of(given.df, named, dict.fromkeys(named, "join()"))
        for name, part in parts.items():
            column = passed_on(name, part.dataType)
            columns.append(JoinedColumn(column, side, given.place(named[name], part, column)))
    return JoinPlan(join.kind, tuple(columns), None if join.on is None else _plan_condition(inputs, join.on))


def _plan_condition(inputs: Sequence[ReadColumns], on: JoinCondition) -> PairCondition:
    """Return the condition of a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError: The function does not take its parameters.
        TypeMismatchError: A column is not what it reads.
    """
    read = [(side, column) for side, columns in enumerate((on.left, on.right)) for column in columns]
    parts = [inputs[side].parts([column], on.function.name)[0] for side, column in read]

    def place(number: int, wanted: Field) -> tuple[int, int]:
        side, column = read[number]
        return side, inputs[side].place(column, parts[number], wanted)

    names = [f"{('left', 'right')[side]}.{part.name}" for (side, _), part in zip(read, parts, strict=True)]
    return plan_condition(
        on.function, on.parameters, [field_of(part.name, part.dataType) for part in parts], place, names
    )
