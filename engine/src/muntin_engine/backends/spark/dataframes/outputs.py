"""The outputs of a query as a query writer gets them: DataFrames of typed rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pyspark.sql import DataFrame

from muntin_engine.backends.backend import EventRows
from muntin_engine.backends.planned_query import Selection
from muntin_engine.backends.planning.output_events import check_output_events, check_output_watermark
from muntin_engine.backends.planning.read_columns import orders_by_name
from muntin_engine.backends.spark.dataframes.pipeline import output_blobs, typed_rows
from muntin_engine.backends.spark.dataframes.pipeline_order import ordered_after_input_tables
from muntin_engine.backends.spark.dataframes.result_schemas import evicted_schema, refused_schema, result_schema
from muntin_engine.backends.spark.dataframes.result_watermark import with_watermark
from muntin_engine.backends.spark.dataframes.results_as_events import event_columns, event_rows
from muntin_engine.backends.spark.dataframes.selected_results import reselected, selected
from muntin_engine.backends.spark.failures.result_errors import with_clear_errors
from muntin_engine.backends.spark.failures.root_cause import module_first
from muntin_engine.backends.spark.inputs.column_lookup import look_up
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.plan.request import backquoted
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, RESULTS

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan.request import ColumnLike


@in_session()
def results(query: PlannedQuery, watermark: str | None = None) -> DataFrame:
    """Return the results of a query; see `Query.results`.

    Args:
        query: The query.
        watermark: The name of one more column, which carries Spark's watermark; None for no such column.
    """
    schema = result_schema(query)
    blobs = ordered_after_input_tables(query, output_blobs(query))
    if watermark is None:
        all_columns = typed_rows(blobs, RESULTS, schema)
        rows = selected(all_columns, query.selection)
    else:
        check_output_watermark(query, is_stream=query.source.df.isStreaming)
        all_columns = with_watermark(query, watermark, blobs, schema)
        rows = selected(all_columns, query.selection, always=(watermark,))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


@in_session()
def refused_rows(query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> DataFrame:
    """Return the late or the rejected rows of a query."""
    # A query drops late rows unless something reads them. So a query that keeps them runs instead of this one.
    running_query = query.with_late_rows() if output == LATE_ROWS else query
    blobs = ordered_after_input_tables(running_query, output_blobs(running_query, warns=False))
    rows = typed_rows(blobs, output, refused_schema(query))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


@in_session()
def evicted_rows(query: PlannedQuery) -> DataFrame:
    """Return the rows of the second output, which modules give for rows that leave a window."""
    blobs = ordered_after_input_tables(query, output_blobs(query, warns=False))
    rows = typed_rows(blobs, EVICTED_ROWS, evicted_schema(query))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


def show(query: PlannedQuery, rows: int, *, truncate: bool | int) -> None:
    """Print the first results of a query in the order of their windows.

    Args:
        query: The query.
        rows: The number of results.
        truncate: True to cut values after 20 characters, or the number of characters; False to cut none.
    """
    keys = [backquoted(key.name) for key in query.plan.keys]
    with module_first():
        # Results are put in order before columns are selected, as these may leave the window out.
        ordered = results(replace(query, selection=Selection())).orderBy(query.plan.extent_column, *keys)
        selected(ordered, query.selection).show(rows, truncate)


@in_session()
def select_results(query: PlannedQuery, columns: Mapping[str, str] | None, condition: str | None) -> Selection:
    """Return the selection of a query with other columns, or with one more condition; see `reselected`."""
    return reselected(query.source.df, result_schema(query), query.selection, columns=columns, condition=condition)


@in_session()
def output_as_events(query: PlannedQuery, output: str, order: ColumnLike | tuple[ColumnLike, ...] | None) -> EventRows:
    """Return an output of a query as events of another one, with the watermarks of its buckets as punctuation.

    Args:
        query: The query.
        output: The output: the results, or the evicted rows.
        order: The columns by which the other query orders rows; None for none.

    Raises:
        QueryError: The query has no such output, or the output has no such column to order rows by.
    """
    check_output_events(query, is_stream=query.source.df.isStreaming)
    schema = result_schema(query) if output == RESULTS else evicted_schema(query)
    rows = event_rows(query, output_blobs(query), schema, output)
    # Called for its error: the rows must have the columns of the order.
    look_up(rows, orders_by_name(order), readers={})
    return EventRows(rows, event_columns(query.plan, output))
