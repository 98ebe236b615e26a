"""Select the rows and columns of results that a query writer asked for, by `select` and `where`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin.errors import QueryError
from muntin_engine.backends.planned_query import Selection
from muntin_engine.backends.spark.inputs.column_lookup import condition_of, look_up
from muntin_engine.backends.spark.inputs.declared_frames import with_columns_if_declared
from muntin_engine.plan.request import SqlExpression, backquoted


def selected(rows: DataFrame, selection: Selection, always: tuple[str, ...] = ()) -> DataFrame:
    """Select rows and columns of results.

    Args:
        rows: The results, with all their columns.
        selection: The selection of the query.
        always: Columns that are kept whether or not they are selected. The columns of changes, such as `event_id`, are
            always kept as well.
    """
    if selection.condition is not None:
        rows = rows.where(selection.condition)
    if not selection.columns:
        return rows
    columns = [F.expr(text).alias(name) for name, text in selection.columns.items()]
    # `names` has the selected columns first, and then those that are kept in any case.
    other_names = selection.names(rows.columns, always)[len(columns) :]
    return rows.select(*columns, *other_names)


def reselected(
    source: DataFrame,
    schema: spark_types.StructType,
    selection: Selection,
    columns: Mapping[str, str] | None = None,
    condition: str | None = None,
) -> Selection:
    """Return a selection with other columns, or with one more condition.

    Args:
        source: The input of the query. Its session analyses the expressions, unless its columns are declared.
        schema: The schema of the results.
        selection: The selection of the query so far.
        columns: The other columns; None to leave the columns as they are.
        condition: The condition.

    Raises:
        QueryError: Spark cannot compute a column or the condition.
    """
    # The results need not exist: Spark analyses expressions over a DataFrame that has their schema and no rows.
    spark = source.sparkSession
    empty = with_columns_if_declared(source, spark.createDataFrame([], schema), schema)
    if columns is not None:
        if not columns:
            raise QueryError("select() needs columns: select('station', start='window.start')")
        expressions = {name: SqlExpression(text) for name, text in columns.items()}
        look_up(empty, expressions, readers=dict.fromkeys(columns, "select()"))
        # A selection of aggregates alone, such as `max(km)`, is legal in Spark and has one row. To have Spark refuse
        # aggregates, a plain column is selected beside them.
        try:
            empty.select(*map(F.expr, columns.values()), F.col(backquoted(empty.columns[0])))
        except AnalysisException as error:
            raise QueryError(
                f"select() aggregates results in {', '.join(columns.values())}, which come one by one\n"
                "  aggregate them in windows of another query: query.as_events().window(...)"
            ) from error
        selection = replace(selection, columns=dict(columns))
    if condition is not None:
        condition_of(empty, condition)  # called for its error: Spark must be able to compute the condition
        if selection.condition is not None:
            condition = f"({selection.condition}) AND ({condition})"
        selection = replace(selection, condition=condition)
    return selection
