"""Failures of a text of SQL that Spark runs, told as errors of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException, PythonException, StreamingQueryException

from muntin.errors import ModuleError
from muntin_engine.spark.columns import unlogged
from muntin_engine.spark.failures import cause_first
from muntin_engine.sql_text.spark_errors import from_spark


@contextmanager
def failures_in_sql(text: str, tables: Iterable[str] = ()) -> Iterator[None]:
    """Raise what Spark raises in the block as errors of ours, at their places in a text.

    Args:
        text: The text of SQL that the block runs.
        tables: The names of the tables that it may read.

    Raises:
        QueryError: Spark refused the text, or failed on a row.
        ModuleError: Python code that the query calls failed.
    """
    try:
        with unlogged():
            yield
    except (PythonException, StreamingQueryException) as error:
        raise ModuleError(cause_first(error)) from error
    except PySparkException as error:
        raise from_spark(text, error, tables) from error
