"""Expressions in DuckDB's SQL with the types that Spark gives them, and how two types become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from muntin_engine.backends.local.duckdb_types import duckdb_type
from muntin_engine.backends.planning.field_types import MOST_DIGITS

INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
"""The types of whole numbers that a query has, the smallest first."""

DIGITS: Final[Mapping[pa.DataType, int]] = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""The digits of the decimal that Spark takes for each type of whole numbers."""

FAILURE: Final = "\x1f"
"""Stands in the message of a row's failure before the part of the text that failed."""


@dataclass(frozen=True, slots=True)
class DuckdbExpression:
    """An expression in DuckDB's SQL.

    Attributes:
        sql: Its text.
        type: The Arrow type of its values, as Spark's columns travel: `timestamp[us, tz=...]` is Spark's `timestamp`,
            without a zone it is `timestamp_ntz`.
        may_raise: True if it raises for some values, so that it must not be computed for rows that Spark leaves out.
        literal: The text of a string literal, which Spark reads as a date or a time where it is compared with one;
            None for all other expressions.
    """

    sql: str
    type: pa.DataType
    may_raise: bool = False
    literal: str | None = None


def is_number(data_type: pa.DataType) -> bool:
    """Say whether values of a type are numbers."""
    return bool(pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type))


def any_raises(*values: DuckdbExpression) -> bool:
    """Say whether one of several expressions raises for some values."""
    return any(value.may_raise for value in values)


def cast(value: DuckdbExpression, target: pa.DataType) -> DuckdbExpression:
    """Cast a value to a wider type, which holds all of its values as they are."""
    if value.type == target:
        return value
    return DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(target)})", target, may_raise=value.may_raise)


def unless_null(left: DuckdbExpression, right: DuckdbExpression, sql: str) -> str:
    """Return an operation that is null where its left operand is null, without computing the right operand there.

    Spark does not compute it there, either. It matters only if the right operand may raise.

    Args:
        left: The left operand.
        right: The right operand.
        sql: The operation in DuckDB's SQL.
    """
    if not right.may_raise:
        return sql
    return f"(CASE WHEN {left.sql} IS NULL THEN NULL ELSE {sql} END)"


def computed_where(condition: DuckdbExpression | None, value: DuckdbExpression) -> DuckdbExpression:
    """Return a value that may raise as one that is computed only for rows that meet a condition.

    A WHERE alone is not enough: if an outer query has a condition on the value, DuckDB may test that one first.

    Args:
        condition: The condition; None if all rows meet it.
        value: The value.
    """
    if condition is None or not value.may_raise:
        return value
    return replace(value, sql=f"(CASE WHEN {condition.sql} THEN {value.sql} END)")


def is_not_null(value: DuckdbExpression) -> DuckdbExpression:
    """Return the condition that a value is not null."""
    return DuckdbExpression(f"({value.sql} IS NOT NULL)", pa.bool_(), may_raise=value.may_raise)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type in which Spark computes with values of two types.

    None if Spark refuses the two types, or if its settings decide which type it takes.

    Example:
        >>> print(common_type(pa.int8(), pa.int64()), common_type(pa.int32(), pa.float32()))
        int64 double
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if is_number(left) and is_number(right):
        return _common_number(left, right)
    # Text on either side is read as a time or a date if the other side is one.
    for text, time in ((left, right), (right, left)):
        if pa.types.is_string(text) and (pa.types.is_date(time) or pa.types.is_timestamp(time)):
            return time
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Return the type in which Spark computes with two numbers: with a float a double, with a decimal a decimal."""
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float32() if left == right == pa.float32() else pa.float64()  # Spark widens all other pairs
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return INTEGERS[max(INTEGERS.index(left), INTEGERS.index(right))]
    left = _decimal_of(left)
    right = _decimal_of(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)  # digits before the point
    return pa.decimal128(min(whole + scale, MOST_DIGITS), scale)


def _decimal_of(data_type: pa.DataType) -> pa.DataType:
    """Return the decimal type that Spark takes for a type of whole numbers; a decimal type is returned itself."""
    return pa.decimal128(DIGITS[data_type], 0) if pa.types.is_integer(data_type) else data_type
