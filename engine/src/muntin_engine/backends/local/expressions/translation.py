"""Translates a text of an expression."""

from __future__ import annotations

import re
from typing import ClassVar

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from muntin.errors import QueryError
from muntin_engine.backends.local.expressions import (  # noqa: F401  # they register the rules of their families
    arithmetic,
    logic,
    nested,
    numbers,
    texts,
)
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translator import SchemaScope, Scope, Translator, spark_text


class SparkText(Spark):
    """Spark's dialect of today, in which two quotes within text are one."""

    class Tokenizer(Spark.Tokenizer):
        """Knows the escapes of text."""

        STRING_ESCAPES: ClassVar[list[str]] = ["'", '"', "\\"]


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
        node = sqlglot.parse_one(text, read=SparkText)
    except SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]
        raise QueryError(
            "{value!r} cannot be read as an expression in SQL: {reason}", value=text, reason=reason
        ) from error
    return Translator(str(text), SchemaScope(columns)).of(node)


def translator_of(node: exp.Expr, scope: Scope) -> Translator:
    """Return what translates an expression of a query.

    Args:
        node: The expression.
        scope: The columns that it may read.
    """
    return Translator(spark_text(node), scope)
