"""The call `sql`: a text of SQL is translated into the calls of a query, which are then made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, overload

from muntin.catalog import installed
from muntin.errors import QueryError
from muntin_engine.api.input_types import FrameT
from muntin_engine.api.query import Query
from muntin_engine.api.text.kinds import ProgramClasses
from muntin_engine.api.text.reading import QueryReader
from muntin_engine.backends.choosing import backend_of_all, is_stream, local_backend, spark_backend
from muntin_engine.needed import required_module
from muntin_engine.plan.query_checks import check_progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from muntin_engine.backends.backend import Backend


@overload
def sql(
    spark: SparkSession | ConnectSession, text: str, /, *, modules: Iterable[Any] = (), **tables: DataFrame
) -> Query[DataFrame]: ...


@overload
def sql(text: str, /, *, modules: Iterable[Any] = (), **tables: FrameT) -> Query[FrameT]: ...


def sql(session_or_text: Any, text: str | None = None, /, *, modules: Iterable[Any] = (), **tables: Any) -> Query[Any]:
    """Return the query that a text of SQL describes: `sql(spark, text, rides=df)`, or `sql(text, rides=frame)`.

    The dialect is Spark's SQL with the window functions of the standard and of Flink, `TUMBLE`, `HOP`, `CUMULATE` and
    `SESSION`, and Muntin's own; modules are called by their names, their parameters by `name => value`. Tables and
    expressions go to Spark as they are written. Over tables in this process they mean the same, or are refused.

    Args:
        session_or_text: The session, whose tables and views the text may name; or the text.
        text: One query over windows, joined streams or patterns of rows.
        modules: Modules that are not installed, as for `query_from_dict`.
        tables: Tables by the names that the text has for them: DataFrames of Spark's, or tables in this process.

    Raises:
        QueryError: The text is not such a query. The message shows the line with a caret below the place, and the
            closest name.
        SetupError: `sqlglot` is not installed.

    Example:
        >>> hours = sql(spark, '''
        ...     SELECT station, window_start, AVG(km) AS km
        ...     FROM TUMBLE(TABLE rides WATERMARK DELAY OF INTERVAL '10' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
        ...     GROUP BY station, window_start, window_end
        ... ''', rides=df)  # doctest: +SKIP
    """
    if isinstance(session_or_text, str):
        if text is not None:
            raise QueryError("a table has a name\n  write sql(text, rides=frame)")
        return _query(session_or_text, session=None, modules=modules, tables=tables)
    if text is None:
        raise QueryError("the text is missing\n  write sql(spark, text), or sql(text, rides=frame)")
    return _query(text, session=session_or_text, modules=modules, tables=tables)


def _query(text: str, *, session: Any, modules: Iterable[Any], tables: Mapping[str, Any]) -> Query[Any]:
    """Return the query that a text of SQL describes; see `sql`.

    Args:
        text: The text.
        session: The session of Spark; None to run the query where its tables are.
        modules: Modules that are not installed.
        tables: Tables by the names that the text has for them.

    Raises:
        QueryError: The text is not a query, or the query is refused; the message shows the place in the text.
        SetupError: `sqlglot` is not installed.
    """
    required_module("sqlglot", feature="sql(...)", extra="sql")
    from muntin_engine.sql_text.call_errors import call_error
    from muntin_engine.sql_text.query_reading import read
    from muntin_engine.sql_text.sql_source import SqlText
    from muntin_engine.sql_text.step_forms import packed

    program_modules = tuple(modules)
    classes = ProgramClasses.of(program_modules).classes

    def is_operator(name: str) -> bool:
        """Return True if the module of a name returns rows."""
        cls = classes.get(name) or installed().module(name)
        return bool(getattr(cls, "is_operator", False))

    backend = _backend(session, tables)

    def read_table(table: Any) -> Any:
        """Return a table by its name, or the rows of a query of Spark's, which is data such as `{"sql": ...}`."""
        return backend.table(session, table, tables)

    # The text is read into steps, each a call of the API, as they would be written in Python.
    source = SqlText(text)
    steps = read(source, is_operator, classes)
    if steps is None:
        runs_it = "DuckDB runs it: duckdb.sql(...)" if session is None else "Spark runs it: spark.sql(...)"
        raise QueryError(f"the text has no window, no joined streams and no pattern\n  {runs_it}")

    # The calls make the query and check it. An error of a call becomes one at the place of the call in the text.
    try:
        query = QueryReader(read_table, program_modules).query(packed(steps))
        # `results` and `write` check the progress of streams as well, but their errors have no place in the text.
        if is_stream(query.source.df):
            for plan in query.plans:
                check_progress(plan)
    except QueryError as error:
        raise call_error(source, steps, error) from error
    return query


def is_streaming_sql(text: str) -> bool:
    """Return True if a text is a query of windows, streams or patterns, and False if Spark alone can run it.

    Raises:
        QueryError: The text is not SQL.
        SetupError: `sqlglot` is not installed.
    """
    required_module("sqlglot", feature="sql(...)", extra="sql")
    from muntin_engine.sql_text.dialect import parse
    from muntin_engine.sql_text.stream_reading import is_streaming

    return is_streaming(parse(text))


def plain_sql(text: str, tables: Mapping[str, Any]) -> Any:
    """Run a query of Spark's SQL without windows over tables in this process, and return its rows as a table.

    Args:
        text: The query.
        tables: The tables by name.

    Returns:
        A table that Arrow can read.

    Raises:
        QueryError: There is no such table, or the query has a part that may not mean the same without Spark. The
            message shows the line with a caret below the place.
        SetupError: `duckdb` or `sqlglot` is not installed.
    """
    from muntin_engine.sql_text.refused_sql import placed

    try:
        return local_backend().table(None, {"sql": text}, tables)
    except QueryError as error:
        raise placed(text, error) from error


def errors_in_sql(text: str) -> AbstractContextManager[None]:
    """Return a context for code that runs a text of SQL in this process.

    If a row cannot be computed there, the context raises a `QueryError` with the place of the fault in the text.

    Args:
        text: The text of SQL.
    """
    from muntin_engine.sql_text.refused_sql import placed

    return local_backend().failures_as(lambda error: placed(text, error))


def spark_errors_in_sql(text: str, tables: Collection[str] = ()) -> AbstractContextManager[None]:
    """Return a context for code that runs a text of SQL on Spark.

    If Spark refuses the text or fails on a row there, the context raises a `QueryError` with the place in the text. If
    Python code that the query calls fails, it raises a `ModuleError`.

    Args:
        text: The text of SQL.
        tables: The names of the tables that the text may read, for advice where one is missing.
    """
    from muntin_engine.sql_text.spark_errors import from_spark

    return spark_backend().failures_as(lambda error: from_spark(text, error, tables))


def _backend(session: Any, tables: Mapping[str, Any]) -> Backend:
    """Return the backend that a session and tables belong to.

    Args:
        session: The session of Spark; None without one.
        tables: The tables by name.

    Raises:
        QueryError: There is neither a session nor a table, or they are of several backends.
    """
    inputs = [*tables.values()] if session is None else [session, *tables.values()]
    if not inputs:
        raise QueryError("the text has no tables to read\n  write sql(text, rides=frame), or sql(spark, text)")
    return backend_of_all(inputs)
