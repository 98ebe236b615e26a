"""Casts between types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import INSTANT, duckdb_type, spelled, text_literal
from muntin_engine.backends.local.expressions.comparisons import literal_as
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, cast
from muntin_engine.backends.local.expressions.named_types import (
    DECIMAL_DIGITS,
    PLAIN_TYPES,
    decimal_named,
    has_collation,
)
from muntin_engine.backends.local.expressions.translator import ON_SPARK, Translator, rule

_WHOLE_NUMBER: Final = r"\s*[+-]?[0-9]+\s*"
_NUMBER: Final = r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*"
_INSTANT_TEXT: Final = (
    r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?\s*"
)
_DATE_TEXT: Final = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*"

_PAST_FLOAT: Final = "3.4028235677973366e38"
"""The smallest double that rounds to no float."""

_SPACES: Final = "E' \\t\\n\\r\\f'"
"""The spaces around text that a cast leaves out, in DuckDB's SQL."""


@rule(exp.Cast, exp.TryCast)
def _translate_cast(translator: Translator, node: exp.Cast) -> DuckdbExpression:
    """Translate `CAST`, which is an error for a value that does not fit, or `TRY_CAST`, which is null there."""
    # sqlglot makes a `TryCast` also of Spark's plain casts. Only `try_cast` has the mark `safe`.
    is_lenient = isinstance(node, exp.TryCast) and node.args.get("safe")
    value = translator.translate(node.this)
    target = _type_named(translator, node)
    if not is_lenient:
        return converted(translator, node, value, target)
    if value.may_raise:
        raise translator.refusal(node, "casts what may fail itself", "cast a column")
    # Without `literal`: text that is no time would be refused when the query is planned, and `try_cast` makes it null.
    plain_value = DuckdbExpression(value.sql, value.type)
    return null_if_it_fails(converted(translator.leniently(), node, plain_value, target))


def null_if_it_fails(value: DuckdbExpression) -> DuckdbExpression:
    """Return a value that is null in rows in which it cannot be computed."""
    return DuckdbExpression(f"TRY({value.sql})", value.type)


