"""Errors about a text of plain SQL that runs without Spark: with their line, and a caret below the place."""

from __future__ import annotations

from typing import Any

from muntin.errors import QueryError
from muntin_engine.sql_text.sql_source import SqlError, SqlText, fact_and_advice


def placed(text: str, error: Any) -> QueryError:
    """Turn an error about a query that runs without Spark into one that shows its place in the text.

    Args:
        text: The text of the query.
        error: The error. Its value is the part of the text that it is about.
    """
    if isinstance(error, SqlError):
        return error
    source = SqlText(text)
    part = error.value if isinstance(error.value, str) else ""
    start = source.place_of(part, low=0, high=len(text))  # None if the part is not in the text: then its beginning
    # The fact of an error about a row is its message without the part that failed: the caret shows that.
    message = str(getattr(error, "fact", "") or error)
    fact, advice = fact_and_advice(message)
    return SqlError(text, start or 0, fact, advice)
