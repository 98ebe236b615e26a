"""Expressions in Spark's SQL, translated for DuckDB: with the same values and types, or refused.

The text is parsed by sqlglot in Spark's dialect. Each kind of node has one rule here; whatever has none is refused, so
that no expression means one thing on Spark and another in this process. Where the two systems differ, the rule says how
and writes what Spark does: integer division by zero is an error, a cast of a number truncates, an index begins at 0.

The types of values are Arrow's, as Spark's columns travel: `timestamp[us, tz=...]` is Spark's `timestamp`, without a
zone it is `timestamp_ntz`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import singledispatchmethod
from typing import Final

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import INSTANT, LOCAL_TIME, duckdb_type, quoted, spelled, text_literal

_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
"""The types of whole numbers, the smallest first."""

_DIGITS: Final[Mapping[pa.DataType, int]] = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
"""The digits of the decimal that Spark takes for each type of whole numbers."""

_MOST_DIGITS: Final = 38

_PAST_INT64: Final = "CAST(9223372036854775808 AS DOUBLE)"

_NULL_SAFE: Final = "IS NOT DISTINCT FROM"

_LENGTHS: Final[Mapping[str, int]] = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
"""The lengths of time in microseconds that an interval may be written in. A day is 24 hours, as Spark has it."""

_WHOLE_NUMBER: Final = r"\s*[+-]?[0-9]+\s*"
_NUMBER: Final = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_INSTANT_TEXT: Final = (
    r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?\s*"
)
_DATE_TEXT: Final = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"


@dataclass(frozen=True, slots=True)
class DuckdbExpression:
    """An expression in DuckDB's SQL.

    Attributes:
        sql: Its text.
        type: The Arrow type of its values.
        may_raise: True if it raises for some values, so that it must not be computed for rows that Spark leaves out.
        literal: The text of a string literal, which Spark reads as a date or a time where it is compared with one.
    """

    sql: str
    type: pa.DataType
    may_raise: bool = False
    literal: str | None = None


def translated(text: str, columns: pa.Schema) -> DuckdbExpression:
    """Translate an expression of Spark's SQL over columns.

    Args:
        text: The expression, such as `"km / 1.6 > 2"`.
        columns: The names and types of the columns that it may read.

    Raises:
        QueryError: It cannot be read, reads a column that is not there, or has no translation of the same meaning.

    Example:
        >>> columns = pa.schema([("km", pa.int32())])
        >>> translated("km > 2 AND km IS NOT NULL", columns).sql
        '((("km" > CAST(2 AS INTEGER))) AND (("km" IS NOT NULL)))'
    """
    try:
        node = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]
        raise QueryError(
            "{value!r} cannot be read as an expression in SQL: {reason}", value=text, reason=reason
        ) from error
    return _Translator(text, columns).of(node)


class _Translator:
    """Translates one expression, node by node."""

    def __init__(self, text: str, columns: pa.Schema) -> None:
        self._text = text
        self._columns = columns

    # ------------------------------------------------------------------------------------------------ what is refused

    def _refusal(self, node: exp.Expr, why: str, advice: str) -> QueryError:
        part = node.sql(dialect="spark")
        within = "" if part == self._text else f", in {self._text!r}"
        return QueryError("{value!r}{within} {why}\n  {advice}", value=part, within=within, why=why, advice=advice)

    def _refuse_types(self, node: exp.Expr, *operands: DuckdbExpression) -> QueryError:
        types = " and ".join(spelled(operand.type) for operand in operands)
        return self._refusal(
            node, f"takes {types}, and is not known to mean the same without Spark", "cast its parts to one type"
        )

    @singledispatchmethod
    def of(self, node: exp.Expr) -> DuckdbExpression:
        """Translate a node."""
        function = node.name if isinstance(node, exp.Anonymous) else node.key
        raise self._refusal(
            node,
            f"needs {function!r}, which is not known to mean the same without Spark",
            "compute the column before events(), or run the query on Spark",
        )

    # ----------------------------------------------------------------------------------------------- columns, literals

    @of.register
    def _(self, node: exp.Column) -> DuckdbExpression:
        path = [part.name for part in node.parts]
        return self._path(node, path)

    @of.register
    def _(self, node: exp.Dot) -> DuckdbExpression:
        value = self.of(node.this)
        return self._field(node, value, node.expression.name)

    def _path(self, node: exp.Expr, path: Sequence[str]) -> DuckdbExpression:
        name = path[0]
        alike = [field for field in self._columns if field.name.casefold() == name.casefold()]
        if len(alike) > 1:
            names = ", ".join(field.name for field in alike)
            raise self._refusal(node, f"may be any of {names}", "rename all but one of them before events()")
        if not alike:
            names = ", ".join(self._columns.names)
            raise self._refusal(node, "is not a column of the input", f"it has {names}")
        value = DuckdbExpression(quoted(alike[0].name), alike[0].type)
        for part in path[1:]:
            value = self._field(node, value, part)
        return value

    def _field(self, node: exp.Expr, value: DuckdbExpression, name: str) -> DuckdbExpression:
        if not pa.types.is_struct(value.type):
            raise self._refusal(
                node, f"reads {name!r} of {spelled(value.type)}", "name a column, or a field of a struct"
            )
        fields = [value.type.field(place) for place in range(value.type.num_fields)]
        for field in fields:
            if field.name.casefold() == name.casefold():
                return DuckdbExpression(f"({value.sql}).{quoted(field.name)}", field.type, value.may_raise)
        raise self._refusal(node, f"has no field {name!r}", f"it has {', '.join(field.name for field in fields)}")

    @of.register
    def _(self, node: exp.Literal) -> DuckdbExpression:
        if node.is_string:
            return DuckdbExpression(text_literal(node.this), pa.string(), literal=node.this)
        return self._number(node, node.this)

    def _number(self, node: exp.Expr, digits: str) -> DuckdbExpression:
        """Give a number the type that Spark gives it: what has a point is a decimal, what has an exponent a double."""
        if re.fullmatch(r"[0-9]+", digits):
            for integer in (pa.int32(), pa.int64()):
                if int(digits) < 2 ** (integer.bit_width - 1):
                    return DuckdbExpression(f"CAST({digits} AS {duckdb_type(integer)})", integer)
            return self._decimal(node, digits, 0)
        if re.fullmatch(r"[0-9]*\.[0-9]*", digits):
            return self._decimal(node, digits, len(digits.partition(".")[2]))
        return DuckdbExpression(f"CAST({digits} AS DOUBLE)", pa.float64())

    def _decimal(self, node: exp.Expr, digits: str, scale: int) -> DuckdbExpression:
        whole = digits.partition(".")[0].lstrip("0")
        precision = max(len(whole) + scale, 1)
        if precision > _MOST_DIGITS:
            raise self._refusal(node, f"has {precision} digits", f"expected: at most {_MOST_DIGITS}")
        kind = pa.decimal128(precision, scale)
        return DuckdbExpression(f"CAST('{digits}' AS {duckdb_type(kind)})", kind)

    @of.register
    def _(self, node: exp.Boolean) -> DuckdbExpression:
        return DuckdbExpression("TRUE" if node.this else "FALSE", pa.bool_())

    @of.register
    def _(self, node: exp.Null) -> DuckdbExpression:
        del node
        return DuckdbExpression("NULL", pa.null())

    @of.register
    def _(self, node: exp.Paren) -> DuckdbExpression:
        return self.of(node.this)

    # ------------------------------------------------------------------------------------------------------ arithmetic

    @of.register
    def _(self, node: exp.Add) -> DuckdbExpression:
        return self._sum(node, "+")

    @of.register
    def _(self, node: exp.Sub) -> DuckdbExpression:
        return self._sum(node, "-")

    def _sum(self, node: exp.Binary, sign: str) -> DuckdbExpression:
        if isinstance(node.expression, exp.Interval):
            return self._moved(node, sign)
        left, right = self._numbers(node)
        if pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type):
            scale = max(left.type.scale, right.type.scale)
            whole = max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
            result = self._decimal_result(node, whole + scale + 1, scale)
        else:
            result = self._common_number(node, left, right)
        return self._arithmetic(left, sign, right, result)

    @of.register
    def _(self, node: exp.Mul) -> DuckdbExpression:
        left, right = self._numbers(node)
        if pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type):
            precision = left.type.precision + right.type.precision + 1
            scale = left.type.scale + right.type.scale
            result = self._decimal_result(node, precision, scale)
            sql = f"CAST(({left.sql} * {right.sql}) AS {duckdb_type(result)})"
            return DuckdbExpression(_unless_null(left, right, sql), result, True)
        return self._arithmetic(left, "*", right, self._common_number(node, left, right))

    @of.register
    def _(self, node: exp.Div) -> DuckdbExpression:
        left, right = self._numbers(node)
        has_decimal = pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type)
        has_double = pa.types.is_floating(left.type) or pa.types.is_floating(right.type)
        if has_decimal and not has_double:
            raise self._refusal(node, "divides decimals, whose digits DuckDB does not keep", "cast one to double")
        left, right = (_cast(operand, pa.float64()) for operand in (left, right))
        return self._divided(left, right, f"({left.sql} / {right.sql})", pa.float64())

    @of.register
    def _(self, node: exp.IntDiv) -> DuckdbExpression:
        left, right = self._numbers(node)
        if not (pa.types.is_integer(left.type) and pa.types.is_integer(right.type)):
            raise self._refuse_types(node, left, right)
        left, right = (_cast(operand, pa.int64()) for operand in (left, right))
        return self._divided(left, right, f"({left.sql} // {right.sql})", pa.int64())

    @of.register
    def _(self, node: exp.Mod) -> DuckdbExpression:
        left, right = self._numbers(node)
        if pa.types.is_decimal(left.type) or pa.types.is_decimal(right.type):
            raise self._refusal(node, "divides decimals, whose digits DuckDB does not keep", "cast both to double")
        result = self._common_number(node, left, right)
        left, right = (_cast(operand, result) for operand in (left, right))
        return self._divided(left, right, f"({left.sql} % {right.sql})", result)

    def _divided(
        self, left: DuckdbExpression, right: DuckdbExpression, quotient: str, result: pa.DataType
    ) -> DuckdbExpression:
        """Return a quotient that is an error where the divisor is zero, unless the dividend is null."""
        zero = f"error({text_literal(f'DIVIDE_BY_ZERO: {self._text}')})"
        is_null = f"{right.sql} IS NULL OR {left.sql} IS NULL"
        sql = f"(CASE WHEN {is_null} THEN NULL WHEN {right.sql} = 0 THEN {zero} ELSE {quotient} END)"
        return DuckdbExpression(sql, result, True)

    @of.register
    def _(self, node: exp.Neg) -> DuckdbExpression:
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            value = self._number(node, node.this.this)
            return DuckdbExpression(f"(-{value.sql})", value.type)
        value = self.of(node.this)
        if not _is_number(value.type):
            raise self._refuse_types(node, value)
        # DuckDB negates the smallest whole number by taking a larger type, where Spark raises.
        return DuckdbExpression(f"CAST((-{value.sql}) AS {duckdb_type(value.type)})", value.type, True)

    def _numbers(self, node: exp.Binary) -> tuple[DuckdbExpression, DuckdbExpression]:
        left = self.of(node.this)
        right = self.of(node.expression)
        if not (_is_number(left.type) and _is_number(right.type)):
            raise self._refuse_types(node, left, right)
        if pa.types.is_decimal(left.type) and pa.types.is_integer(right.type):
            right = self._as_decimal(node.expression, right)
        elif pa.types.is_decimal(right.type) and pa.types.is_integer(left.type):
            left = self._as_decimal(node.this, left)
        return left, right

    def _as_decimal(self, node: exp.Expr, value: DuckdbExpression) -> DuckdbExpression:
        """Return a whole number beside a decimal: a literal has its own digits, a column those of its type."""
        digits = _DIGITS[value.type]
        if isinstance(node, exp.Literal):
            digits = len(node.this)
        return _cast(value, pa.decimal128(digits, 0))

    def _decimal_result(self, node: exp.Expr, precision: int, scale: int) -> pa.DataType:
        if precision > _MOST_DIGITS:
            raise self._refusal(
                node, f"has up to {precision} digits, of which Spark drops some", "cast its parts to fewer digits"
            )
        return pa.decimal128(precision, scale)

    def _common_number(self, node: exp.Expr, left: DuckdbExpression, right: DuckdbExpression) -> pa.DataType:
        common = _common_type(left.type, right.type)
        if common is None:
            raise self._refuse_types(node, left, right)
        return common

    @staticmethod
    def _arithmetic(
        left: DuckdbExpression, sign: str, right: DuckdbExpression, result: pa.DataType
    ) -> DuckdbExpression:
        operands = [_cast(operand, result).sql for operand in (left, right)]
        sql = f"({operands[0]} {sign} {operands[1]})"
        if pa.types.is_decimal(result):
            sql = f"CAST({sql} AS {duckdb_type(result)})"
        may_raise = not pa.types.is_floating(result) or left.may_raise or right.may_raise
        return DuckdbExpression(_unless_null(left, right, sql), result, may_raise)

    # ------------------------------------------------------------------------------------------------ dates and times

    def _moved(self, node: exp.Binary, sign: str) -> DuckdbExpression:
        """Return a time that is moved by a length."""
        value = self.of(node.this)
        if not pa.types.is_timestamp(value.type):
            raise self._refusal(node, f"moves {spelled(value.type)}", "expected: a timestamp and an interval")
        length = self._microseconds(node.expression)
        return DuckdbExpression(f"({value.sql} {sign} to_microseconds({length}))", value.type, True)

    def _microseconds(self, node: exp.Interval) -> int:
        number, unit = node.this, node.args.get("unit")
        micros = None if unit is None else _LENGTHS.get(unit.name.upper().removesuffix("S"))
        is_whole = isinstance(number, exp.Literal) and re.fullmatch(r"[0-9]+", number.this) is not None
        if micros is None or not is_whole:
            raise self._refusal(
                node, "is no length of time", "expected: such as INTERVAL 90 MINUTES; months differ in length"
            )
        return int(number.this) * micros

    # ----------------------------------------------------------------------------------------------------- comparisons

    @of.register
    def _(self, node: exp.EQ) -> DuckdbExpression:
        return self._compared(node, "=")

    @of.register
    def _(self, node: exp.NEQ) -> DuckdbExpression:
        return self._compared(node, "<>")

    @of.register
    def _(self, node: exp.LT) -> DuckdbExpression:
        return self._compared(node, "<")

    @of.register
    def _(self, node: exp.LTE) -> DuckdbExpression:
        return self._compared(node, "<=")

    @of.register
    def _(self, node: exp.GT) -> DuckdbExpression:
        return self._compared(node, ">")

    @of.register
    def _(self, node: exp.GTE) -> DuckdbExpression:
        return self._compared(node, ">=")

    @of.register
    def _(self, node: exp.NullSafeEQ) -> DuckdbExpression:
        return self._compared(node, _NULL_SAFE)

    def _compared(self, node: exp.Binary, sign: str) -> DuckdbExpression:
        left, right = self._alike(node, [node.this, node.expression])
        sql = f"({left.sql} {sign} {right.sql})"
        if sign != _NULL_SAFE:
            sql = _unless_null(left, right, sql)
        return DuckdbExpression(sql, pa.bool_(), left.may_raise or right.may_raise)

    @of.register
    def _(self, node: exp.Between) -> DuckdbExpression:
        value, low, high = self._alike(node, [node.this, node.args["low"], node.args["high"]])
        may_raise = any(part.may_raise for part in (value, low, high))
        return DuckdbExpression(f"({value.sql} BETWEEN {low.sql} AND {high.sql})", pa.bool_(), may_raise)

    @of.register
    def _(self, node: exp.In) -> DuckdbExpression:
        if not node.expressions:
            raise self._refusal(node, "looks into a query", "list the values: x IN (1, 2)")
        value, *choices = self._alike(node, [node.this, *node.expressions])
        listed = ", ".join(choice.sql for choice in choices)
        may_raise = any(part.may_raise for part in (value, *choices))
        return DuckdbExpression(f"({value.sql} IN ({listed}))", pa.bool_(), may_raise)

    @of.register
    def _(self, node: exp.Is) -> DuckdbExpression:
        value = self.of(node.this)
        if not isinstance(node.expression, exp.Null):
            raise self._refusal(node, "is a comparison with more than NULL", "write x = true, or x IS NULL")
        return DuckdbExpression(f"({value.sql} IS NULL)", pa.bool_(), value.may_raise)

    def _alike(self, node: exp.Expr, operands: Sequence[exp.Expr]) -> list[DuckdbExpression]:
        """Return operands as values of one type, the one that Spark compares or chooses among."""
        values = [self.of(operand) for operand in operands]
        common = values[0].type
        for value in values[1:]:
            joint = _common_type(common, value.type)
            if joint is None:
                raise self._refuse_types(node, *values)
            common = joint
        if any(not _is_castable(value, common) for value in values):
            raise self._refuse_types(node, *values)
        return [self._as_type(operand, value, common) for operand, value in zip(operands, values, strict=True)]

    def _as_type(self, node: exp.Expr, value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
        if value.literal is not None and not pa.types.is_string(wanted):
            return self._literal_as(node, value.literal, wanted)
        return _cast(value, wanted)

    def _literal_as(self, node: exp.Expr, text: str, wanted: pa.DataType) -> DuckdbExpression:
        """Read text that stands beside a time or a date as one."""
        stripped = text.strip()
        try:
            if pa.types.is_date(wanted):
                return DuckdbExpression(f"DATE '{date.fromisoformat(stripped).isoformat()}'", wanted)
            moment = datetime.fromisoformat(stripped)
        except ValueError as error:
            raise self._refusal(
                node, f"is no {spelled(wanted)}", "write it as '2024-05-01' or '2024-05-01 12:30:00'"
            ) from error
        if moment.tzinfo is not None and wanted == LOCAL_TIME:
            raise self._refusal(node, "has a zone, and is compared with times that have none", "leave the zone out")
        return DuckdbExpression(f"CAST({text_literal(moment.isoformat(sep=' '))} AS {duckdb_type(wanted)})", wanted)

    # ----------------------------------------------------------------------------------------------------------- logic

    @of.register
    def _(self, node: exp.And) -> DuckdbExpression:
        return self._both(node, "AND", "FALSE")

    @of.register
    def _(self, node: exp.Or) -> DuckdbExpression:
        return self._both(node, "OR", "TRUE")

    def _both(self, node: exp.Binary, word: str, decisive: str) -> DuckdbExpression:
        left = self._condition(node.this)
        right = self._condition(node.expression)
        sql = f"(({left.sql}) {word} ({right.sql}))"
        if right.may_raise:
            # Spark does not compute the second part where the first decides; DuckDB computes them in any order.
            sql = f"(CASE WHEN {left.sql} IS {decisive} THEN {decisive} ELSE {sql} END)"
        return DuckdbExpression(sql, pa.bool_(), left.may_raise or right.may_raise)

    @of.register
    def _(self, node: exp.Not) -> DuckdbExpression:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            value = self.of(node.this.this)
            return DuckdbExpression(f"({value.sql} IS NOT NULL)", pa.bool_(), value.may_raise)
        value = self._condition(node.this)
        return DuckdbExpression(f"(NOT {value.sql})", pa.bool_(), value.may_raise)

    def _condition(self, node: exp.Expr) -> DuckdbExpression:
        value = self.of(node)
        if not (pa.types.is_boolean(value.type) or pa.types.is_null(value.type)):
            raise self._refusal(node, f"is {spelled(value.type)}", "expected: a condition, such as km > 2")
        return value

    @of.register
    def _(self, node: exp.If) -> DuckdbExpression:
        condition = self._condition(node.this)
        choices = self._alike(node, [node.args["true"], node.args.get("false") or exp.Null()])
        return self._chosen([(condition, choices[0])], choices[1])

    @of.register
    def _(self, node: exp.Case) -> DuckdbExpression:
        branches: list[exp.If] = node.args["ifs"]
        default = node.args.get("default") or exp.Null()
        *results, otherwise = self._alike(node, [*(branch.args["true"] for branch in branches), default])
        conditions: list[DuckdbExpression] = []
        for branch in branches:
            if node.this is None:
                conditions.append(self._condition(branch.this))
            else:
                conditions.append(self.of(exp.EQ(this=node.this.copy(), expression=branch.this.copy())))
        return self._chosen(list(zip(conditions, results, strict=True)), otherwise)

    @staticmethod
    def _chosen(
        branches: Sequence[tuple[DuckdbExpression, DuckdbExpression]], otherwise: DuckdbExpression
    ) -> DuckdbExpression:
        parts = [f"WHEN {condition.sql} THEN {result.sql}" for condition, result in branches]
        may_raise = otherwise.may_raise or any(part.may_raise for branch in branches for part in branch)
        return DuckdbExpression(f"(CASE {' '.join(parts)} ELSE {otherwise.sql} END)", otherwise.type, may_raise)

    @of.register
    def _(self, node: exp.Coalesce) -> DuckdbExpression:
        values = self._alike(node, [node.this, *node.expressions])
        *tried, last = values
        if any(value.may_raise for value in values):
            return self._chosen([(_is_there(value), value) for value in tried], last)
        return DuckdbExpression(f"COALESCE({', '.join(value.sql for value in values)})", last.type)

    @of.register
    def _(self, node: exp.Nullif) -> DuckdbExpression:
        equal = self.of(exp.EQ(this=node.this.copy(), expression=node.expression.copy()))
        value = self.of(node.this)
        return DuckdbExpression(f"(CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END)", value.type, equal.may_raise)

    @of.register
    def _(self, node: exp.Greatest) -> DuckdbExpression:
        return self._extreme(node, "GREATEST")

    @of.register
    def _(self, node: exp.Least) -> DuckdbExpression:
        return self._extreme(node, "LEAST")

    def _extreme(self, node: exp.Greatest | exp.Least, function: str) -> DuckdbExpression:
        values = self._alike(node, [node.this, *node.expressions])
        listed = ", ".join(value.sql for value in values)
        return DuckdbExpression(f"{function}({listed})", values[0].type, any(value.may_raise for value in values))

    # ----------------------------------------------------------------------------------------------------------- casts

    @of.register
    def _(self, node: exp.Cast) -> DuckdbExpression:
        value = self.of(node.this)
        wanted = self._type_named(node)
        if value.literal is not None and (pa.types.is_date(wanted) or pa.types.is_timestamp(wanted)):
            return self._literal_as(node, value.literal, wanted)
        if value.type == wanted or pa.types.is_null(value.type):
            return _cast(value, wanted)
        cast = _CASTS.get((_family(value.type), _family(wanted)))
        if cast is None:
            raise self._refusal(
                node,
                f"makes {spelled(wanted)} of {spelled(value.type)}, which is not known to mean the same without Spark",
                "compute the column before events(), or run the query on Spark",
            )
        return cast(value, wanted)

    def _type_named(self, node: exp.Cast) -> pa.DataType:
        kind = node.to
        if kind.this == exp.DType.DECIMAL:
            digits = [int(str(part.this.this)) for part in kind.expressions]
            precision = digits[0] if digits else 10
            scale = digits[1] if len(digits) > 1 else 0
            return pa.decimal128(precision, scale)
        wanted = _NAMED_TYPES.get(kind.this)
        if wanted is None:
            raise self._refusal(
                node, f"makes {kind.sql(dialect='spark').lower()}", "expected: a number, text, a date or a timestamp"
            )
        return wanted

    # ------------------------------------------------------------------------------------------------------- functions

    @of.register
    def _(self, node: exp.Abs) -> DuckdbExpression:
        value = self._number_in(node)
        return DuckdbExpression(f"ABS({value.sql})", value.type, True)

    @of.register
    def _(self, node: exp.Ceil) -> DuckdbExpression:
        return self._rounded(node, "CEIL")

    @of.register
    def _(self, node: exp.Floor) -> DuckdbExpression:
        return self._rounded(node, "FLOOR")

    def _rounded(self, node: exp.Ceil | exp.Floor, function: str) -> DuckdbExpression:
        value = self._number_in(node)
        if node.args.get("decimals") is not None or pa.types.is_decimal(value.type):
            raise self._refuse_types(node, value)
        sql = f"CAST({function}({value.sql}) AS BIGINT)"
        if pa.types.is_floating(value.type):
            # Spark takes the nearest whole number of 64 bits where there is none, and 0 of NaN.
            below, above = f"{value.sql} < -{_PAST_INT64}", f"{value.sql} >= {_PAST_INT64}"
            sql = (
                f"(CASE WHEN ISNAN({value.sql}) THEN 0 WHEN {below} THEN -9223372036854775807 - 1"
                f" WHEN {above} THEN 9223372036854775807 ELSE {sql} END)"
            )
        return DuckdbExpression(sql, pa.int64(), value.may_raise)

    @of.register
    def _(self, node: exp.Sqrt) -> DuckdbExpression:
        value = _cast(self._number_in(node), pa.float64())
        return DuckdbExpression(f"SQRT({value.sql})", pa.float64(), value.may_raise)

    @of.register
    def _(self, node: exp.Exp) -> DuckdbExpression:
        value = _cast(self._number_in(node), pa.float64())
        return DuckdbExpression(f"EXP({value.sql})", pa.float64(), value.may_raise)

    def _number_in(self, node: exp.Expr) -> DuckdbExpression:
        value = self.of(node.this)
        if not _is_number(value.type):
            raise self._refuse_types(node, value)
        return value

    @of.register
    def _(self, node: exp.Upper) -> DuckdbExpression:
        return self._of_text(node, "UPPER")

    @of.register
    def _(self, node: exp.Lower) -> DuckdbExpression:
        return self._of_text(node, "LOWER")

    @of.register
    def _(self, node: exp.Length) -> DuckdbExpression:
        value = self._of_text(node, "LENGTH")
        return DuckdbExpression(f"CAST({value.sql} AS INTEGER)", pa.int32(), value.may_raise)

    @of.register
    def _(self, node: exp.StartsWith) -> DuckdbExpression:
        return self._test_of_text(node, "STARTS_WITH", node.expression)

    @of.register
    def _(self, node: exp.EndsWith) -> DuckdbExpression:
        return self._test_of_text(node, "ENDS_WITH", node.expression)

    @of.register
    def _(self, node: exp.Contains) -> DuckdbExpression:
        return self._test_of_text(node, "CONTAINS", node.expression)

    @of.register
    def _(self, node: exp.Concat) -> DuckdbExpression:
        return self._joined(node, node.expressions)

    @of.register
    def _(self, node: exp.DPipe) -> DuckdbExpression:
        return self._joined(node, [node.this, node.expression])

    def _joined(self, node: exp.Expr, operands: Sequence[exp.Expr]) -> DuckdbExpression:
        """Return texts one after the other, or null if one is: DuckDB's own `concat` leaves nulls out."""
        values = [self._text_in(node, operand) for operand in operands]
        sql = " || ".join(f"CAST({value.sql} AS VARCHAR)" for value in values)
        return DuckdbExpression(f"({sql})", pa.string(), any(value.may_raise for value in values))

    def _of_text(self, node: exp.Expr, function: str) -> DuckdbExpression:
        value = self._text_in(node, node.this)
        return DuckdbExpression(f"{function}({value.sql})", pa.string(), value.may_raise)

    def _test_of_text(self, node: exp.Expr, function: str, other: exp.Expr) -> DuckdbExpression:
        values = [self._text_in(node, operand) for operand in (node.this, other)]
        listed = ", ".join(value.sql for value in values)
        return DuckdbExpression(f"{function}({listed})", pa.bool_(), any(value.may_raise for value in values))

    def _text_in(self, node: exp.Expr, operand: exp.Expr) -> DuckdbExpression:
        value = self.of(operand)
        if not pa.types.is_string(value.type):
            raise self._refuse_types(node, value)
        return value

    @of.register
    def _(self, node: exp.IsNan) -> DuckdbExpression:
        value = _cast(self._number_in(node), pa.float64())
        # Spark's isnan is false of null.
        return DuckdbExpression(f"COALESCE(ISNAN({value.sql}), FALSE)", pa.bool_(), value.may_raise)

    @of.register
    def _(self, node: exp.UnixToTime) -> DuckdbExpression:
        seconds = self._number_in(node)
        scale = node.args.get("scale")
        micros = _MICROSECONDS_OF_SCALE.get(None if scale is None else scale.name)
        if micros is None or not pa.types.is_integer(seconds.type):
            raise self._refuse_types(node, seconds)
        return DuckdbExpression(f"make_timestamptz(CAST({seconds.sql} AS BIGINT) * {micros})", INSTANT, True)


