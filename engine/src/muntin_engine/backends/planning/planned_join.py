"""A join on its way to a plan: its columns and those of its condition are inputs of the two sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muntin.schemas import Field
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, PairCondition, plan_condition

if TYPE_CHECKING:
    from muntin_engine.backends.planning.read_columns import ReadColumns
    from muntin_engine.plan.request import JoinCondition, JoinRequest


def plan_join(inputs: Sequence[ReadColumns], join: JoinRequest) -> JoinPlan:
    """Return a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError, TypeMismatchError: A condition does not fit; see `_plan_condition`.
    """
    joined_columns: list[JoinedColumn] = []
    for side, (read_columns, columns) in enumerate(zip(inputs, join.columns, strict=True)):
        parts = read_columns.reader.look_up(read_columns.df, columns, dict.fromkeys(columns, "join()"))
        for name, part in parts.items():
            result = part.passed_on(name)
            joined_columns.append(JoinedColumn(result, side, read_columns.place(columns[name], part, result)))
    condition = None if join.on is None else _plan_condition(inputs, join.on)
    return JoinPlan(join.kind, tuple(joined_columns), condition)


def _plan_condition(inputs: Sequence[ReadColumns], on: JoinCondition) -> PairCondition:
    """Return the condition of a join, whose columns are further inputs of its two sides.

    Raises:
        QueryError: An input does not have a column.
        ParameterError: The function does not take its parameters.
        TypeMismatchError: A column is not what it reads.
    """
    arguments = [(0, column) for column in on.left] + [(1, column) for column in on.right]
    parts = [inputs[side].parts([column], on.function.name)[0] for side, column in arguments]

    def place(number: int, wanted: Field) -> tuple[int, int]:
        side, column = arguments[number]
        return side, inputs[side].place(column, parts[number], wanted)

    names: list[str] = []
    for (side, _), part in zip(arguments, parts, strict=True):
        names.append(f"{('left', 'right')[side]}.{part.name}")
    fields = [part.field for part in parts]
    return plan_condition(on.function, on.parameters, fields, place, names)
