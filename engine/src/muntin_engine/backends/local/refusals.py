"""The errors for what a query cannot do in this process, and for a row that cannot be computed."""

from __future__ import annotations

from muntin.errors import QueryError


def not_yet(what: str) -> QueryError:
    """Return the error for something that only Spark does so far.

    Args:
        what: The call, or what it asks for.
    """
    return QueryError(f"not yet without Spark: {what}\n  run the query over a DataFrame of Spark's")


class FailedRowError(QueryError):
    """A row of a table cannot be read or computed.

    Attributes:
        fact: What is wrong with it.
    """

    def __init__(self, what: str, error: Exception, separator: str) -> None:
        """Take an error of DuckDB.

        Args:
            what: What was being done.
            error: The error.
            separator: Stands in its text before the part of the query that failed, if that is known.
        """
        kind_and_fact, _, part = str(error).partition(separator)
        self.fact = kind_and_fact
        if part:
            self.fact = kind_and_fact.removeprefix("Invalid Input Error: ")
        within = f", in {part!r}" if part else ""
        super().__init__("{what}: {fact}{within}", value=part, what=what, fact=self.fact, within=within)
