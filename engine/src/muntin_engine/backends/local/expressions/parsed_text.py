"""Parses the text of an expression with sqlglot, and translates it by all rules."""

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


def parsed_and_translated(text: str, columns: pa.Schema) -> DuckdbExpression:
    """Translate an expression, as `translation.translated` does.

    Raises:
        QueryError: It cannot be read, reads a column that is not there, or has no translation of the same meaning.
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
