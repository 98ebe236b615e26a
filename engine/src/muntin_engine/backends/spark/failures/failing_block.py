"""Raise the errors of Spark in a block of code as errors of Muntin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException, PythonException, StreamingQueryException

from muntin.errors import ModuleError, QueryError
from muntin_engine.backends.spark.failures.root_cause import cause_first
from muntin_engine.backends.spark.inputs.column_lookup import unlogged


@contextmanager
def failures_as(query_error: Callable[[PySparkException], QueryError]) -> Iterator[None]:
    """Raise the errors of Spark in the block as errors of Muntin.

    Args:
        query_error: Makes a `QueryError` of an exception of Spark.

    Raises:
        QueryError: Spark refused the query, or it failed on a row.
        ModuleError: Python code that the query calls failed.
    """
    try:
        with unlogged():
            yield
    except (PythonException, StreamingQueryException) as error:
        raise ModuleError(cause_first(error)) from error
    except PySparkException as error:
        raise query_error(error) from error
