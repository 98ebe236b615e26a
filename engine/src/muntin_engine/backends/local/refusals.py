"""The errors for what a query cannot do in this process, and for a row that cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from muntin.errors import QueryError
from muntin_engine.backends.local.expressions.called_function import failure_in
from muntin_engine.backends.local.expressions.duckdb_expression import FAILURE
from muntin_engine.backends.local.frames.frame_kind import reason_of
from muntin_engine.backends.planning.needs_spark import NeedsSparkError


def not_yet(used: str) -> NeedsSparkError:
    """Return the error for something that only Spark does so far.

    Args:
        used: The call, or the thing that it asks for.
    """
    return NeedsSparkError(used, f"not yet without Spark: {used}\n  run the query over a DataFrame of Spark's")


def of_stream_under_test(call: str) -> QueryError:
    """Return the error for a call that would run a query over a stream of a job under test, which the fixture runs.

    Args:
        call: The call, such as `results()`.
    """
    return QueryError(
        f"{call} runs a query, and this is one over the stream of a job under test, which the fixture feeds\n"
        "  return the query from the job's function, and compare what feed(), advance() and close() return;\n"
        "  a stream without an end runs on Spark: give events() what spark.readStream returns"
    )


@contextmanager
def failures_of_rows(what: str) -> Iterator[None]:
    """Replace errors of DuckDB in a block, which reads or computes rows, by errors of Muntin.

    Args:
        what: The step that fails, in words.

    Raises:
        QueryError: A row cannot be read or computed.
        ModuleError: A function of a plugin failed.
    """
    try:
        yield
    except (duckdb.Error, OSError) as error:
        function_failure = failure_in(error)
        if function_failure is None:
            raise FailedRowError(what, error) from error
        # The cause of a function's error is in the function, and not in DuckDB, which only passed the error on.
        raise function_failure from function_failure.__cause__


class FailedRowError(QueryError):
    """A row of a table cannot be read or computed.

    Attributes:
        fact: The fault of the row, in words.
    """

    def __init__(self, what: str, error: Exception) -> None:
        """Make the error out of an error of DuckDB.

        Args:
            what: The step that failed, in words.
            error: The error of DuckDB. If an expression raised it, its message has the character `FAILURE`, and behind
                it the part of the query that failed.
        """
        kind_and_fact, _, part = str(error).partition(FAILURE)
        if part:
            part = part.splitlines()[0]  # DuckDB appends lines of its own
            self.fact = " ".join(kind_and_fact.removeprefix("Invalid Input Error: ").splitlines())
        else:
            self.fact = reason_of(error)
        within = f", in {part!r}" if part else ""
        super().__init__("{what}: {fact}{within}", value=part, what=what, fact=self.fact, within=within)
