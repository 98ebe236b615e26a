"""Translates a text of an expression. sqlglot is imported with the first text: named columns do without it."""

from __future__ import annotations

import pyarrow as pa

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression


def translated(text: str, columns: pa.Schema) -> DuckdbExpression:
    """Translate an expression of Spark's SQL over columns.

    Args:
        text: The expression, such as `"km / 1.6 > 2"`.
        columns: The names and types of the columns that it may read.

    Raises:
        QueryError: The text is no expression, reads a column that does not exist, or has no translation of the same
            meaning.

    Example:
        >>> columns = pa.schema([("km", pa.int32())])
        >>> translated("km > 2 AND km IS NOT NULL", columns).sql
        '((("km" > CAST(2 AS INTEGER))) AND (("km" IS NOT NULL)))'
    """
    # Imported here: it imports sqlglot, and takes as long as a small query.
    from muntin_engine.backends.local.expressions.parsed_text import parsed_and_translated

    return parsed_and_translated(text, columns)
