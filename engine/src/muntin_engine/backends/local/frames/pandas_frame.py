"""Data frames of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from muntin_engine.backends.local.frames.arrow_columns import ArrowColumn, columns_of_arrow, for_duckdb, is_from
from muntin_engine.backends.local.frames.frame_kind import (
    FrameColumns,
    FrameKind,
    changed_since,
    reason_of,
)

_NO_ARROW_TYPE: Final = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)
"""The errors of Arrow for values that have no type, or several."""


class PandasFrame(FrameKind):
    """A `pandas.DataFrame`, in which NaN and NaT are nulls, as Spark reads it too; `pd.NA` and None are nulls as well.

    A NaN is a number only in columns that have a mask or are Arrow's, such as `Float64`, where `pd.NA` is the null.
    A column of Python objects without a value, as an empty frame has it, is text.
    """

    word: ClassVar[str] = "pandas column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of pandas."""
        return is_from(frame, "pandas", "DataFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe the columns of a frame, without its index.

        Cost: columns of Python objects are converted as a whole, as each object may be of another type.
        """
        columns: list[ArrowColumn] = []
        for place, dtype in enumerate(frame.dtypes):
            column = frame.iloc[:, place]
            has_objects = _holds_objects(dtype)
            if not has_objects:
                column = column.iloc[:0]  # the column itself has a type, so no value is needed to know it
            data_type = None
            try:
                data_type = _array_of_pandas(column).type
                note = f" (its values are {data_type})"
            except _NO_ARROW_TYPE as error:
                note = f" (its values are not of one type: {reason_of(error)})"
            spelled_type = str(dtype)
            if has_objects:  # the type "object" says nothing about the values, so the note does
                spelled_type += note
            columns.append(ArrowColumn(str(frame.columns[place]), data_type, spelled_type))
        return columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows without its index."""
        return connection.from_arrow(for_duckdb(self.table_in_memory(frame, names)))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of a frame as Arrow data."""
        all_names = list(map(str, frame.columns))
        columns: list[Any] = []
        for name in names:
            if name not in all_names:
                raise changed_since(f"the frame has no column {name!r} any more")
            try:
                columns.append(_array_of_pandas(frame.iloc[:, all_names.index(name)]))
            except _NO_ARROW_TYPE as error:
                reason = reason_of(error)
                raise changed_since(f"{self.word} {name!r} has values of several types: {reason}") from error
        return pa.Table.from_arrays(columns, list(names))

    def advice_for_missing_column(self, frame: Any, name: str) -> str | None:
        """Return advice for the name of the index, or for columns of several levels; None for any other name."""
        if name in frame.index.names:
            return f"{name!r} is its index: frame.reset_index() makes a column of it"
        if frame.columns.nlevels > 1:
            return (
                'its columns have several levels: name each, as in frame.columns = ["_".join(c) for c in frame.columns]'
            )
        return None

    def row_count(self, frame: Any) -> int:
        """Return the number of its rows."""
        return len(frame)

    def result(self, rows: pa.Table) -> Any:
        """Return a DataFrame, in which whole numbers stay whole numbers and NaN differs from a null.

        The type of a column depends on its own values alone: it is one of NumPy, or a nullable type of pandas where the
        values need one.
        """
        import pandas

        # Without nulls a column has the plain type of NumPy, as pandas users expect it.
        nullable = {
            pa.int8(): pandas.Int8Dtype(),
            pa.int16(): pandas.Int16Dtype(),
            pa.int32(): pandas.Int32Dtype(),
            pa.int64(): pandas.Int64Dtype(),
            pa.bool_(): pandas.BooleanDtype(),
        }
        floats = {pa.float32(): pandas.Float32Dtype(), pa.float64(): pandas.Float64Dtype()}
        columns: dict[str, Any] = {}
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            dtypes: dict[pa.DataType, Any] = {}
            if column.null_count:
                # In a float column of NumPy, NaN stands for a null: the two need a type with a mask only if both occur.
                has_nan = column.type in floats and pc.any(pc.is_nan(column)).as_py()
                dtypes = floats if has_nan else nullable
            # `integer_object_nulls` is about integers inside of structs and lists, which would become floats.
            columns[name] = column.to_pandas(types_mapper=dtypes.get, integer_object_nulls=True)
        return pandas.DataFrame(columns, copy=False)


def _holds_objects(dtype: Any) -> bool:
    """True if a pandas column holds Python objects, so that its own type does not tell the type of its values."""
    return getattr(dtype, "kind", "") == "O" and not hasattr(dtype, "construct_array_type")  # a type of NumPy's


def _array_of_pandas(column: Any) -> Any:
    """Return a pandas column as Arrow data; a column of objects without a value becomes text.

    Raises:
        ArrowInvalid, ArrowTypeError, ArrowNotImplementedError: Arrow does not have the type of the column, or its
            values are of several types.
    """
    array = pa.Array.from_pandas(column)
    if not _holds_objects(column.dtype):
        return array
    # Arrow takes these mixtures as one type, and so gives some of the values another meaning.
    if pa.types.is_timestamp(array.type) and len({value.tzinfo is None for value in column.dropna()}) > 1:
        raise pa.ArrowInvalid("some of its times have a zone, and others have none")
    if pa.types.is_binary(array.type) and any(isinstance(value, str) for value in column):
        raise pa.ArrowInvalid("some of its values are text, and others are bytes")
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array
