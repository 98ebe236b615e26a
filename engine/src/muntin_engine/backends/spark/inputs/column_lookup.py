"""The columns of a DataFrame, named or expressed: their names and types."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException, PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin.errors import QueryError
from muntin.errors.messages import Earlier
from muntin_engine.backends.planning.read_columns import check_condition
from muntin_engine.backends.spark.column_types import input_column
from muntin_engine.backends.spark.inputs.declared_frames import is_known, look_up_known
from muntin_engine.plan.request import BackendColumn, SqlExpression, has_operator, is_expression

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import ColumnLike


_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers of exceptions that come from an expression."""


def as_column(df: DataFrame, column: ColumnLike) -> Column:
    """Return a column of an input as a column of Spark's; text is the name of a column, or an expression in SQL."""
    if not isinstance(column, str):
        return spark_column(column)
    return F.expr(column) if _is_expression(df, column) else F.col(column)


def spark_column(column: Column | BackendColumn) -> Column:
    """Return a column that a query writer gave as an object, which must be one of Spark's."""
    assert not isinstance(column, BackendColumn), "a column of another backend reads no DataFrame of Spark's"
    return column


def _named_column(df: DataFrame, column: ColumnLike) -> Column:
    """Return a column of an input; an expression that is given as text gets its text as its name.

    Spark would name it by a spelling of its own, and its description has the text of the query writer.
    """
    named_column = as_column(df, column)
    if isinstance(column, str) and _is_expression(df, column):
        return named_column.alias(column)
    return named_column


def _is_expression(df: DataFrame, text: str) -> bool:
    """Return True if a text is an expression in SQL, and not the name of a column.

    Spark is asked for the names of the columns only if the text has an operator: a name may have one too.
    """
    if isinstance(text, SqlExpression):
        return True
    return has_operator(text) and is_expression(text, df.columns)


def text_of_column(df: DataFrame, column: Column) -> str | None:
    """Return an expression in SQL that means the same over a DataFrame as a column; None if none is known."""
    try:
        with unlogged():
            # Spark spells an expression in SQL when it names a column after it, and when it prints a column. Neither
            # text is meant to be read again: it is returned only if Spark says that it means the same as the column.
            name_of_column = df.select(column).columns[0]
            printed_column = str(column).removeprefix("Column<'").removesuffix("'>")
            for text in (name_of_column, printed_column):
                with suppress(PySparkException):  # an alias, for example, is no expression over the DataFrame
                    if df.select(F.expr(text).alias("c")).sameSemantics(df.select(column.alias("c"))):
                        return text
            return None
    except PySparkException:
        return None


def look_up(
    df: DataFrame, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
) -> dict[str, InputColumn]:
    """Return the names and types that columns have in the input; columns that are None are left out.

    Args:
        df: The input.
        columns: The columns, by the name of the argument that has them.
        readers: By the same name, the spelling in errors of what reads the column, such as `select()`; the name itself
            if it is missing here.

    Raises:
        QueryError: The input does not have one of the columns, or Spark cannot compute it.
    """
    named_columns = {name: column for name, column in columns.items() if column is not None}
    if not named_columns:
        return {}

    # If the query writer has declared the columns, Spark is not asked.
    if is_known(df):
        return look_up_known(df, named_columns, readers)

    # For a plain name Spark need not analyse anything, and the error can be clearer.
    with unlogged():
        input_names = {part.casefold() for part in df.columns}
    for name, column in named_columns.items():
        is_name = isinstance(column, str) and not isinstance(column, SqlExpression) and column.isidentifier()
        if is_name and str(column).casefold() not in input_names:
            raise _no_such_column(df, readers.get(name, name), column)

    # All columns are analysed at once: each analysis is a call of the JVM, or of the server.
    try:
        with unlogged():
            fields = df.select(*(_named_column(df, column) for column in named_columns.values())).schema.fields
    except AnalysisException as error:
        if len(named_columns) > 1:
            # Spark does not say which column it refuses. So each is looked up alone, until one of them raises.
            for name, column in named_columns.items():
                look_up(df, {name: column}, readers)
        # There is only one column; or Spark takes each of them alone, and the error names the first one.
        name, column = next(iter(named_columns.items()))
        raise _no_such_column(df, readers.get(name, name), column, error) from error
    if len(fields) != len(named_columns):  # a text with a star, such as "reading.*", stands for several columns
        name = next(iter(named_columns))
        spelled = ", ".join(map(str, named_columns.values()))
        raise QueryError(f"{readers.get(name, name)} names several columns with one of {spelled}\n  name each one")
    return dict(zip(named_columns, map(input_column, fields), strict=True))


