"""Functions of text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, any_raises
from muntin_engine.backends.local.expressions.translator import Translator, rule


@rule(exp.Upper)
def _(translator: Translator, node: exp.Upper) -> DuckdbExpression:
    return _of_text(translator, node, "UPPER")


@rule(exp.Lower)
def _(translator: Translator, node: exp.Lower) -> DuckdbExpression:
    return _of_text(translator, node, "LOWER")


@rule(exp.Length)
def _(translator: Translator, node: exp.Length) -> DuckdbExpression:
    value = _of_text(translator, node, "LENGTH")
    return DuckdbExpression(f"CAST({value.sql} AS INTEGER)", pa.int32(), value.may_raise)


@rule(exp.StartsWith)
def _(translator: Translator, node: exp.StartsWith) -> DuckdbExpression:
    return _test_of_text(translator, node, "STARTS_WITH", node.expression)


@rule(exp.EndsWith)
def _(translator: Translator, node: exp.EndsWith) -> DuckdbExpression:
    return _test_of_text(translator, node, "ENDS_WITH", node.expression)


@rule(exp.Contains)
def _(translator: Translator, node: exp.Contains) -> DuckdbExpression:
    return _test_of_text(translator, node, "CONTAINS", node.expression)


@rule(exp.Concat)
def _(translator: Translator, node: exp.Concat) -> DuckdbExpression:
    return _joined(translator, node, node.expressions)


@rule(exp.DPipe)
def _(translator: Translator, node: exp.DPipe) -> DuckdbExpression:
    return _joined(translator, node, [node.this, node.expression])


def _joined(translator: Translator, node: exp.Expr, operands: Sequence[exp.Expr]) -> DuckdbExpression:
    """Return texts one after the other, or null if one is: DuckDB's own `concat` leaves nulls out."""
    values = [text_in(translator, node, operand) for operand in operands]
    sql = " || ".join(f"CAST({value.sql} AS VARCHAR)" for value in values)
    return DuckdbExpression(f"({sql})", pa.string(), any_raises(*values))


def _of_text(translator: Translator, node: exp.Expr, function: str) -> DuckdbExpression:
    value = text_in(translator, node, node.this)
    return DuckdbExpression(f"{function}({value.sql})", pa.string(), value.may_raise)


def _test_of_text(translator: Translator, node: exp.Expr, function: str, other: exp.Expr) -> DuckdbExpression:
    values = [text_in(translator, node, operand) for operand in (node.this, other)]
    listed = ", ".join(value.sql for value in values)
    return DuckdbExpression(f"{function}({listed})", pa.bool_(), any_raises(*values))


def text_in(translator: Translator, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
    """Return an operand, which is text."""
    value = translator.of(operand)
    if not pa.types.is_string(value.type):
        raise translator.type_refusal(node, value)
    return value