_MICROSECONDS_OF_SCALE: Final[Mapping[str | None, int]] = {None: 1_000_000, "0": 1_000_000, "3": 1_000, "6": 1}
"""By the digits after a second's point that sqlglot calls the scale of a time: how many microseconds a unit has."""

_NAMED_TYPES: Final[Mapping[exp.DType, pa.DataType]] = {
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TEXT: pa.string(),
    exp.DType.VARCHAR: pa.string(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: INSTANT,
    exp.DType.TIMESTAMPTZ: INSTANT,
    exp.DType.TIMESTAMPNTZ: LOCAL_TIME,
}
"""The types that a cast may name."""


def _unless_null(left: DuckdbExpression, right: DuckdbExpression, sql: str) -> str:
    """Leave the right operand uncomputed where the left one is null, as Spark does, if it may raise."""
    if not right.may_raise:
        return sql
    return f"(CASE WHEN {left.sql} IS NULL THEN NULL ELSE {sql} END)"


def _is_there(value: DuckdbExpression) -> DuckdbExpression:
    return DuckdbExpression(f"({value.sql} IS NOT NULL)", pa.bool_(), value.may_raise)


def _is_number(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type))


def _common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type in which Spark computes with values of two types; None where it does not, or differs by setting.

    Example:
        >>> print(_common_type(pa.int8(), pa.int64()), _common_type(pa.int32(), pa.float32()))
        int64 double
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if _is_number(left) and _is_number(right):
        return _common_number(left, right)
    for text, other in ((left, right), (right, left)):
        if pa.types.is_string(text) and (pa.types.is_date(other) or pa.types.is_timestamp(other)):
            return other
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(left) or pa.types.is_floating(right):
        return pa.float32() if left == right == pa.float32() else pa.float64()
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        return _INTEGERS[max(_INTEGERS.index(left), _INTEGERS.index(right))]
    left, right = (_decimal_of(operand) for operand in (left, right))
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return pa.decimal128(min(whole + scale, _MOST_DIGITS), scale)