def _no_such_column(
    df: DataFrame, reader: str, column: ColumnLike, reason: AnalysisException | None = None
) -> QueryError:
    """Return the error for a column that the input does not have, or that Spark cannot compute from it.

    Args:
        df: The input.
        reader: The spelling in errors of what reads the column.
        column: The column.
        reason: The error of Spark; None if the column is a name that the input does not have.
    """
    spelled = repr(column) if isinstance(column, str) else str(column)
    expression = column if isinstance(column, str) else spelled.removeprefix("Column<'").removesuffix("'>")
    condition = "" if reason is None else str(reason.getCondition())
    parameters = {} if reason is None else reason.getMessageParameters() or {}

    if reason is None or "UNRESOLVED_COLUMN" in condition:
        # Spark's error has the name that it looked for, each part of it in backquotes.
        parts = re.findall(r"`((?:[^`]|``)*)`", parameters.get("objectName", ""))
        name = ".".join(part.replace("``", "`") for part in parts) or expression
        close_names = difflib.get_close_matches(name, df.columns, n=1)
        suggestion = f"\n  did you mean {close_names[0]!r}?" if close_names else ""
        return QueryError(
            "{reader} reads {value!r}{within}, and the input has no such column{suggestion}\n  it has {columns}",
            value=name,
            reader=reader,
            within="" if name == expression else f", in {expression}",
            suggestion=suggestion,
            columns=", ".join(df.columns),
        )
    if condition == "UNRESOLVED_ROUTINE":
        function = parameters.get("routineName", "").strip("`")
        return QueryError(
            "{reader} calls {value!r}, in {expression}, and Spark has no function of that name",
            value=function,
            reader=reader,
            expression=expression,
        )
    if condition == "AMBIGUOUS_REFERENCE":
        lower_names = [name.casefold() for name in df.columns]
        ambiguous_names = [name for name in df.columns if lower_names.count(name.casefold()) > 1]
        return QueryError(
            "{reader} reads {written}, and Spark does not tell upper from lower case: there are {alike}\n"
            "  expected: names that differ otherwise; rename some {before_events}, for example with df.toDF(...)",
            value=expression,
            reader=reader,
            written=spelled,
            alike=", ".join(ambiguous_names),
            before_events=Earlier("events"),
        )

    # The message of Spark's parser begins with an empty line.
    first_line = next(line for line in (*str(reason).splitlines(), condition) if line)
    return QueryError(
        "{reader} reads {written}, which Spark refuses: {reason}",
        value=expression,
        reader=reader,
        written=spelled,
        reason=first_line,
    )


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark from logging the exceptions of a block: the caller raises them again with a clearer message."""
    loggers = [logger for logger in map(PySparkLogger.getLogger, _LOGGERS) if not logger.disabled]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


def condition_of(df: DataFrame, condition: ColumnLike, call: str = "where({})") -> ColumnLike:
    """Check a condition on the rows of an input, and return it as a column.

    If the query writer has declared the columns of the input, the condition is returned as text.

    Args:
        df: The input.
        condition: The condition.
        call: The call that takes the condition, for errors, with `{}` for its argument.

    Raises:
        QueryError: The condition is no column or no boolean, or reads columns that the input does not have.
    """
    column: ColumnLike = condition
    if isinstance(condition, str):
        column = SqlExpression(condition) if is_known(df) else F.expr(condition)
    reader = call.partition("(")[0]  # such as `where`
    if not isinstance(column, Column | SqlExpression):
        raise QueryError(f"{call.format('')} takes a condition on columns, such as 'km > 2', got {condition!r}")
    described_column = look_up(df, {reader: column}, readers={})[reader]
    check_condition(described_column, call)
    return column
