"""The kinds of tables that a query reads in this process: what each is read with, and what a result of its kind is.

A kind is known by the type of the object, without importing a library that the object does not come from. What goes in
decides what comes out: a pandas or Polars frame gives its like, a relation of DuckDB a relation; Arrow data and files
give a `pyarrow.Table`.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.computed_rows import ComputedRows

_WILDCARDS: Final = frozenset("*?[")


class FrameKind(ABC):
    """Tables of one library."""

    @abstractmethod
    def takes(self, frame: object) -> bool:
        """Say whether an object is a table of this kind."""

    @abstractmethod
    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the rows of a table as a relation, which reads them as far as a query needs them."""

    def layout(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return a relation with the columns of a table, of which nobody reads rows."""
        return self.relation(connection, frame)

    def result(self, rows: pa.Table) -> Any:
        """Return the rows of a result as a table of this kind."""
        return rows


class PandasFrame(FrameKind):
    """A `pandas.DataFrame`, in which NaN and NaT are nulls, as Spark reads it too."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of pandas."""
        return _is_from(frame, "pandas", "DataFrame")

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its rows without its index."""
        return connection.from_arrow(self._arrow(frame, pa.Table.from_pandas))

    def layout(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its columns. Types of Python objects are found by a look at all of them."""
        schema: pa.Schema = self._arrow(frame, pa.Schema.from_pandas)
        return connection.from_arrow(schema.empty_table())

    @staticmethod
    def _arrow(frame: Any, make: Callable[..., Any]) -> Any:
        """Return what a function of pyarrow makes of a frame.

        Raises:
            QueryError: The frame has several columns of one name, or a column of several types.
        """
        names = list(map(str, frame.columns))
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise QueryError(f"the frame has several columns {doubled[0]!r}\n  rename all but one of them")
        try:
            return make(frame, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise QueryError(
                "a column of the frame holds values of several types: {reason}\n"
                "  expected: one type a column, for example frame.astype({{'name': str}})",
                reason=str(error),
            ) from error

    def result(self, rows: pa.Table) -> Any:
        """Return a DataFrame; whole numbers among which some are null stay whole numbers."""
        import pandas

        nullable = {
            pa.int8(): pandas.Int8Dtype(),
            pa.int16(): pandas.Int16Dtype(),
            pa.int32(): pandas.Int32Dtype(),
            pa.int64(): pandas.Int64Dtype(),
            pa.bool_(): pandas.BooleanDtype(),
        }
        has_nulls = {column.type for column in rows.columns if column.null_count}
        return rows.to_pandas(
            types_mapper=lambda data_type: nullable.get(data_type) if data_type in has_nulls else None
        )


class PolarsFrame(FrameKind):
    """A `polars.DataFrame`."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of Polars."""
        return _is_from(frame, "polars", "DataFrame")

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its rows."""
        return connection.from_arrow(pa.table(frame))

    def result(self, rows: pa.Table) -> Any:
        """Return a DataFrame."""
        import polars

        return polars.from_arrow(rows)


class LazyPolarsFrame(PolarsFrame):
    """A `polars.LazyFrame`, which is computed in batches while its rows are read."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a LazyFrame of Polars."""
        return _is_from(frame, "polars", "LazyFrame")

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its rows."""
        schema = pa.table(frame.collect_schema().to_frame()).schema
        batches = (batch.cast(schema) for part in frame.collect_batches() for batch in pa.table(part).to_batches())
        return connection.from_arrow(pa.RecordBatchReader.from_batches(schema, batches))

    def layout(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its columns."""
        return connection.from_arrow(pa.table(frame.collect_schema().to_frame()))

    def result(self, rows: pa.Table) -> Any:
        """Return a LazyFrame."""
        return super().result(rows).lazy()


class DuckdbRelation(FrameKind):
    """A relation of DuckDB, which its own connection computes."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a relation."""
        return isinstance(frame, duckdb.DuckDBPyRelation)

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the relation itself."""
        del connection
        relation: duckdb.DuckDBPyRelation = frame
        return relation

    def result(self, rows: pa.Table) -> Any:
        """Return a relation of the default connection."""
        return duckdb.from_arrow(rows)


class ComputedFrame(FrameKind):
    """Rows that Muntin itself makes when they are read."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is such rows."""
        return isinstance(frame, ComputedRows)

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the rows; an error in computing them is raised here, as it was raised."""
        return connection.from_arrow(frame.table())

    def layout(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the columns, without computing rows."""
        return connection.from_arrow(frame.arrow_schema.empty_table())


class ArrowData(FrameKind):
    """A table, a dataset or a reader of pyarrow, or anything that offers a stream of Arrow data."""

    def takes(self, frame: object) -> bool:
        """Say whether an object has Arrow data to read."""
        return hasattr(frame, "__arrow_c_stream__") or _is_from(frame, "pyarrow", "Dataset")

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return its rows."""
        if isinstance(frame, pa.Table | pa.RecordBatchReader) or not hasattr(frame, "__arrow_c_stream__"):
            return connection.from_arrow(frame)
        try:
            return connection.from_arrow(pa.RecordBatchReader.from_stream(frame))
        except pa.ArrowInvalid as error:
            raise QueryError(f"a {type(frame).__name__} is no table\n  expected: one with columns") from error


class Files(FrameKind):
    """A file of Parquet, CSV or JSON, several by a pattern, or a folder of Parquet files."""

    def takes(self, frame: object) -> bool:
        """Say whether an object is a path."""
        return isinstance(frame, str | os.PathLike)

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the rows of the files, in the order of their names."""
        paths = _paths(os.fspath(frame))
        suffixes = {Path(path).suffix.casefold() for path in paths}
        read = _READERS.get(suffixes.pop()) if len(suffixes) == 1 else None
        if read is None:
            raise QueryError(
                f"{os.fspath(frame)!r} is no file that can be read\n"
                "  expected: files that end in .parquet, .csv, .json, .jsonl or .ndjson, all alike"
            )
        try:
            return read(connection, paths)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise QueryError("{value!r} cannot be read: {reason}", value=os.fspath(frame), reason=reason) from error


def _paths(path: str) -> list[str]:
    """Return the files that a path names.

    Raises:
        QueryError: There is none.
    """
    if os.path.isdir(path):
        paths = sorted(glob.glob(os.path.join(path, "**", "*.parquet"), recursive=True))
    elif _WILDCARDS.isdisjoint(path):
        paths = [path] if os.path.exists(path) else []
    else:
        paths = sorted(glob.glob(path, recursive=True))
    if not paths:
        raise QueryError(
            f"there is no file {path!r}\n"
            f"  it is looked for in {os.getcwd()}; a table of Spark's is spark.table({path!r})"
        )
    return paths


def _read_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> duckdb.DuckDBPyRelation:
    return connection.read_parquet(list(paths), union_by_name=True)


def _read_csv(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> duckdb.DuckDBPyRelation:
    return connection.read_csv(list(paths))


def _read_json(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> duckdb.DuckDBPyRelation:
    return connection.read_json(list(paths))


_READERS: Final = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
}
"""By the ending of a file's name, how it is read."""


def _is_from(frame: object, library: str, name: str) -> bool:
    """Say whether the class of an object, or one that it is made from, has a name in a library."""
    return any(cls.__name__ == name and cls.__module__.split(".")[0] == library for cls in type(frame).__mro__)


KINDS: Final[tuple[FrameKind, ...]] = (
    PandasFrame(),
    PolarsFrame(),
    LazyPolarsFrame(),
    DuckdbRelation(),
    ComputedFrame(),
    ArrowData(),
    Files(),
)
"""The kinds, those first that offer more than a stream of Arrow data."""


def kind_of(frame: object) -> FrameKind | None:
    """Return the kind of a table; None for what is no table in this process."""
    for kind in KINDS:
        if kind.takes(frame):
            return kind
    return None


def table_like(frame: object, rows: pa.Table) -> Any:
    """Return rows as a table of the kind of another one.

    Args:
        frame: The other one.
        rows: The rows.
    """
    while isinstance(frame, ComputedRows):
        frame = frame.computed_from
    kind = kind_of(frame)
    assert kind is not None, "a query was planned over it"
    return kind.result(rows)
