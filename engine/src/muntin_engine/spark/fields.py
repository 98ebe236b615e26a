"""The names and types that columns, named or expressed, have in an input."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin.errors import QueryError

if TYPE_CHECKING:
    from muntin_engine.api.request import ColumnLike


_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers of exceptions that come from an expression."""


def as_column(column: Any) -> Column:
    """Return a column, which may be given by its name."""
    return F.col(column) if isinstance(column, str) else column


def fields_of(
    df: DataFrame, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
) -> dict[str, spark_types.StructField]:
    """Return the names and types that columns have in the input; those that are None are left out.

    Args:
        df: The input.
        columns: By name.
        readers: By that name, who reads a column, where that is another one.

    Raises:
        QueryError: The input does not have one of them.
    """
    given = {name: column for name, column in columns.items() if column is not None}
    if not given:
        return {}
    known = {part.casefold() for part in df.columns}
    for name, column in given.items():
        if isinstance(column, str) and column.isidentifier() and column.casefold() not in known:
            raise _no_such_column(df, readers.get(name, name), column)
    try:
        with _unlogged():
            found = df.select(*map(as_column, given.values())).schema.fields
    except AnalysisException as error:
        if len(given) > 1:  # Spark does not say which one
            for name, column in given.items():
                fields_of(df, {name: column}, readers)
        name, column = next(iter(given.items()))
        raise _no_such_column(df, readers.get(name, name), column, error) from error
    if len(found) != len(given):
        name, named = next(iter(given)), ", ".join(map(str, given.values()))
        raise QueryError(f"{readers.get(name, name)} names several columns with one of {named}\n  name each one")
    return dict(zip(given, found, strict=True))


def _no_such_column(
    df: DataFrame, reader: str, column: ColumnLike, reason: AnalysisException | None = None
) -> QueryError:
    """Return the error for a column that Spark does not find, or cannot compute, in the input."""
    spelled = repr(column) if isinstance(column, str) else str(column)
    expression = column if isinstance(column, str) else spelled.removeprefix("Column<'").removesuffix("'>")
    condition = "" if reason is None else str(reason.getCondition())
    parameters = {} if reason is None else reason.getMessageParameters() or {}
    if reason is None or "UNRESOLVED_COLUMN" in condition:
        parts = re.findall(r"`((?:[^`]|``)*)`", parameters.get("objectName", ""))
        name = ".".join(part.replace("``", "`") for part in parts) or expression
        within = "" if name == expression else f", in {expression}"
        close = difflib.get_close_matches(name, df.columns, n=1)
        suggestion = f"\n  did you mean {close[0]!r}?" if close else ""
        if isinstance(column, str) and re.search(r"[-+*/%()<>=]", column) and "`" not in column:
            suggestion += f"\n  text is the name of a column; an expression is F.expr({column!r})"
        return QueryError(
            f"{reader} reads {name!r}{within}, and the input has no such column{suggestion}\n"
            f"  it has {', '.join(df.columns)}"
        )
    if condition == "UNRESOLVED_ROUTINE":
        function = parameters.get("routineName", "").strip("`")
        return QueryError(f"{reader} calls {function!r}, in {expression}, and Spark has no function of that name")
    if condition == "AMBIGUOUS_REFERENCE":
        folded = [name.casefold() for name in df.columns]
        alike = [name for name in df.columns if folded.count(name.casefold()) > 1]
        return QueryError(
            f"{reader} reads {spelled}, and Spark does not tell upper from lower case: there are {', '.join(alike)}\n"
            "  expected: names that differ otherwise; rename some before events(), for example with df.toDF(...)"
        )
    said = next(line for line in (*str(reason).splitlines(), condition) if line)  # that of the parser starts empty
    return QueryError(f"{reader} reads {spelled}, which Spark refuses: {said}")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from logging exceptions, with all that the JVM was doing, that are raised again in our words."""
    loggers = [logger for logger in map(PySparkLogger.getLogger, _LOGGERS) if not logger.disabled]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger in loggers:
            logger.disabled = False
