"""The error for what a query cannot do in this process yet."""

from __future__ import annotations

from muntin.errors import QueryError


def not_yet(what: str) -> QueryError:
    """Return the error for something that only Spark does so far.

    Args:
        what: The call, or what it asks for.
    """
    return QueryError(f"not yet without Spark: {what}\n  run the query over a DataFrame of Spark's")


def of_stream_under_test(call: str) -> QueryError:
    """Return the error for a call that runs a query over a stream of a job under test: its fixture runs it.

    Args:
        call: The call, such as `results()`.
    """
    return QueryError(
        f"{call} runs a query, and this is one over the stream of a job under test, which the fixture feeds\n"
        "  return the query from the job's function, and compare what feed(), advance() and close() return;\n"
        "  a stream without an end runs on Spark: give events() what spark.readStream returns"
    )
