"""Comparisons, and values of several types as values of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import LOCAL_TIME, duckdb_type, spelled, text_literal
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DuckdbExpression,
    any_raises,
    cast,
    common_type,
    unless_null,
)
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule

NULL_SAFE: Final = "IS NOT DISTINCT FROM"
_NULL_SAFE_UNEQUAL: Final = "IS DISTINCT FROM"


_SIGNS: Final[Mapping[type[exp.Binary], str]] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: NULL_SAFE,
    exp.NullSafeNEQ: _NULL_SAFE_UNEQUAL,
}
"""The signs of comparisons in DuckDB's SQL."""

_NULL_TESTS: Final[Mapping[str, str]] = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
"""The functions that test for null, as conditions."""


@rule(*_SIGNS)
def _translate_comparison(translator: Translator, node: exp.Binary) -> DuckdbExpression:
    """Translate a comparison of two values, in the one type that they share."""
    sign = _SIGNS[type(node)]
    left, right = in_one_type(translator, node, [node.this, node.expression])
    sql = f"({left.sql} {sign} {right.sql})"
    if sign not in (NULL_SAFE, _NULL_SAFE_UNEQUAL):  # these compare nulls, too, and so need both operands
        sql = unless_null(left, right, sql)
    return DuckdbExpression(sql, pa.bool_(), may_raise=any_raises(left, right))


@function_rule(*_NULL_TESTS)
def _translate_null_test(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `isnull(x)` or `isnotnull(x)`."""
    value = translator.translate(node.expressions[0])
    test = _NULL_TESTS[node.name.casefold()]
    return DuckdbExpression(f"({value.sql} {test})", pa.bool_(), may_raise=value.may_raise)


@rule(exp.Between)
def _translate_between(translator: Translator, node: exp.Between) -> DuckdbExpression:
    """Translate `x BETWEEN low AND high`."""
    value, low, high = in_one_type(translator, node, [node.this, node.args["low"], node.args["high"]])
    sql = f"({value.sql} BETWEEN {low.sql} AND {high.sql})"
    return DuckdbExpression(sql, pa.bool_(), may_raise=any_raises(value, low, high))


@rule(exp.In)
def _translate_in(translator: Translator, node: exp.In) -> DuckdbExpression:
    """Translate `x IN (...)`, over values that are listed."""
    if not node.expressions:
        raise translator.refusal(node, "looks into a query", "list the values: x IN (1, 2)")
    value, *choices = in_one_type(translator, node, [node.this, *node.expressions])
    listed = ", ".join(choice.sql for choice in choices)
    return DuckdbExpression(f"({value.sql} IN ({listed}))", pa.bool_(), may_raise=any_raises(value, *choices))


@rule(exp.Is)
def _translate_is(translator: Translator, node: exp.Is) -> DuckdbExpression:
    """Translate `x IS TRUE`, `x IS FALSE` or `x IS NULL`."""
    value = translator.translate(node.this)
    if isinstance(node.expression, exp.Boolean) and pa.types.is_boolean(value.type):
        word = "TRUE" if node.expression.this else "FALSE"
        return DuckdbExpression(f"({value.sql} IS {word})", pa.bool_(), may_raise=value.may_raise)
    if not isinstance(node.expression, exp.Null):
        raise translator.refusal(node, "is a comparison with more than NULL", "write x = true, or x IS NULL")
    return DuckdbExpression(f"({value.sql} IS NULL)", pa.bool_(), may_raise=value.may_raise)


def in_one_type(translator: Translator, node: exp.Expr, operands: Sequence[exp.Expr]) -> list[DuckdbExpression]:
    """Translate operands in the one type in which Spark compares them or chooses among them.

    Args:
        translator: The translator of the expression.
        node: The node that compares or chooses, for errors.
        operands: The operands.

    Raises:
        QueryError: Spark has no such type, or it is not known to mean the same without Spark.
    """
    values = [translator.translate(operand) for operand in operands]
    common = values[0].type
    for value in values[1:]:
        joint = common_type(common, value.type)
        if joint is None:
            raise translator.type_refusal(node, *values)
        common = joint
    # Spark reads text beside a time as a time. Here only text that is written out is read so: for a column of text,
    # Spark has rules for each row, which are not translated.
    if not all(_is_castable(value, common) for value in values):
        raise translator.type_refusal(node, *values)
    typed_values: list[DuckdbExpression] = []
    for operand, value in zip(operands, values, strict=True):
        typed_values.append(_as_type(translator, operand, value, common))
    return typed_values


def _as_type(translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> DuckdbExpression:
    """Return a value in the common type of a comparison; a literal of text beside a time is read as a time."""
    if value.literal is not None and not pa.types.is_string(target):
        return literal_as(translator, node, value.literal, target)
    return cast(value, target)


def literal_as(translator: Translator, node: exp.Expr, text: str, target: pa.DataType) -> DuckdbExpression:
    """Translate text that is written out, and is compared with a date or a time or cast to one, as a date or a time.

    Args:
        translator: The translator of the expression, for errors.
        node: The comparison or the cast.
        text: The text, as ISO 8601 writes a time or a date.
        target: The type of the date or the time.

    Raises:
        NeedsSparkError: The text is no date or time, or has a zone and is compared with times that have none.
    """
    stripped = text.strip()
    try:
        if pa.types.is_date(target):
            return DuckdbExpression(f"DATE '{date.fromisoformat(stripped).isoformat()}'", target)
        moment = datetime.fromisoformat(stripped)
    except ValueError as error:
        raise translator.refusal(
            node, f"is no {spelled(target)}", "write it as '2024-05-01' or '2024-05-01 12:30:00'"
        ) from error
    if moment.tzinfo is not None and target == LOCAL_TIME:
        raise translator.refusal(node, "has a zone, and is compared with times that have none", "leave the zone out")
    return DuckdbExpression(f"CAST({text_literal(moment.isoformat(sep=' '))} AS {duckdb_type(target)})", target)


def _is_castable(value: DuckdbExpression, target: pa.DataType) -> bool:
    """True if a value can be cast to the common type of a comparison: text only if it is a literal."""
    is_text = pa.types.is_string(value.type) and not pa.types.is_string(target)
    return not is_text or value.literal is not None
