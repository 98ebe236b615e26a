"""The error for what a query cannot do in this process yet."""

from __future__ import annotations

from muntin.errors import QueryError


def not_yet(what: str) -> QueryError:
    """Return the error for something that only Spark does so far.

    Args:
        what: The call, or what it asks for.
    """
    return QueryError(f"not yet without Spark: {what}\n  run the query over a DataFrame of Spark's")