def _decimal_of(data_type: pa.DataType) -> pa.DataType:
    return pa.decimal128(_DIGITS[data_type], 0) if pa.types.is_integer(data_type) else data_type


def _is_castable(value: DuckdbExpression, wanted: pa.DataType) -> bool:
    """Say whether a value may stand for one of a common type: text only as a literal."""
    is_text = pa.types.is_string(value.type) and not pa.types.is_string(wanted)
    return not is_text or value.literal is not None


def _cast(value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
    """Return a value in a wider type, which holds it as it is."""
    if value.type == wanted:
        return value
    return DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(wanted)})", wanted, value.may_raise)


def _family(data_type: pa.DataType) -> str:
    """Return the name of the types that are cast alike."""
    for name, is_one in _FAMILIES.items():
        if is_one(data_type):
            return name
    return str(data_type)


_FAMILIES: Final[Mapping[str, Callable[[pa.DataType], bool]]] = {
    "integer": pa.types.is_integer,
    "double": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "boolean": pa.types.is_boolean,
    "text": pa.types.is_string,
    "date": pa.types.is_date,
    "timestamp": pa.types.is_timestamp,
}


def _plain_cast(value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
    """Cast where both systems do the same."""
    return DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(wanted)})", wanted, True)


def _truncated(value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
    """Cut off what lies behind the point, where DuckDB rounds."""
    return DuckdbExpression(f"CAST(TRUNC({value.sql}) AS {duckdb_type(wanted)})", wanted, True)


def _by_text(value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
    """Round the digits that a float is written with, as Spark does, and not the number that it is exactly.

    What is not finite is null, also in Spark.
    """
    digits = f"CAST(CAST({value.sql} AS VARCHAR) AS {duckdb_type(wanted)})"
    return DuckdbExpression(f"(CASE WHEN ISFINITE({value.sql}) THEN {digits} END)", wanted, True)


def _read_with(pattern: str) -> Callable[[DuckdbExpression, pa.DataType], DuckdbExpression]:
    """Return a cast of text that fits a pattern; other text is an error, also where one of the two would take it."""

    def read(value: DuckdbExpression, wanted: pa.DataType) -> DuckdbExpression:
        fits = f"regexp_full_match({value.sql}, {text_literal(pattern)})"
        said = text_literal(f"CAST_INVALID_INPUT: a {spelled(wanted)} is expected, got ")
        otherwise = f"error({said} || {value.sql})"
        read = f"CAST(TRIM({value.sql}) AS {duckdb_type(wanted)})"
        sql = f"(CASE WHEN {value.sql} IS NULL THEN NULL WHEN {fits} THEN {read} ELSE {otherwise} END)"
        return DuckdbExpression(sql, wanted, True)

    return read


_CASTS: Final[Mapping[tuple[str, str], Callable[[DuckdbExpression, pa.DataType], DuckdbExpression]]] = {
    ("integer", "integer"): _plain_cast,
    ("integer", "double"): _plain_cast,
    ("integer", "decimal"): _plain_cast,
    ("integer", "text"): _plain_cast,
    ("integer", "boolean"): _plain_cast,
    ("double", "double"): _plain_cast,
    ("double", "integer"): _truncated,
    ("double", "decimal"): _by_text,
    ("decimal", "decimal"): _plain_cast,
    ("decimal", "double"): _plain_cast,
    ("decimal", "integer"): _truncated,
    ("decimal", "text"): _plain_cast,
    ("boolean", "integer"): _plain_cast,
    ("boolean", "text"): _plain_cast,
    ("text", "integer"): _read_with(_WHOLE_NUMBER),
    ("text", "double"): _read_with(_NUMBER),
    ("text", "decimal"): _read_with(_NUMBER),
    ("text", "date"): _read_with(_DATE_TEXT),
    ("text", "timestamp"): _read_with(_INSTANT_TEXT),
    ("date", "text"): _plain_cast,
    ("date", "timestamp"): _plain_cast,
    ("timestamp", "date"): _plain_cast,
}
"""How a value of one family becomes one of another."""
