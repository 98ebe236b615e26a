"""Aggregates of groups of rows in plain queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import duckdb_type
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DuckdbExpression,
    cast,
    computed_where,
    is_number,
)
from muntin_engine.backends.local.expressions.logic import condition
from muntin_engine.backends.local.expressions.translator import Translator
from muntin_engine.backends.planning.field_types import MOST_DIGITS


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether a node is an aggregate."""
    return isinstance(node, exp.AggFunc | exp.Filter)


def aggregate_of(translator: Translator, node: exp.Expr, where: DuckdbExpression | None) -> DuckdbExpression:
    """Translate an aggregate, such as `SUM(km)`.

    Args:
        translator: The translator of the operand.
        node: The aggregate.
        where: The condition of WHERE; None without one. An operand that may raise is computed only for rows that meet
            the condition: DuckDB may compute operands before it leaves the other rows out.

    Raises:
        QueryError: The aggregate has no translation of the same meaning.
    """
    call = node
    filter_condition = None
    if isinstance(node, exp.Filter):  # in the tree, FILTER is a node around the node of the aggregate
        call = node.this
        filter_condition = computed_where(where, condition(translator, node.expression.this))
    rows = _AggregatedRows(translator, where, filter_condition)
    if isinstance(call, exp.Count):
        return _count(rows, call)
    aggregate = _AGGREGATES.get(type(call))
    if aggregate is None or call.expressions:  # such as the further arguments of `max(x, 3)`
        raise translator.refusal(
            node, "is an aggregate that is not known to mean the same without Spark", "run the query on Spark"
        )
    return aggregate(rows, call)


@dataclass(frozen=True)
class _AggregatedRows:
    """The rows of a group that an aggregate takes.

    Attributes:
        translator: Translates what it aggregates.
        where: The condition of WHERE; None without one.
        filter: The condition of the aggregate's FILTER; None without one.
    """

    translator: Translator
    where: DuckdbExpression | None
    filter: DuckdbExpression | None = None

    def values(self, node: exp.Expr) -> DuckdbExpression:
        """Translate an operand of the aggregate, null for rows that FILTER leaves out: aggregates leave nulls out."""
        value = computed_where(self.where, self.translator.translate(node))
        if self.filter is None:
            return value
        sql = f"(CASE WHEN {self.filter.sql} THEN {value.sql} END)"
        return DuckdbExpression(sql, value.type, may_raise=value.may_raise or self.filter.may_raise)


def _count(rows: _AggregatedRows, node: exp.Count) -> DuckdbExpression:
    """Translate `COUNT(*)`, which counts rows, or `COUNT(x)`, which counts values that are not null."""
    if isinstance(node.this, exp.Star):
        if rows.filter is None:
            return DuckdbExpression("COUNT(*)", pa.int64())
        return DuckdbExpression(
            f"COUNT(CASE WHEN {rows.filter.sql} THEN 1 END)", pa.int64(), may_raise=rows.filter.may_raise
        )
    distinct, operand = _operand_of(node)
    # Several columns are in the node of DISTINCT (`COUNT(DISTINCT a, b)`), or behind the first one (`COUNT(a, b)`).
    if operand is None or node.expressions:
        raise rows.translator.refusal(node, "counts several columns", "count one")
    value = rows.values(operand)
    if distinct and pa.types.is_nested(value.type):
        raise rows.translator.type_refusal(node, value)
    return DuckdbExpression(f"COUNT({distinct}{value.sql})", pa.int64(), may_raise=value.may_raise)