def converted(translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> DuckdbExpression:
    """Cast a value to another type, as Spark does.

    Args:
        translator: The translator of the expression.
        node: The node that casts.
        value: The value.
        target: The other type.

    Raises:
        QueryError: The cast is not known to mean the same.
    """
    # Text that is written out is read as a time now: text that is no time is refused when the query is planned.
    if value.literal is not None and (pa.types.is_date(target) or pa.types.is_timestamp(target)):
        return literal_as(translator, node, value.literal, target)
    if value.type == target or pa.types.is_null(value.type):
        return cast(value, target)
    conversion = _CONVERSIONS.get((_family(value.type), _family(target)))
    if conversion is None:
        raise translator.refusal(
            node,
            f"makes {spelled(target)} of {spelled(value.type)}, which is not known to mean the same without Spark",
            ON_SPARK,
        )
    sql = conversion.sql(translator, node, value, target)
    return DuckdbExpression(sql, target, may_raise=True)


def _type_named(translator: Translator, node: exp.Cast) -> pa.DataType:
    """Return the type that a cast names.

    Raises:
        QueryError: The type is not known to mean the same without Spark, or Spark has none such either.
    """
    kind = node.to
    if has_collation(kind):
        raise translator.refusal(
            node,
            "makes text with a collation; without Spark, text is compared by its bytes",
            "expected: string; where upper and lower case are one, compare lower(...) of both sides",
        )
    if kind.this == exp.DType.DECIMAL:
        decimal = decimal_named(kind)
        if decimal is None:
            raise translator.mistake(
                node, f"makes {kind.sql(dialect='spark').lower()}, which Spark does not have", DECIMAL_DIGITS
            )
        return decimal
    target = PLAIN_TYPES.get(kind.this)
    if target is None or kind.expressions:
        raise translator.refusal(
            node, f"makes {kind.sql(dialect='spark').lower()}", "expected: a number, text, a date or a timestamp"
        )
    return target


class _CastRule(ABC):
    """Makes values of one family of another."""

    @abstractmethod
    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Return a value in its new type, in DuckDB's SQL.

        Args:
            translator: The translator of the expression, which knows what a row that cannot be cast becomes.
            node: The node that casts, for the error of such a row.
            value: The value.
            target: The new type.
        """


class _SameCast(_CastRule):
    """The cast of DuckDB, which is that of Spark too."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Cast."""
        del translator, node
        return f"CAST({value.sql} AS {duckdb_type(target)})"


class _OtherFloat(_CastRule):
    """Makes a double of a float, or a float of a double."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Cast the value; a double that is too large for a float becomes infinite, where DuckDB would raise."""
        del translator, node
        cast_value = f"CAST({value.sql} AS {duckdb_type(target)})"
        if target == pa.float64():
            return cast_value
        infinite = f"CASE WHEN {value.sql} < 0 THEN CAST('-inf' AS FLOAT) ELSE CAST('inf' AS FLOAT) END"
        is_too_large = f"ISFINITE({value.sql}) AND ABS({value.sql}) >= {_PAST_FLOAT}"
        return f"(CASE WHEN {is_too_large} THEN {infinite} ELSE {cast_value} END)"


class _Truncation(_CastRule):
    """Cuts off what lies behind the point, where DuckDB rounds."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Cut off the digits behind the point, then cast: DuckDB's cast alone would round."""
        del translator, node
        return f"CAST(TRUNC({value.sql}) AS {duckdb_type(target)})"


class _RoundingOfDigits(_CastRule):
    """Rounds the digits that a float is written with, as Spark does, and not the number that it is exactly.

    What is not finite is null, also in Spark.
    """

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Cast the text of the float, so that the digits as written are rounded; infinity and NaN become null."""
        del translator, node
        digits = f"CAST(CAST({value.sql} AS VARCHAR) AS {duckdb_type(target)})"
        return f"(CASE WHEN ISFINITE({value.sql}) THEN {digits} END)"


class _Truth(_CastRule):
    """Reads the words for true and false."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Compare the text with the words for true and for false; any other text is an error."""
        word = f"LOWER(TRIM({value.sql}, {_SPACES}))"
        failure = translator.failure(node, _malformed(value, target))
        return (
            f"(CASE WHEN {value.sql} IS NULL THEN NULL WHEN {word} IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
            f" WHEN {word} IN ('f', 'false', 'n', 'no', '0') THEN FALSE ELSE {failure} END)"
        )


class _WrittenTime(_CastRule):
    """Writes a date or a time; of years with other than four digits the two systems write other text."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Write the date, or the time in UTC; a year with other than four digits is an error."""
        del target
        time = value.sql if pa.types.is_date(value.type) else f"make_timestamp(epoch_us({value.sql}))"
        has_four_digits = f"year({time}) BETWEEN 1 AND 9999"
        failure = translator.failure(node, "'the year has other than four digits'")
        written = f"CAST({time} AS VARCHAR)"
        return f"(CASE WHEN {time} IS NULL THEN NULL WHEN {has_four_digits} THEN {written} ELSE {failure} END)"


class _OtherZone(_CastRule):
    """Takes a time on a clock as one in UTC, or the reverse."""

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Keep the microseconds since 1970: as the zone is UTC, they are the same in both types."""
        del translator, node
        function = "make_timestamptz" if target == INSTANT else "make_timestamp"
        return f"{function}(epoch_us({value.sql}))"


class _TextCast(_CastRule):
    """Reads text that fits a pattern; other text is an error, also where one of the two systems would take it."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def sql(self, translator: Translator, node: exp.Expr, value: DuckdbExpression, target: pa.DataType) -> str:
        """Cast text that fits the pattern, without the spaces around it; any other text is an error."""
        fits = f"regexp_full_match({value.sql}, {text_literal(self._pattern)})"
        number = f"CAST(TRIM({value.sql}, {_SPACES}) AS {duckdb_type(target)})"
        otherwise = translator.failure(node, _malformed(value, target))
        return f"(CASE WHEN {value.sql} IS NULL THEN NULL WHEN {fits} THEN {number} ELSE {otherwise} END)"


def _malformed(value: DuckdbExpression, target: pa.DataType) -> str:
    """Return the message about text that cannot be cast to a type, as an expression in SQL that has the text in it."""
    start = text_literal("the value '")
    end = text_literal(f'\' of the type "STRING" cannot be cast to "{spelled(target).upper()}": it is malformed')
    return f"{start} || {value.sql} || {end}"


def _family(data_type: pa.DataType) -> str:
    """Return the name of the family of types that a type is of: the types of a family are cast alike."""
    for name, is_of_family in _FAMILIES.items():
        if is_of_family(data_type):
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

_CONVERSIONS: Final[Mapping[tuple[str, str], _CastRule]] = {
    ("integer", "integer"): _SameCast(),
    ("integer", "double"): _SameCast(),
    ("integer", "decimal"): _SameCast(),
    ("integer", "text"): _SameCast(),
    ("integer", "boolean"): _SameCast(),
    ("double", "double"): _OtherFloat(),
    ("double", "integer"): _Truncation(),
    ("double", "decimal"): _RoundingOfDigits(),
    ("decimal", "decimal"): _SameCast(),
    ("decimal", "double"): _SameCast(),
    ("decimal", "integer"): _Truncation(),
    ("decimal", "text"): _SameCast(),
    ("boolean", "integer"): _SameCast(),
    ("boolean", "text"): _SameCast(),
    ("text", "integer"): _TextCast(_WHOLE_NUMBER),
    ("text", "double"): _TextCast(_NUMBER),
    ("text", "decimal"): _TextCast(_NUMBER),
    ("text", "date"): _TextCast(_DATE_TEXT),
    ("text", "timestamp"): _TextCast(_INSTANT_TEXT),
    ("text", "boolean"): _Truth(),
    ("date", "text"): _WrittenTime(),
    ("timestamp", "text"): _WrittenTime(),
    ("timestamp", "timestamp"): _OtherZone(),
    ("date", "timestamp"): _SameCast(),
    ("timestamp", "date"): _SameCast(),
}
"""How a value of one family becomes one of another."""
