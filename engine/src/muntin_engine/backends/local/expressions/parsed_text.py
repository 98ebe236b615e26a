"""Parses the text of an expression with sqlglot, and translates it by all rules."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]  # it is where its pages name it

from muntin.errors import QueryError
from muntin_engine.backends.local.expressions import (  # noqa: F401  # they register the rules of their families
    arithmetic,
    logic,
    nested,
    numbers,
    plugin_functions,
    texts,
)
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.literals import IS_WRITTEN_OUT
from muntin_engine.backends.local.expressions.spark_between import parse_between
from muntin_engine.backends.local.expressions.translator import SchemaScope, Scope, Translator, spark_text


class SparkText(Spark):
    """Spark's dialect of today, in which two quotes within text are one."""

    class Tokenizer(Spark.Tokenizer):
        """Knows the escapes of text."""

        STRING_ESCAPES: ClassVar[list[str]] = ["'", '"', "\\"]

    class Parser(SparkParser):
        """Tells numbers that are written out from numbers that are computed: Spark gives them other digits."""

        # sqlglot reads `log10(x)` as `log(10, x)`, which Spark rounds otherwise. Without this it is a call by its name.
        FUNCTIONS: ClassVar[dict[str, Any]] = {
            name: builder for name, builder in SparkParser.FUNCTIONS.items() if name != "LOG10"
        }

        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.UNARY_PARSERS,
            TokenType.PLUS: lambda parser: parser.expression(
                exp.Anonymous(this="positive", expressions=[parser._parse_unary()])
            ),
        }

        RANGE_PARSERS: ClassVar[dict[Any, Any]] = {**SparkParser.RANGE_PARSERS, TokenType.BETWEEN: parse_between}

        COLUMN_OPERATORS: ClassVar[dict[Any, Any]] = {
            **SparkParser.COLUMN_OPERATORS,
            TokenType.DCOLON: lambda parser, value, data_type: _cast_to(parser, value, data_type),  # noqa: PLW0108  # below
        }


def _cast_to(parser: Any, value: exp.Expr, data_type: exp.DataType) -> exp.Expr:
    """Return the node of a cast that is written `x::bigint`; `3L`, which sqlglot reads as such a cast, is marked.

    Args:
        parser: The parser, which has just read the type.
        value: The value before the type.
        data_type: The type.
    """
    node: exp.Expr = parser.build_cast(strict=parser.STRICT_CAST, this=value, to=data_type)
    # The last text that the parser read is `bigint` of `x::bigint`, and `L` of `3L`.
    if parser._prev.text.upper() in _ENDS_OF_NUMBERS:
        node.meta[IS_WRITTEN_OUT] = True
    return node


_ENDS_OF_NUMBERS: Final = frozenset(("Y", "S", "L"))
"""The letters behind a whole number that name its type."""


def parsed_and_translated(text: str, columns: pa.Schema) -> DuckdbExpression:
    """Parse and translate an expression of Spark's SQL over columns.

    Raises:
        QueryError: The text is no expression, reads a column that does not exist, or has no translation of the same
            meaning.
    """
    try:
        node = sqlglot.parse_one(text, read=SparkText)
    except SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]  # without the colors of a terminal
        raise QueryError(
            "{value!r} cannot be read as an expression in SQL: {reason}", value=text, reason=reason
        ) from error
    return Translator(str(text), SchemaScope(columns)).translate(node)


def translator_of(node: exp.Expr, scope: Scope) -> Translator:
    """Return a translator for an expression in a query.

    Args:
        node: The expression.
        scope: The columns that it may read.
    """
    return Translator(spark_text(node), scope)
