"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import duckdb_type
from muntin_engine.backends.local.expressions.comparisons import in_one_type
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DuckdbExpression,
    any_raises,
    cast,
    is_number,
    unless_null,
)
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule
from muntin_engine.backends.planning.field_types import MOST_DIGITS

_NAN: Final = "CAST('NaN' AS DOUBLE)"
_MOST_DECIMALS: Final = 15
_WHOLE_FROM: Final = "1e15"
"""Doubles of this size and above have no digits behind the point that rounding could change."""

_OF_DOUBLES: Final[Mapping[type[exp.Expr], str]] = {
    exp.Sqrt: f"(CASE WHEN {{0}} < 0 THEN {_NAN} ELSE SQRT({{0}}) END)",
    exp.Exp: "EXP({0})",
    exp.Ln: "(CASE WHEN {0} > 0 THEN LN({0}) END)",
    exp.Cbrt: "CBRT({0})",
    exp.Sin: f"(CASE WHEN ISFINITE({{0}}) THEN SIN({{0}}) WHEN {{0}} IS NOT NULL THEN {_NAN} END)",
    exp.Cos: f"(CASE WHEN ISFINITE({{0}}) THEN COS({{0}}) WHEN {{0}} IS NOT NULL THEN {_NAN} END)",
    exp.Tan: f"(CASE WHEN ISFINITE({{0}}) THEN TAN({{0}}) WHEN {{0}} IS NOT NULL THEN {_NAN} END)",
    exp.Asin: f"(CASE WHEN ABS({{0}}) <= 1 THEN ASIN({{0}}) WHEN {{0}} IS NOT NULL THEN {_NAN} END)",
    exp.Acos: f"(CASE WHEN ABS({{0}}) <= 1 THEN ACOS({{0}}) WHEN {{0}} IS NOT NULL THEN {_NAN} END)",
    exp.Atan: "ATAN({0})",
    exp.Radians: "RADIANS({0})",
    exp.Degrees: "DEGREES({0})",
    exp.Sign: (
        "(CASE WHEN ISNAN({0}) OR {0} = 0 THEN {0} WHEN {0} > 0 THEN CAST(1 AS DOUBLE)"
        " WHEN {0} < 0 THEN CAST(-1 AS DOUBLE) END)"
    ),
}
"""Functions of one double in DuckDB's SQL: not a number, or null, where Spark says so and DuckDB raises."""


_OF_TWO_DOUBLES: Final[Mapping[type[exp.Expr], str]] = {exp.Pow: "POW", exp.Atan2: "ATAN2"}
"""Functions of two doubles in DuckDB's SQL."""

_OF_BITS: Final[Mapping[type[exp.Binary], str]] = {
    exp.BitwiseAnd: "({} & {})",
    exp.BitwiseOr: "({} | {})",
    exp.BitwiseXor: "xor({}, {})",
}
"""Operations on the bits of two whole numbers in DuckDB's SQL."""

_TO_WHOLE_NUMBERS: Final[Mapping[type[exp.Func], str]] = {exp.Ceil: "CEIL", exp.Floor: "FLOOR"}
"""The functions that make whole numbers."""


