"""Sums, products and quotients of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import LENGTH, duckdb_type
from muntin_engine.backends.local.expressions.casts import null_if_it_fails
from muntin_engine.backends.local.expressions.duckdb_expression import (
    DIGITS,
    DuckdbExpression,
    any_raises,
    cast,
    common_type,
    is_number,
    unless_null,
)
from muntin_engine.backends.local.expressions.literals import digits_of, number
from muntin_engine.backends.local.expressions.times import moved_by_months, product_of_length, sum_of_times
from muntin_engine.backends.local.expressions.translator import Translator, function_rule, rule
from muntin_engine.backends.planning.field_types import MOST_DIGITS

_OPERATIONS: Final[Mapping[str, str]] = {"+": "add", "-": "subtract", "*": "multiply"}
"""The functions of DuckDB that are operators, by their signs."""


_SUMS: Final[Mapping[type[exp.Binary], str]] = {exp.Add: "+", exp.Sub: "-"}
"""The signs of sums and differences."""

_ATTEMPTED: Final[Mapping[type[exp.Func], type[exp.Binary]]] = {
    exp.SafeAdd: exp.Add,
    exp.SafeSubtract: exp.Sub,
    exp.SafeMultiply: exp.Mul,
    exp.SafeDivide: exp.Div,
}
"""The operations of functions such as `try_add`, which are null where they fail."""


@rule(*_SUMS)
def _translate_sum(translator: Translator, node: exp.Binary) -> DuckdbExpression:
    """Translate a sum or a difference of numbers, or of times and lengths of time."""
    sign = _SUMS[type(node)]
    left = translator.translate(node.this)
    # A time that is moved by months comes first: an interval of months has no value, so that the right operand alone
    # could not be translated.
    moved = moved_by_months(left, sign, node.expression)
    if moved is not None:
        return moved
    right = translator.translate(node.expression)
    time_or_length = sum_of_times(translator, node, sign, left, right)
    if time_or_length is not None:
        return time_or_length
    # Without times and lengths, it has to be a sum of numbers.
    left, right = _as_numbers(translator, node, left, right)
    if pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type):
        # Spark's type of a sum: behind the point the digits of the finer operand, and before it one more, for a carry.
        scale = max(left.type.scale, right.type.scale)
        whole = max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
        result = _decimal_result(translator, node, whole + scale + 1, scale)
    else:
        result = _common_number(translator, node, left, right)
    return _arithmetic(left, sign, right, result)


@rule(exp.Mul)
def _translate_product(translator: Translator, node: exp.Mul) -> DuckdbExpression:
    """Translate a product of numbers, or of a length of time and a number."""
    left = translator.translate(node.this)
    right = translator.translate(node.expression)
    if LENGTH in (left.type, right.type):
        return product_of_length(translator, node, left, right)
    left, right = _as_numbers(translator, node, left, right)
    if pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type):
        # Spark's type of a product: the digits of both operands and one more, and behind the point those of both.
        precision = left.type.precision + right.type.precision + 1
        scale = left.type.scale + right.type.scale
        result = _decimal_result(translator, node, precision, scale)
        # The left operand is widened: DuckDB multiplies in 64 bits, where a product may overflow, unless an operand
        # needs more.
        wide = pa.decimal128(MOST_DIGITS, left.type.scale)
        sql = f"CAST(multiply({cast(left, wide).sql}, {right.sql}) AS {duckdb_type(result)})"
        return DuckdbExpression(unless_null(left, right, sql), result, may_raise=True)
    return _arithmetic(left, "*", right, _common_number(translator, node, left, right))


@rule(exp.Div)
def _translate_quotient(translator: Translator, node: exp.Div) -> DuckdbExpression:
    """Translate a quotient, which is a double."""
    left, right = _numbers(translator, node)
    has_decimal = pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type)
    has_double = pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
    if has_decimal and not has_double:
        raise translator.refusal(node, "divides decimals, whose digits DuckDB does not keep", "cast one to double")
    left = cast(left, pa.float64())
    right = cast(right, pa.float64())
    return _divided(translator, node, left, right, divided=f"({left.sql} / {right.sql})", result=pa.float64())


@rule(exp.IntDiv)
def _translate_whole_quotient(translator: Translator, node: exp.IntDiv) -> DuckdbExpression:
    """Translate `a DIV b` of whole numbers."""
    left, right = _numbers(translator, node)
    if not (pa.types.is_integer(left.type) and pa.types.is_integer(right.type)):
        raise translator.type_refusal(node, left, right)
    left = cast(left, pa.int64())
    right = cast(right, pa.int64())
    return _divided(translator, node, left, right, divided=f"({left.sql} // {right.sql})", result=pa.int64())


@rule(exp.Mod)
def _translate_remainder(translator: Translator, node: exp.Mod) -> DuckdbExpression:
    """Translate `a % b`, whose sign is that of `a`."""
    left, right = _numbers(translator, node)
    has_decimal = pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type)
    has_double = pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
    if has_decimal and not has_double:
        raise translator.refusal(node, "divides decimals, whose digits DuckDB does not keep", "cast both to double")
    result = _common_number(translator, node, left, right)
    left = cast(left, result)
    right = cast(right, result)
    return _divided(translator, node, left, right, divided=f"({left.sql} % {right.sql})", result=result)


def _divided(
    translator: Translator,
    node: exp.Expr,
    left: DuckdbExpression,
    right: DuckdbExpression,
    *,
    divided: str,
    result: pa.DataType,
) -> DuckdbExpression:
    """Return a quotient or remainder that is an error where the divisor is zero, and null where an operand is null.

    Args:
        translator: The translator of the expression.
        node: The division, for the error.
        left: The dividend.
        right: The divisor.
        divided: The quotient or remainder in DuckDB's SQL, where the divisor is not zero.
        result: The type of the quotient or remainder.
    """
    zero = translator.failure(node, "'division by zero'")
    is_null = f"{right.sql} IS NULL OR {left.sql} IS NULL"
    sql = f"(CASE WHEN {is_null} THEN NULL WHEN {right.sql} = 0 THEN {zero} ELSE {divided} END)"
    return DuckdbExpression(sql, result, may_raise=True)


@rule(exp.Neg)
def _translate_negation(translator: Translator, node: exp.Neg) -> DuckdbExpression:
    """Translate a minus sign before a number or a length of time."""
    written_out = digits_of(node)
    # The minus of `-2147483648` is a part of the number, which is an int. `-(2147483648)` negates a bigint.
    if written_out is not None and not isinstance(node.this, exp.Paren):
        if isinstance(node.this, exp.Literal):
            return number(translator, node, written_out)
        # `-128Y` is parsed as a minus before a cast of 128 to tinyint, which 128 does not fit: the minus is moved into
        # the cast.
        typed_number = node.this.copy()
        typed_number.set("this", exp.Neg(this=node.this.this.copy()))
        return translator.translate(typed_number)
    value = translator.operand(node, node.this, _is_number_or_length)
    # For the smallest number of a type DuckDB returns a larger type, and Spark raises: so does the cast.
    return DuckdbExpression(f"CAST((-{value.sql}) AS {duckdb_type(value.type)})", value.type, may_raise=True)


@function_rule("positive")
def _translate_plus_sign(translator: Translator, node: exp.Anonymous) -> DuckdbExpression:
    """Translate a plus sign before a number or a length of time, which changes nothing."""
    return translator.operand(node, node.expressions[0], _is_number_or_length)


def _is_number_or_length(data_type: pa.DataType) -> bool:
    """Return True for the types that have a sign."""
    return is_number(data_type) or data_type == LENGTH


def _numbers(translator: Translator, node: exp.Binary) -> tuple[DuckdbExpression, DuckdbExpression]:
    """Translate the two operands, which have to be numbers; a whole number beside a decimal becomes a decimal.

    Raises:
        QueryError: An operand is of another type.
    """
    return _as_numbers(translator, node, translator.translate(node.this), translator.translate(node.expression))


def _as_numbers(
    translator: Translator, node: exp.Binary, left: DuckdbExpression, right: DuckdbExpression
) -> tuple[DuckdbExpression, DuckdbExpression]:
    """Return two translated operands, which have to be numbers; a whole number beside a decimal becomes a decimal.

    Raises:
        QueryError: An operand is of another type.
    """
    if not (is_number(left.type) and is_number(right.type)):
        raise translator.type_refusal(node, left, right)
    if pa.types.is_decimal(left.type) and pa.types.is_integer(right.type):
        right = _as_decimal(translator, node.expression, right)
    elif pa.types.is_decimal(right.type) and pa.types.is_integer(left.type):
        left = _as_decimal(translator, node.this, left)
    return left, right


def _as_decimal(translator: Translator, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
    """Cast a whole number that stands beside a decimal to a decimal, as Spark does.

    The decimal has the digits of a number that is written out, and otherwise those that its type may have.

    Args:
        translator: The translator of the expression.
        node: The number as it is written.
        value: The translated number.
    """
    digits = DIGITS[value.type]
    written_out = digits_of(node)
    if written_out is not None and value.type != pa.int8():  # Spark does not look at the digits of `5Y`
        digits = len(str(abs(int(written_out))))
    return cast(value, pa.decimal128(digits, 0))


def _decimal_result(translator: Translator, node: exp.Expr, precision: int, scale: int) -> pa.DataType:
    """Return the decimal type of a result.

    Args:
        translator: The translator of the expression.
        node: The operation, for the error.
        precision: The most digits that the result may have.
        scale: The digits of them behind the point.

    Raises:
        QueryError: The result may have more digits than a decimal, and Spark would round some of them off.
    """
    if precision > MOST_DIGITS:
        raise translator.refusal(
            node, f"has up to {precision} digits, of which Spark drops some", "cast its parts to fewer digits"
        )
    return pa.decimal128(precision, scale)


def _common_number(
    translator: Translator, node: exp.Expr, left: DuckdbExpression, right: DuckdbExpression
) -> pa.DataType:
    """Return the type of numbers in which Spark computes with two operands.

    Raises:
        QueryError: Spark has no such type, or it is not known.
    """
    common = common_type(left.type, right.type)
    if common is None:
        raise translator.type_refusal(node, left, right)
    return common


def _arithmetic(left: DuckdbExpression, sign: str, right: DuckdbExpression, result: pa.DataType) -> DuckdbExpression:
    """Add, subtract or multiply two numbers in the type of the result.

    A result that does not fit its type is an error when it is computed; a float that is too large becomes infinite.

    Args:
        left: The left number.
        sign: `+`, `-` or `*`.
        right: The right number.
        result: The type of the result.
    """
    left_sql = cast(left, result).sql
    right_sql = cast(right, result).sql
    # Written as functions and not as operators: DuckDB would make `a > 4` of `a + 1 > 5`, and miss an overflow.
    sql = f"{_OPERATIONS[sign]}({left_sql}, {right_sql})"
    if pa.types.is_decimal(result):
        sql = f"CAST({sql} AS {duckdb_type(result)})"
    may_raise = not pa.types.is_floating(result) or left.may_raise or right.may_raise
    return DuckdbExpression(unless_null(left, right, sql), result, may_raise=may_raise)


@rule(*_ATTEMPTED)
def _translate_attempt(translator: Translator, node: exp.Func) -> DuckdbExpression:
    """Translate `try_add` and its like, which are null where the operation fails.

    Only the operation itself may fail: `try_add(1 / x, 2)` is an error on Spark where x is 0. The translation could not
    tell the two apart, so operands that may fail are refused.
    """
    operands = [translator.translate(node.this), translator.translate(node.expression)]
    if any_raises(*operands):
        raise translator.refusal(node, "computes with what may fail itself", "compute with columns")
    # The plain operation, translated so that a row that it fails on is null.
    operation = _ATTEMPTED[type(node)]
    plain_node = operation(this=node.this.copy(), expression=node.expression.copy())
    return null_if_it_fails(translator.leniently().translate(plain_node))
