"""Errors about a text of plain SQL that runs without Spark: with their line, and a caret below the place."""

from __future__ import annotations

from typing import Any

from muntin.errors import QueryError
from muntin_engine.sql_text.sql_source import SqlError, SqlText


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
    start = source.place_of(part, 0, len(text))
    message = str(getattr(error, "fact", "") or error)
    fact, _, advice = message.partition("\n")
    return SqlError(text, start or 0, fact, advice.replace("\n  ", "\n").strip())
