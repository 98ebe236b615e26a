"""The columns and the projection of a DataFrame, as the planner asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin_engine.backends.planned_query import ProjectedRows
from muntin_engine.backends.planning.column_reader import ColumnReader
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.backends.spark.column_types import input_column, spark_schema_of
from muntin_engine.backends.spark.inputs import called_functions, column_lookup
from muntin_engine.backends.spark.inputs.declared_frames import (
    checked_expression,
    is_known,
    text_cast,
    with_columns_if_declared,
)
from muntin_engine.backends.spark.inputs.time_marks import Marks, marks_of, with_marks
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    from muntin import Function
    from muntin_engine.plan.lengths import AxisScale
    from muntin_engine.plan.request import ColumnLike, InputRequest


class SparkColumnReader(ColumnReader):
    """Looks up columns of DataFrames, and projects them in Spark SQL."""

    def is_stream(self, df: DataFrame) -> bool:
        """True if a DataFrame was read with `readStream`."""
        return df.isStreaming

    def look_up(
        self, df: DataFrame, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
    ) -> dict[str, InputColumn]:
        """Look up columns of a DataFrame."""
        return column_lookup.look_up(df, columns, readers)

    def as_text(self, df: DataFrame, column: ColumnLike) -> ColumnLike:
        """Cast a column to text."""
        if is_known(df):
            return text_cast(df, column)
        return column_lookup.as_column(df, column).cast("string")

    def conjunction(self, conditions: Sequence[Any]) -> ColumnLike:
        """Make a column that says whether a row meets all conditions.

        Conditions are texts if the query writer has declared the columns, and otherwise columns of Spark's.
        """
        if all(isinstance(condition, str) for condition in conditions):
            return SqlExpression(" AND ".join(f"({condition})" for condition in conditions))
        condition: Column = reduce(and_, conditions)
        return condition

    def project(
        self,
        request: InputRequest,
        columns: Mapping[str, ColumnLike],
        identities: Mapping[str, str],
        scale: AxisScale,
    ) -> tuple[DataFrame, ProjectedRows]:
        """Project the columns that a query reads, with the rows of heartbeats and clocks among those of the input.

        Args:
            request: The input.
            columns: The columns to project, by their names in the projection.
            identities: For each of these columns that is a plain column of the input, a text by its name. By this text
                queries of one pass recognize a column that several of them read.
            scale: The meaning of the input's times, such as their unit.

        Returns:
            The projected rows, and the parts that they are made of.
        """
        # The columns as Spark computes them. With a declared schema Spark is not asked for their types: each computed
        # column checks, when the query runs, that it has the planned type.
        projected = {name: column_lookup.as_column(request.df, column) for name, column in columns.items()}
        planned_types: dict[str, InputColumn] = {}
        if is_known(request.df):
            planned_types = column_lookup.look_up(request.df, columns, readers={})
            for name, column in columns.items():
                is_plain_column = isinstance(column, str) and column in request.df.columns
                if not is_plain_column:  # `declared` has added the check to the plain columns
                    projected[name] = checked_expression(projected[name], planned_types[name])

        # Rows of heartbeats and clocks, the marks, say in a column `change` that they are no events.
        has_marks = bool(request.heartbeats) or request.clock is not None
        if has_marks and "change" not in projected:
            projected["change"] = F.lit("insert")
            planned_types["change"] = InputColumn("change", type=pa.string(), spelled_type="string")

        # The rows that meet the condition of the query.
        condition = None if request.rows is None else column_lookup.as_column(request.df, request.rows)
        source = request.df if condition is None else request.df.where(condition)
        rows = source.select(*(column.alias(name) for name, column in projected.items()))
        if is_known(request.df):
            schema = spark_schema_of(pa.schema([(name, planned_types[name].type) for name in projected]))
            rows = with_columns_if_declared(request.df, rows, schema)

        # The rows of heartbeats and clocks, with the delays of heartbeats in ticks.
        marks: Marks = ()
        if has_marks:
            heartbeats = []
            for heartbeat in request.heartbeats:
                delay = scale.resolve(heartbeat.delay, "delay of a heartbeat")
                heartbeats.append(replace(heartbeat, delay=delay))
            marks = marks_of(input_column(rows.schema["start"]), heartbeats, request.clock, scale)
        marked_rows = with_marks(rows, marks)
        if is_known(rows):
            marked_rows = with_columns_if_declared(rows, marked_rows, rows.schema)
        parts = ProjectedRows(request.df, columns=projected, column_texts=identities, condition=condition, marks=marks)
        return marked_rows, parts

    def called_functions(self, df: DataFrame) -> Iterable[Function[..., Any]]:
        """Return the registered functions that the expressions of a DataFrame call."""
        return called_functions.called_functions(df)
