"""Detect the end of a query's session by the errors that PySpark raises then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.errors import AnalysisException, PySparkException

from muntin_engine.backends.spark.session.classic import Py4JError, Py4JNetworkError
from muntin_engine.backends.spark.session.declarative_pipelines import without_schema
from muntin_engine.errors import SessionEndedError

_STOPPED: Final = ("stopped SparkContext", "SparkContext was shut down", '"jsc" is null')


@contextmanager
def in_session() -> Iterator[None]:
    """Raise a `SessionEndedError` for an error of the block that means that the session has ended.

    The session is not asked beforehand whether it has ended: that would cost a call for each use, and it may end after
    the call. An error of Spark about columns in a declarative pipeline becomes an error with advice, too.

    Raises:
        SessionEndedError: The session has ended.
        QueryError: Spark was asked for columns where a pipeline is defined.
    """
    try:
        yield
    except AnalysisException as error:
        query_error = without_schema(error)
        if query_error is None:
            raise
        raise query_error from error
    except (Py4JError, PySparkException, OSError, AttributeError, AssertionError) as error:
        # OSError: the JVM cannot be reached. AttributeError, AssertionError: the context that PySpark uses is None.
        if is_cut_off(error):
            raise SessionEndedError(f"its JVM does not answer ({error})") from error
        if _is_stopped(error):
            raise SessionEndedError("it was stopped") from error
        raise


def has_ended(error: BaseException) -> bool:
    """Return True if an error means that the session has ended, and not that the session refuses something."""
    return is_cut_off(error) or _is_stopped(error)


def is_cut_off(error: BaseException) -> bool:
    """Return True if an error means that the JVM does not answer."""
    if isinstance(error, Py4JNetworkError):
        return True
    return isinstance(error, OSError) and _is_raised_in(error, "py4j")  # Py4J could not connect to the JVM


def _is_stopped(error: BaseException) -> bool:
    """Return True if an error is one that PySpark raises in a session that was stopped.

    The context of the session is None then. Parts of PySpark use it without looking, and fail with an error of Python.
    """
    if isinstance(error, AttributeError | AssertionError):  # an `assert` of PySpark's has no text
        return _is_raised_in(error, "pyspark") and ("'NoneType'" in str(error) or not str(error))
    return any(words in str(error) for words in _STOPPED)


def _is_raised_in(error: BaseException, package: str) -> bool:
    """Return True if the code of a package raised an error."""
    # The last frame is the one that raised. Without a traceback, the error was never raised.
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and package in Path(trace.tb_frame.f_code.co_filename).parts
