"""Functions of numbers."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, cast, is_number
from muntin_engine.backends.local.expressions.translator import Translator, rule

_PAST_INT64: Final = "CAST(9223372036854775808 AS DOUBLE)"


@rule(exp.Abs)
def _(translator: Translator, node: exp.Abs) -> DuckdbExpression:
    value = number_in(translator, node)
    return DuckdbExpression(f"ABS({value.sql})", value.type, True)


@rule(exp.Ceil)
def _(translator: Translator, node: exp.Ceil) -> DuckdbExpression:
    return _rounded(translator, node, "CEIL")


@rule(exp.Floor)
def _(translator: Translator, node: exp.Floor) -> DuckdbExpression:
    return _rounded(translator, node, "FLOOR")


def _rounded(translator: Translator, node: exp.Ceil | exp.Floor, function: str) -> DuckdbExpression:
    value = number_in(translator, node)
    if node.args.get("decimals") is not None or pa.types.is_decimal(value.type):
        raise translator.type_refusal(node, value)
    sql = f"CAST({function}({value.sql}) AS BIGINT)"
    if pa.types.is_floating(value.type):
        # Spark takes the nearest whole number of 64 bits where there is none, and 0 of NaN.
        below, above = f"{value.sql} < -{_PAST_INT64}", f"{value.sql} >= {_PAST_INT64}"
        sql = (
            f"(CASE WHEN ISNAN({value.sql}) THEN 0 WHEN {below} THEN -9223372036854775807 - 1"
            f" WHEN {above} THEN 9223372036854775807 ELSE {sql} END)"
        )
    return DuckdbExpression(sql, pa.int64(), value.may_raise)


@rule(exp.Sqrt)
def _(translator: Translator, node: exp.Sqrt) -> DuckdbExpression:
    value = cast(number_in(translator, node), pa.float64())
    return DuckdbExpression(f"SQRT({value.sql})", pa.float64(), value.may_raise)


@rule(exp.Exp)
def _(translator: Translator, node: exp.Exp) -> DuckdbExpression:
    value = cast(number_in(translator, node), pa.float64())
    return DuckdbExpression(f"EXP({value.sql})", pa.float64(), value.may_raise)


def number_in(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Return the first operand of a node, which is a number."""
    value = translator.of(node.this)
    if not is_number(value.type):
        raise translator.type_refusal(node, value)
    return value


@rule(exp.IsNan)
def _(translator: Translator, node: exp.IsNan) -> DuckdbExpression:
    value = cast(number_in(translator, node), pa.float64())
    # Spark's isnan is false of null.
    return DuckdbExpression(f"COALESCE(ISNAN({value.sql}), FALSE)", pa.bool_(), value.may_raise)
