"""The kinds of tables that a query reads in this process, each made of Arrow rows, and results read as Arrow again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq

FrameMaker = Callable[[pa.Table, Path], Any]
"""Makes a table of a kind, of rows and of a folder for files."""


def _pandas_frame(rows: pa.Table, folder: Path) -> pd.DataFrame:
    """Return a DataFrame with types that have nulls: with NumPy's, whole numbers beside a null are floats."""
    nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
    return rows.to_pandas(types_mapper=nullable.get)


def _polars_frame(rows: pa.Table, folder: Path) -> pl.DataFrame:
    return pl.DataFrame(rows)


def _lazy_polars_frame(rows: pa.Table, folder: Path) -> pl.LazyFrame:
    return _polars_frame(rows, folder).lazy()


def _duckdb_relation(rows: pa.Table, folder: Path) -> duckdb.DuckDBPyRelation:
    return duckdb.connect().from_arrow(rows)


def _arrow_table(rows: pa.Table, folder: Path) -> pa.Table:
    return rows


def _arrow_dataset(rows: pa.Table, folder: Path) -> Any:
    return pa.dataset.dataset(rows)


def _parquet_file(rows: pa.Table, folder: Path) -> str:
    """Write the rows in small row groups, and return the path."""
    path = folder / f"{uuid4().hex}.parquet"
    pq.write_table(rows, path, row_group_size=7)
    return str(path)


def _parquet_folder(rows: pa.Table, folder: Path) -> Path:
    """Write the rows as two files, and return their folder."""
    path = folder / uuid4().hex
    path.mkdir()
    half = len(rows) // 2
    pq.write_table(rows.slice(0, half), path / "0.parquet")
    pq.write_table(rows.slice(half), path / "1.parquet")
    return path


FRAME_MAKERS: Final[Mapping[str, FrameMaker]] = {
    "Arrow table": _arrow_table,
    "pandas": _pandas_frame,
    "Polars": _polars_frame,
    "lazy Polars": _lazy_polars_frame,
    "DuckDB": _duckdb_relation,
    "Arrow dataset": _arrow_dataset,
    "Parquet file": _parquet_file,
    "Parquet folder": _parquet_folder,
}
"""What makes a table of each kind."""


def kind_with_type(frame_kind: str, data_type: pa.DataType) -> str:
    """Return a kind of table that has values of a type as they are: the one that is wanted, or an Arrow table.

    NaN is null in pandas, and its objects have no types. DuckDB's intervals have months, and Parquet has none.
    """
    has_durations = "duration" in str(data_type)
    if frame_kind == "pandas" and (pa.types.is_nested(data_type) or pa.types.is_floating(data_type)):
        return "Arrow table"
    if has_durations and frame_kind in ("DuckDB", "Parquet file", "Parquet folder"):
        return "Arrow table"
    return frame_kind


def arrow_of(frame: Any, schema: pa.Schema) -> pa.Table:
    """Return a result of any kind as Arrow rows of a schema.

    Raises:
        AssertionError: The result is an Arrow table of another schema, or has other columns.
    """
    if isinstance(frame, pa.Table):
        assert frame.schema.equals(schema), f"{frame.schema}\nis not\n{schema}"
        return frame
    if isinstance(frame, pd.DataFrame):
        assert list(frame.columns) == schema.names
        return pa.Table.from_pandas(frame, schema, preserve_index=False)
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    rows = frame.to_arrow_table() if isinstance(frame, duckdb.DuckDBPyRelation) else pa.table(frame)
    assert rows.schema.names == schema.names
    return rows.cast(schema)
