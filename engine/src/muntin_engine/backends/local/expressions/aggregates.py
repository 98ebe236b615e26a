"""Aggregates of groups of rows in plain queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import duckdb_type
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, cast, is_number
from muntin_engine.backends.local.expressions.translator import Translator

Aggregate = Callable[[Translator, exp.Expr, DuckdbExpression], DuckdbExpression]


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether a node is an aggregate."""
    return isinstance(node, exp.AggFunc | exp.Filter)


def aggregate_of(translator: Translator, node: exp.Expr, condition: DuckdbExpression | None) -> DuckdbExpression:
    """Translate an aggregate.

    Args:
        translator: Translates what it aggregates.
        node: The aggregate.
        condition: The condition of WHERE, which holds for all rows; None without one.

    Raises:
        QueryError: It has no translation of the same meaning.
    """
    if isinstance(node, exp.Count):
        return _count(translator, node)
    aggregate = _AGGREGATES.get(type(node))
    if aggregate is None or node.expressions:
        raise translator.refusal(
            node, "is an aggregate that is not known to mean the same without Spark", "run the query on Spark"
        )
    value = translator.of(node.this)
    if condition is not None and value.may_raise:
        value = DuckdbExpression(f"(CASE WHEN {condition.sql} THEN {value.sql} END)", value.type, True)
    return aggregate(translator, node, value)


def _count(translator: Translator, node: exp.Count) -> DuckdbExpression:
    if isinstance(node.this, exp.Star):
        return DuckdbExpression("COUNT(*)", pa.int64())
    distinct = ""
    operand = node.this
    if isinstance(operand, exp.Distinct):
        distinct = "DISTINCT "
        if len(operand.expressions) != 1:
            raise translator.refusal(node, "counts several columns", "count one")
        operand = operand.expressions[0]
    if node.expressions:
        raise translator.refusal(node, "counts several columns", "count one")
    value = translator.of(operand)
    if distinct and pa.types.is_nested(value.type):
        raise translator.type_refusal(node, value)
    return DuckdbExpression(f"COUNT({distinct}{value.sql})", pa.int64(), value.may_raise)


def _sum(translator: Translator, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
    if not is_number(value.type):
        raise translator.type_refusal(node, value)
    if pa.types.is_integer(value.type):
        result = pa.int64()
    elif pa.types.is_decimal(value.type):
        result = pa.decimal128(min(value.type.precision + 10, 38), value.type.scale)
    else:
        result = pa.float64()
        value = cast(value, result)
    return DuckdbExpression(f"CAST(SUM({value.sql}) AS {duckdb_type(result)})", result, True)


def _average(translator: Translator, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
    if not is_number(value.type) or pa.types.is_decimal(value.type):
        raise translator.refusal(node, "is an average of decimals, or of no numbers", "cast them to double")
    return DuckdbExpression(f"AVG({cast(value, pa.float64()).sql})", pa.float64(), value.may_raise)


def _least(translator: Translator, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
    return _extreme(translator, node, value, "MIN")


def _greatest(translator: Translator, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
    return _extreme(translator, node, value, "MAX")


def _extreme(translator: Translator, node: exp.Expr, value: DuckdbExpression, function: str) -> DuckdbExpression:
    if pa.types.is_nested(value.type) or pa.types.is_null(value.type):
        raise translator.type_refusal(node, value)
    return DuckdbExpression(f"{function}({value.sql})", value.type, value.may_raise)


_AGGREGATES: Final[Mapping[type[exp.Expr], Aggregate]] = {
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _least,
    exp.Max: _greatest,
}
"""The aggregates of one operand, by their nodes."""
