"""Columns, fields of structs, and values that are written out."""

from __future__ import annotations

import math
import re
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import duckdb_type, text_literal
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translator import Translator, rule, spark_text
from muntin_engine.backends.planning.field_types import MOST_DIGITS

IS_WRITTEN_OUT: Final = "is_written_out"
"""Marks a cast in the tree that is the end of a number: the `L` of `3L`."""


@rule(exp.Column)
def _translate_column(translator: Translator, node: exp.Column) -> DuckdbExpression:
    return translator.column(node, [part.name for part in node.parts])


@rule(exp.Dot)
def _translate_field_after_dot(translator: Translator, node: exp.Dot) -> DuckdbExpression:
    """Translate a field of a struct that follows a dot, such as `(a).b`."""
    if isinstance(node.expression, exp.Func):
        name = spark_text(node).partition("(")[0]
        raise translator.mistake(
            node,
            f"calls {name}, and names of functions have no dot in SQL",
            f"write {name.replace('.', '_').lower()}(...)",
        )
    value = translator.translate(node.this)
    return translator.field(node, value, node.expression.name)


@rule(exp.Literal)
def _translate_literal(translator: Translator, node: exp.Literal) -> DuckdbExpression:
    """Translate text or a number that is written out."""
    if node.is_string:
        return DuckdbExpression(text_literal(node.this), pa.string(), literal=node.this)
    return number(translator, node, node.this)


def number(translator: Translator, node: exp.Expr, digits: str) -> DuckdbExpression:
    """Translate a number that is written out, in the type that Spark gives it.

    A whole number is an int or a bigint, or a decimal if it is larger. A number with a point is a decimal, and one with
    an exponent a double.

    Args:
        translator: The translator of the expression, for errors.
        node: The node of the number.
        digits: The number as it is written, perhaps with a minus sign.

    Raises:
        QueryError: The number has too many digits for a decimal, or is too large for a double.
    """
    if re.fullmatch(r"-?[0-9]+", digits):
        for integer in (pa.int32(), pa.int64()):
            first_too_large = 2 ** (integer.bit_width - 1)
            if -first_too_large <= int(digits) < first_too_large:
                return DuckdbExpression(f"CAST({digits} AS {duckdb_type(integer)})", integer)
        return _decimal(translator, node, digits, scale=0)
    if re.fullmatch(r"-?[0-9]*\.[0-9]*", digits):
        return _decimal(translator, node, digits, scale=len(digits.partition(".")[2]))
    if math.isinf(float(digits)):
        raise translator.refusal(node, "is no double", "expected: a number of at most 1.8e308")
    return DuckdbExpression(f"CAST({digits} AS DOUBLE)", pa.float64())


def digits_of(node: exp.Expr) -> str | None:
    """Return the digits and the sign of a number that is written out, such as `-3` or `3L`; None for other nodes."""
    while isinstance(node, exp.Paren):
        node = node.this
    sign = ""
    if isinstance(node, exp.Neg):
        sign = "-"
        node = node.this
    if node.meta.get(IS_WRITTEN_OUT):  # the cast that sqlglot makes of `3L`
        node = node.this
    if isinstance(node, exp.Literal) and not node.is_string:
        return f"{sign}{node.this}"
    return None


def _decimal(translator: Translator, node: exp.Expr, digits: str, scale: int) -> DuckdbExpression:
    """Translate a number that is a decimal, of as many digits as are written.

    Args:
        translator: The translator of the expression, for errors.
        node: The node of the number.
        digits: The number as it is written, perhaps with a minus sign.
        scale: The number of its digits behind the point.

    Raises:
        QueryError: The number has too many digits.
    """
    digits_before_point = digits.partition(".")[0].lstrip("-0")  # without the sign, and without zeros before others
    precision = max(len(digits_before_point) + scale, 1)  # a decimal has a digit at least, also that of `0`
    if precision > MOST_DIGITS:
        raise translator.refusal(node, f"has {precision} digits", f"expected: at most {MOST_DIGITS}")
    kind = pa.decimal128(precision, scale)
    return DuckdbExpression(f"CAST('{digits}' AS {duckdb_type(kind)})", kind)


@rule(exp.Boolean)
def _translate_boolean(translator: Translator, node: exp.Boolean) -> DuckdbExpression:
    return DuckdbExpression("TRUE" if node.this else "FALSE", pa.bool_())


@rule(exp.Null)
def _translate_null(translator: Translator, node: exp.Null) -> DuckdbExpression:
    del node
    return DuckdbExpression("NULL", pa.null())


@rule(exp.Paren)
def _translate_parentheses(translator: Translator, node: exp.Paren) -> DuckdbExpression:
    return translator.translate(node.this)