def _operand_of(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """Return how an aggregate reads its operand: the word `DISTINCT ` or empty text, and the operand itself.

    The operand is None if DISTINCT has several operands.
    """
    operand = node.this
    if not isinstance(operand, exp.Distinct):
        return "", operand
    if len(operand.expressions) != 1:
        return "DISTINCT ", None
    return "DISTINCT ", operand.expressions[0]


def _numbers_of(rows: _AggregatedRows, node: exp.Expr) -> tuple[str, DuckdbExpression]:
    """Return the word `DISTINCT ` or empty text, and the translated operand of an aggregate of numbers.

    Raises:
        QueryError: The operand is not a number, there are several, or floats would be compared for DISTINCT.
    """
    distinct, operand = _operand_of(node)
    if operand is None:
        raise rows.translator.refusal(node, "takes several columns", "take one")
    value = rows.values(operand)
    if not is_number(value.type):
        raise rows.translator.type_refusal(node, value)
    if distinct and pa.types.is_floating(value.type):
        raise rows.translator.refusal(node, "compares floats", "cast them to decimal")
    return distinct, value


def _sum(rows: _AggregatedRows, node: exp.Expr) -> DuckdbExpression:
    """Translate SUM in the type that Spark gives it; a sum that does not fit the type is an error, as on Spark."""
    distinct, value = _numbers_of(rows, node)
    if pa.types.is_integer(value.type):
        result = pa.int64()
    elif pa.types.is_decimal(value.type):
        result = pa.decimal128(min(value.type.precision + 10, MOST_DIGITS), value.type.scale)  # Spark's rule
    else:
        result = pa.float64()
        value = cast(value, result)
    return DuckdbExpression(f"CAST(SUM({distinct}{value.sql}) AS {duckdb_type(result)})", result, may_raise=True)


def _average(rows: _AggregatedRows, node: exp.Expr) -> DuckdbExpression:
    """Translate AVG of whole numbers or floats. Of decimals, Spark's average has digits that DuckDB does not keep."""
    distinct, value = _numbers_of(rows, node)
    if pa.types.is_decimal(value.type):
        raise rows.translator.refusal(node, "is an average of decimals", "cast them to double")
    return DuckdbExpression(f"AVG({distinct}{cast(value, pa.float64()).sql})", pa.float64(), may_raise=value.may_raise)


def _least(rows: _AggregatedRows, node: exp.Expr) -> DuckdbExpression:
    return _extreme(rows, node, "MIN")


def _greatest(rows: _AggregatedRows, node: exp.Expr) -> DuckdbExpression:
    return _extreme(rows, node, "MAX")


def _extreme(rows: _AggregatedRows, node: exp.Expr, function: str) -> DuckdbExpression:
    """Translate MIN or MAX.

    A group of floats whose extreme is both 0.0 and -0.0 is an error when it is computed: which of them Spark returns
    depends on the order of rows.

    Args:
        rows: The rows of a group.
        node: The aggregate.
        function: The function of DuckDB, `MIN` or `MAX`.
    """
    value = rows.values(node.this)
    if pa.types.is_nested(value.type) or pa.types.is_null(value.type):
        raise rows.translator.type_refusal(node, value)
    sql = f"{function}({value.sql})"
    if not pa.types.is_floating(value.type):
        return DuckdbExpression(sql, value.type, may_raise=value.may_raise)
    # Of 0.0 and -0.0, which are equal, Spark keeps the one that it sees first, and DuckDB another.
    failure = rows.translator.failure(node, f"'the group has both 0.0 and -0.0: write {function}(x + 0D)'")
    has_negative = f"bool_or({value.sql} = 0 AND signbit({value.sql}))"
    has_positive = f"bool_or({value.sql} = 0 AND NOT signbit({value.sql}))"
    sql = f"(CASE WHEN {sql} = 0 AND {has_negative} AND {has_positive} THEN {failure} ELSE {sql} END)"
    return DuckdbExpression(sql, value.type, may_raise=True)


Aggregate = Callable[[_AggregatedRows, exp.Expr], DuckdbExpression]

_AGGREGATES: Final[Mapping[type[exp.Expr], Aggregate]] = {
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _least,
    exp.Max: _greatest,
}
"""The aggregates of one operand, by their nodes."""
