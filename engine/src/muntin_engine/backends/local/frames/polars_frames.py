"""Data frames of Polars, computed or lazy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.frames.arrow_columns import ArrowColumn, columns_of_arrow, for_duckdb, is_from
from muntin_engine.backends.local.frames.frame_kind import (
    FrameColumns,
    FrameKind,
    changed_since,
    reason_of,
)


class PolarsFrame(FrameKind):
    """A `polars.DataFrame`."""

    word: ClassVar[str] = "Polars column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of Polars."""
        return is_from(frame, "polars", "DataFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        return self._columns_of_schema(connection, frame.schema)

    def _columns_of_schema(self, connection: duckdb.DuckDBPyConnection, schema: Any) -> FrameColumns:
        """Describe the columns of a schema of Polars, by the Arrow data that an empty frame of it gives."""
        import polars

        columns: list[ArrowColumn] = []
        for column in schema.to_frame():
            data_type = None
            if not column.dtype.is_(polars.Object):  # Arrow would get the addresses of such objects
                with suppress(pa.ArrowInvalid):  # pyarrow refuses whole numbers of 128 bits
                    data_type = _table_of_polars(column.to_frame()).schema.field(0).type
            columns.append(ArrowColumn(column.name, data_type, str(column.dtype)))
        return columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows."""
        return connection.from_arrow(for_duckdb(self.table_in_memory(frame, names)))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table | None:
        """Return columns of a frame as Arrow data.

        Raises:
            QueryError: The frame does not have a column any more.
        """
        for name in names:
            if name not in frame.columns:
                raise changed_since(f"the frame has no column {name!r} any more")
        return _table_of_polars(type(frame)([frame.get_column(name) for name in names]))

    def row_count(self, frame: Any) -> int | None:
        """Return the number of its rows."""
        return len(frame)

    def result(self, rows: pa.Table) -> Any:
        """Return a DataFrame."""
        import polars

        return polars.from_arrow(rows)


class LazyPolarsFrame(PolarsFrame):
    """A `polars.LazyFrame`, which is computed in batches while its rows are read."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a LazyFrame of Polars."""
        return is_from(frame, "polars", "LazyFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        return self._columns_of_schema(connection, _schema_of_lazy(frame))

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of a lazy frame, which is computed while the relation is read."""
        import polars.selectors

        read_frame = frame.select(polars.selectors.by_name(*names))
        schema = _table_of_polars(_schema_of_lazy(read_frame).to_frame()).schema

        def batches() -> Iterator[pa.RecordBatch]:
            """Compute the frame, and yield its rows."""
            for part in read_frame.collect_batches():
                for batch in _table_of_polars(part).to_batches():
                    yield batch.cast(schema)

        return connection.from_arrow(for_duckdb(pa.RecordBatchReader.from_batches(schema, batches())))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> None:
        """Return None, as its rows are not computed yet."""

    def row_count(self, frame: Any) -> None:
        """Return None, as its rows are not computed yet."""

    def result(self, rows: pa.Table) -> Any:
        """Return a LazyFrame."""
        return super().result(rows).lazy()


def _table_of_polars(frame: Any) -> pa.Table:
    """Return a DataFrame of Polars as Arrow data."""
    # `pa.table` would import pandas, to find out that the frame is none of pandas.
    return pa.RecordBatchReader.from_stream(frame).read_all()


def _schema_of_lazy(frame: Any) -> Any:
    """Return the schema of a lazy frame.

    Raises:
        QueryError: The frame cannot be computed, for example because it reads a column that is not there.
    """
    import polars

    try:
        return frame.collect_schema()
    except polars.exceptions.PolarsError as error:
        raise QueryError("the lazy frame cannot be computed: {reason}", reason=reason_of(error)) from error