@rule(*_OF_DOUBLES)
def _translate_function_of_double(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Translate a function of one number, such as `sqrt(x)`, which is computed with doubles."""
    value = cast(number_in(translator, node), pa.float64())
    return DuckdbExpression(_OF_DOUBLES[type(node)].format(value.sql), pa.float64(), may_raise=value.may_raise)


@rule(exp.Pi)
def _translate_pi(translator: Translator, node: exp.Pi) -> DuckdbExpression:
    del translator, node
    return DuckdbExpression("PI()", pa.float64())


@rule(exp.Log)
def _translate_log(translator: Translator, node: exp.Log) -> DuckdbExpression:
    """Translate `log(base, x)`, which is null where a logarithm has no value."""
    base, value = _doubles(translator, node)
    sql = f"(CASE WHEN {base.sql} > 0 AND {value.sql} > 0 THEN LN({value.sql}) / LN({base.sql}) END)"
    return DuckdbExpression(sql, pa.float64(), may_raise=any_raises(base, value))


@function_rule("log10")
def _translate_log10(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `log10(x)`, which is exact for powers of ten; `log(10, x)`, a quotient of logarithms, is not."""
    (operand,) = node.expressions
    value = translator.operand(node, operand, is_number)
    double = cast(value, pa.float64())
    sql = f"(CASE WHEN {double.sql} > 0 THEN LOG10({double.sql}) END)"
    return DuckdbExpression(sql, pa.float64(), may_raise=value.may_raise)


@rule(*_OF_TWO_DOUBLES)
def _translate_function_of_two_doubles(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Translate a function of two numbers, such as `pow(x, y)`, which is computed with doubles."""
    left, right = _doubles(translator, node)
    sql = unless_null(left, right, f"{_OF_TWO_DOUBLES[type(node)]}({left.sql}, {right.sql})")
    return DuckdbExpression(sql, pa.float64(), may_raise=any_raises(left, right))


def _doubles(translator: Translator, node: exp.Expr) -> tuple[DuckdbExpression, DuckdbExpression]:
    """Translate the two operands of a function of numbers, as doubles.

    Raises:
        QueryError: An operand is no number.
    """
    left = translator.translate(node.this)
    right = translator.translate(node.expression)
    if not (is_number(left.type) and is_number(right.type)):
        raise translator.type_refusal(node, left, right)
    return cast(left, pa.float64()), cast(right, pa.float64())


@rule(exp.Round)
def _translate_round(translator: Translator, node: exp.Round) -> DuckdbExpression:
    """Translate `round(x, places)`, which rounds halves away from zero; refuse floats, and places that are computed."""
    value = number_in(translator, node)
    decimals = node.args.get("decimals") or exp.Literal.number(0)
    is_written_out = isinstance(decimals, exp.Literal) and decimals.this.isdigit()
    if not is_written_out or int(decimals.this) > _MOST_DECIMALS or value.type == pa.float32():
        raise translator.refusal(
            node,
            f"rounds a float, or to digits that are not written out as 0 to {_MOST_DECIMALS}",
            "write ROUND(x, 2), and cast x to double",
        )
    places = int(decimals.this)
    if pa.types.is_integer(value.type):
        return value
    if pa.types.is_decimal(value.type):
        # One digit more before the point, for a carry: 9.95 becomes 10.0.
        scale = min(value.type.scale, places)
        digits_before_point = value.type.precision - value.type.scale + 1
        result = pa.decimal128(min(digits_before_point + scale, MOST_DIGITS), scale)
        return DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(result)})", result, may_raise=value.may_raise)
    # Spark rounds the digits with which a double is written, and not the number that it is exactly: 2.675 to 2.68.
    digits = f"CAST(CAST({value.sql} AS VARCHAR) AS DECIMAL({MOST_DIGITS},{places}))"
    is_whole = f"NOT ISFINITE({value.sql}) OR ABS({value.sql}) >= {_WHOLE_FROM}"
    sql = f"(CASE WHEN {is_whole} THEN {value.sql} ELSE CAST(CAST({digits} AS VARCHAR) AS DOUBLE) END)"
    return DuckdbExpression(sql, pa.float64(), may_raise=value.may_raise)


@function_rule("pmod", arguments=(2,))
def _translate_pmod(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate `pmod(a, b)` of whole numbers."""
    left, right = in_one_type(translator, node, node.expressions)
    if not pa.types.is_integer(left.type):
        raise translator.type_refusal(node, left, right)
    zero = translator.failure(node, "'division by zero'")
    # A remainder has the sign of the dividend. Where it is negative, `pmod` adds the divisor to it.
    remainder = f"({left.sql} % {right.sql})"
    positive = f"(CASE WHEN {remainder} < 0 THEN ({remainder} + {right.sql}) % {right.sql} ELSE {remainder} END)"
    is_null = f"{left.sql} IS NULL OR {right.sql} IS NULL"
    sql = f"(CASE WHEN {is_null} THEN NULL WHEN {right.sql} = 0 THEN {zero} ELSE {positive} END)"
    return DuckdbExpression(f"CAST({sql} AS {duckdb_type(left.type)})", left.type, may_raise=True)


@rule(*_OF_BITS)
def _translate_operation_on_bits(translator: Translator, node: exp.Binary) -> DuckdbExpression:
    """Translate `&`, `|` or `^` of two whole numbers."""
    left, right = in_one_type(translator, node, [node.this, node.expression])
    if not pa.types.is_integer(left.type):
        raise translator.type_refusal(node, left, right)
    sql = unless_null(left, right, _OF_BITS[type(node)].format(left.sql, right.sql))
    return DuckdbExpression(sql, left.type, may_raise=any_raises(left, right))


@rule(exp.BitwiseNot)
def _translate_bitwise_not(translator: Translator, node: exp.BitwiseNot) -> DuckdbExpression:
    """Translate `~n`, which turns all bits of a whole number."""
    value = translator.operand(node, node.this, pa.types.is_integer)
    return DuckdbExpression(f"(~{value.sql})", value.type, may_raise=value.may_raise)


@rule(exp.Nanvl)
def _translate_nanvl(translator: Translator, node: exp.Nanvl) -> DuckdbExpression:
    """Translate `nanvl(x, y)`: `y` where `x` is not a number, and `x` elsewhere."""
    value, other = in_one_type(translator, node, [node.this, node.expression])
    if not pa.types.is_floating(value.type):
        raise translator.type_refusal(node, value, other)
    sql = f"(CASE WHEN ISNAN({value.sql}) THEN {other.sql} ELSE {value.sql} END)"
    return DuckdbExpression(sql, value.type, may_raise=any_raises(value, other))


@rule(exp.Abs)
def _translate_abs(translator: Translator, node: exp.Abs) -> DuckdbExpression:
    value = number_in(translator, node)
    return DuckdbExpression(f"ABS({value.sql})", value.type, may_raise=True)


@rule(*_TO_WHOLE_NUMBERS)
def _translate_ceil_or_floor(translator: Translator, node: exp.Func) -> DuckdbExpression:
    """Translate `ceil` or `floor`, whose result is a whole number or a decimal without places."""
    function = _TO_WHOLE_NUMBERS[type(node)]
    value = number_in(translator, node)
    if node.args.get("decimals") is not None:
        raise translator.type_refusal(node, value)
    if pa.types.is_decimal(value.type):
        result = pa.decimal128(min(value.type.precision - value.type.scale + 1, MOST_DIGITS), 0)
        return DuckdbExpression(
            f"CAST({function}({value.sql}) AS {duckdb_type(result)})", result, may_raise=value.may_raise
        )
    sql = f"CAST({function}({value.sql}) AS BIGINT)"
    if pa.types.is_floating(value.type):
        sql = f"(CASE WHEN ISNAN({value.sql}) THEN 0 ELSE {sql} END)"  # as on Spark
    return DuckdbExpression(sql, pa.int64(), may_raise=value.may_raise or pa.types.is_floating(value.type))


def number_in(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Translate the first operand of a node, which has to be a number.

    Raises:
        QueryError: The operand is of another type.
    """
    return translator.operand(node, node.this, is_number)


@rule(exp.IsNan)
def _translate_isnan(translator: Translator, node: exp.IsNan) -> DuckdbExpression:
    """Translate `isnan(x)`, which is false of null."""
    value = cast(number_in(translator, node), pa.float64())
    return DuckdbExpression(f"COALESCE(ISNAN({value.sql}), FALSE)", pa.bool_(), may_raise=value.may_raise)
