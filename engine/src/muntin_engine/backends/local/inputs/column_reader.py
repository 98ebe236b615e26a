"""The columns and the projection of a table in this process, as the planner asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from muntin_engine.backends.local.expressions.called_function import functions_in
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.local_frame import opened
from muntin_engine.backends.local.inputs.column_lookup import TextColumn, column_expression, look_up_column
from muntin_engine.backends.local.inputs.local_rows import LocalRows, micro_batch_of
from muntin_engine.backends.local.inputs.time_marks import marks_of
from muntin_engine.backends.planned_query import ProjectedRows
from muntin_engine.backends.planning.column_reader import ColumnReader
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    from muntin import Function
    from muntin_engine.plan.lengths import AxisScale
    from muntin_engine.plan.request import ColumnLike, InputRequest


class LocalColumnReader(ColumnReader):
    """Looks up columns of tables, and projects them with DuckDB.

    A column is a name, a path into a struct, or an expression in Spark's SQL: text that is none of the first two.
    """

    def is_stream(self, df: object) -> bool:
        """True for a stream of a job under test, or rows that are computed of one; tables end."""
        return micro_batch_of(df) is not None

    def look_up(
        self, df: object, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
    ) -> dict[str, InputColumn]:
        """Describe columns of a table by name; columns that are None are left out."""
        frame = opened(df)
        input_columns: dict[str, InputColumn] = {}
        for name, column in columns.items():
            if column is not None:
                input_columns[name] = look_up_column(frame, column, readers.get(name, name))
        return input_columns

    def as_text(self, df: object, column: ColumnLike) -> ColumnLike:
        """Cast a column of a table to text."""
        del df
        return TextColumn(column)

    def conjunction(self, conditions: Sequence[ColumnLike]) -> ColumnLike:
        """Make a column that says whether a row meets all conditions."""
        return SqlExpression(" AND ".join(f"({condition})" for condition in conditions))

    def project(
        self,
        request: InputRequest,
        columns: Mapping[str, ColumnLike],
        identities: Mapping[str, str],
        scale: AxisScale,
    ) -> tuple[LocalRows, ProjectedRows]:
        """Project the columns that a query reads, with rows of heartbeats and clocks; they are read when it runs."""
        frame = opened(request.df)
        projected: dict[str, Any] = dict(columns)
        expressions: dict[str, DuckdbExpression] = {}
        for name, column in columns.items():
            expressions[name] = column_expression(frame, column, name)

        # The column of changes tells rows of punctuation and of a clock from events, so events need the column, too.
        has_marks = bool(request.heartbeats) or request.clock is not None
        if has_marks and "change" not in columns:
            projected["change"] = None  # no column of the input
            expressions["change"] = DuckdbExpression("'insert'", pa.string())
        condition = None if request.rows is None else column_expression(frame, request.rows, "rows").sql

        # Functions of plugins are found by their names in DuckDB's SQL, in all that is computed of the table.
        sqls = [expression.sql for expression in expressions.values()]
        if condition is not None:
            sqls.append(condition)
        functions = (*frame.called_functions(), *functions_in(*sqls))
        rows = LocalRows(frame, expressions, condition, functions=functions)
        if has_marks:
            rows = replace(rows, marks=marks_of(request, rows.schema, scale))
        projected_rows = ProjectedRows(
            df=frame.origin, columns=projected, column_texts=identities, condition=request.rows
        )
        return rows, projected_rows

    def called_functions(self, df: LocalRows) -> Iterable[Function[..., Any]]:
        """Return the functions that the expressions of projected rows call."""
        return [called.function for called in df.functions]
