"""A join on its way to a plan: its columns and those of its condition are inputs of the two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from muntin.schemas import Field
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan, PairCondition, plan_condition

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.backends.planning.read_columns import ReadColumns
    from muntin_engine.plan.request import ColumnLike, JoinCondition, JoinRequest


_SIDES: Final = ("left", "right")
"""The words for the two streams of a join."""


@dataclass(frozen=True)
class _ConditionColumn:
    """A column that is an argument of the condition of a join.

    Attributes:
        side: The place of its stream: 0 for the left one, 1 for the right one.
        column: The column, as the query writer names it.
        input_column: Its description.
    """

    side: int
    column: ColumnLike
    input_column: InputColumn


def plan_join(inputs: Sequence[ReadColumns], join: JoinRequest) -> JoinPlan:
    """Plan a join, and add the columns that it reads to the inputs of its two sides.

    Args:
        inputs: The columns that the query reads of each side.
        join: The columns of the joined rows, by side, and the condition on pairs.

    Raises:
        QueryError: An input does not have a column.
        ParameterError: The function of the condition does not take its parameters.
        TypeMismatchError: The function reads a column of another type.
    """
    joined_columns: list[JoinedColumn] = []
    for side, (read_columns, columns) in enumerate(zip(inputs, join.columns, strict=True)):
        input_columns = read_columns.look_up(list(columns.values()), "join()")
        for (name, column), input_column in zip(columns.items(), input_columns, strict=True):
            result = input_column.passed_on(name)
            place = read_columns.carry(column, input_column, result)
            joined_columns.append(JoinedColumn(result, side, place))
    condition = None if join.on is None else _plan_condition(inputs, join.on)
    return JoinPlan(join.kind, tuple(joined_columns), condition)


def _plan_condition(inputs: Sequence[ReadColumns], on: JoinCondition) -> PairCondition:
    """Plan the condition of a join, and add the columns that it reads to the inputs of the two sides.

    Args:
        inputs: The columns that the query reads of each side.
        on: The function that is the condition, its parameters, and its columns of the left and of the right side.

    Raises:
        QueryError: An input does not have a column.
        ParameterError: The function does not take its parameters.
        TypeMismatchError: The function reads a column of another type.
    """
    arguments: list[_ConditionColumn] = []
    for side, columns in ((0, on.left), (1, on.right)):
        if not columns:
            continue  # an anti join of one stream has no right input
        input_columns = inputs[side].look_up(columns, on.function.name)
        for column, input_column in zip(columns, input_columns, strict=True):
            arguments.append(_ConditionColumn(side, column, input_column))

    def place_of_argument(number: int, read_field: Field) -> tuple[int, int]:
        """Carry an argument as the function reads it, and return its side and its place among the inputs there.

        The field that the function reads is known only once its parameters are bound.
        """
        argument = arguments[number]
        return argument.side, inputs[argument.side].carry(argument.column, argument.input_column, read_field)

    names = [f"{_SIDES[argument.side]}.{argument.input_column.name}" for argument in arguments]
    fields = [argument.input_column.field for argument in arguments]
    return plan_condition(on.function, on.parameters, fields, place_of_argument, names)
