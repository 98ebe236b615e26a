"""The kinds of tables that a query reads in this process: what each is read with, and what a result of its kind is.

A kind is known by the type of the object, without importing a library that the object does not come from. What goes in
decides what comes out: a pandas or Polars frame gives its like, a relation of DuckDB a relation; Arrow data and files
give a `pyarrow.Table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, ClassVar, Final, NamedTuple
from weakref import WeakSet

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.duckdb_expression import MOST_DIGITS
from muntin_engine.backends.local.frames.column_reading import ColumnReading, NoReading, reading_of
from muntin_engine.backends.local.frames.files import Files
from muntin_engine.backends.local.frames.frame_kind import (
    BATCH_ROWS,
    FrameColumn,
    FrameColumns,
    FrameKind,
    changed_since,
    columns_of_relation,
    keys_in,
    reason_of,
)
from muntin_engine.backends.local.frames.local_stream import LocalStream
from muntin_engine.backends.local.frames.micro_batch import MicroBatch

_NO_ARROW_TYPE: Final = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError)
"""The errors of Arrow for values that have no type, or several."""


class ArrowColumn(NamedTuple):
    """A column of a table that is read as Arrow data.

    Attributes:
        name: Its name.
        type: Its Arrow type; None if Arrow has none for it.
        spelled_type: Its type, as the library of the table spells it.
    """

    name: str
    type: pa.DataType | None
    spelled_type: str


class PandasFrame(FrameKind):
    """A `pandas.DataFrame`, in which NaN and NaT are nulls, as Spark reads it too; `pd.NA` and None are nulls as well.

    A NaN is a number only in columns that have a mask or are Arrow's, such as `Float64`, where `pd.NA` is the null.
    A column of Python objects without a value, as an empty frame has it, is text.
    """

    word: ClassVar[str] = "pandas column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of pandas."""
        return _is_from(frame, "pandas", "DataFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns without its index. Types of Python objects are found by a look at all of them."""
        columns: list[ArrowColumn] = []
        for place, dtype in enumerate(frame.dtypes):
            column = frame.iloc[:, place]
            has_objects = _holds_objects(dtype)
            data_type = None
            spelled_type = str(dtype)
            try:
                # The type of a column of one library type is that of its first rows.
                data_type = _array_of_pandas(column if has_objects else column.iloc[:0]).type
            except _NO_ARROW_TYPE as error:
                if has_objects:
                    spelled_type += f" (its values are not of one type: {reason_of(error)})"
            else:
                if has_objects:
                    spelled_type += f" (its values are {data_type})"
            columns.append(ArrowColumn(str(frame.columns[place]), data_type, spelled_type))
        return _columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows without its index."""
        return connection.from_arrow(_for_duckdb(self.table_in_memory(frame, names)))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table:
        """Return columns of its rows without its index."""
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
        """Say how an index becomes columns, and columns of several levels get a name each."""
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
        """Return a DataFrame; whole numbers among which some are null stay whole numbers, and NaN is not such a null.

        The type of a column depends on its own values alone.
        """
        import pandas

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
                has_nan = column.type in floats and pc.any(pc.is_nan(column)).as_py()
                dtypes = floats if has_nan else nullable
            # Integers are those inside of structs and lists.
            columns[name] = column.to_pandas(types_mapper=dtypes.get, integer_object_nulls=True)
        return pandas.DataFrame(columns, copy=False)


class PolarsFrame(FrameKind):
    """A `polars.DataFrame`."""

    word: ClassVar[str] = "Polars column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a DataFrame of Polars."""
        return _is_from(frame, "polars", "DataFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        return self._columns_of_schema(connection, frame.schema)

    def _columns_of_schema(self, connection: duckdb.DuckDBPyConnection, schema: Any) -> FrameColumns:
        import polars

        columns: list[ArrowColumn] = []
        for column in schema.to_frame():
            data_type = None
            if not column.dtype.is_(polars.Object):  # of which Arrow would have the addresses
                with suppress(pa.ArrowInvalid):  # numbers of 128 bits
                    data_type = pa.table(column.to_frame()).schema.field(0).type
            columns.append(ArrowColumn(column.name, data_type, str(column.dtype)))
        return _columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows."""
        return connection.from_arrow(_for_duckdb(self.table_in_memory(frame, names)))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table | None:
        """Return columns of its rows."""
        for name in names:
            if name not in frame.columns:
                raise changed_since(f"the frame has no column {name!r} any more")
        return pa.table(type(frame)([frame.get_column(name) for name in names]))

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
        return _is_from(frame, "polars", "LazyFrame")

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        return self._columns_of_schema(connection, _schema_of_lazy(frame))

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows."""
        import polars.selectors

        read_frame = frame.select(polars.selectors.by_name(*names))
        schema = pa.table(_schema_of_lazy(read_frame).to_frame()).schema

        def batches() -> Iterator[pa.RecordBatch]:
            for part in read_frame.collect_batches():
                for batch in pa.table(part).to_batches():
                    yield batch.cast(schema)

        return connection.from_arrow(_for_duckdb(pa.RecordBatchReader.from_batches(schema, batches())))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> None:
        """Return None, as its rows are not computed yet."""

    def row_count(self, frame: Any) -> None:
        """Return None, as its rows are not computed yet."""

    def result(self, rows: pa.Table) -> Any:
        """Return a LazyFrame."""
        return super().result(rows).lazy()


class DuckdbRelation(FrameKind):
    """A relation of DuckDB, which its own connection computes."""

    word: ClassVar[str] = "DuckDB column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a relation."""
        return isinstance(frame, duckdb.DuckDBPyRelation)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns, which do not change; some travel in another type, such as an enumeration as text."""
        del connection
        return columns_of_relation(frame, self.word, may_change=False)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows, which travel as Arrow data: its connection may have another time zone."""
        columns = ", ".join(map(quoted, names))
        return connection.from_arrow(frame.project(columns).to_arrow_reader(BATCH_ROWS))

    def result(self, rows: pa.Table) -> Any:
        """Return a relation of the default connection."""
        return duckdb.from_arrow(rows)


class ArrowData(FrameKind):
    """A table, a dataset or a reader of pyarrow, or anything that offers a stream of Arrow data."""

    word: ClassVar[str] = "Arrow column"

    def takes(self, frame: object) -> bool:
        """Say whether an object has Arrow data to read."""
        return hasattr(frame, "__arrow_c_stream__") or _is_from(frame, "pyarrow", "Dataset")

    def opened(self, frame: Any) -> Any:
        """Return an object of pyarrow's as it is, and a stream of any other."""
        is_known = isinstance(frame, pa.Table | pa.RecordBatchReader) or _is_from(frame, "pyarrow", "Dataset")
        return frame if is_known else ArrowStream(frame)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        columns = [ArrowColumn(field.name, field.type, str(field.type)) for field in frame.schema]
        return _columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows.

        Raises:
            QueryError: The object is a reader that was read before.
        """
        if _is_from(frame, "pyarrow", "Dataset"):
            fields = {name: pc.field(name) for name in names}
            return connection.from_arrow(_for_duckdb(frame.scanner(columns=fields).to_reader()))
        if isinstance(frame, pa.Table):
            return connection.from_arrow(_for_duckdb(frame.select(list(names))))
        if isinstance(frame, pa.RecordBatchReader):
            if frame in _READ_READERS:
                raise _read_before("the reader", "reader.read_all()")
            _READ_READERS.add(frame)
            return connection.from_arrow(_for_duckdb(_with_columns(names, frame)))
        return connection.from_arrow(_for_duckdb(_with_columns(names, frame.reader())))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table | None:
        """Return columns of its rows; None of what is no `pyarrow.Table`."""
        return frame.select(list(names)) if isinstance(frame, pa.Table) else None

    def keys_of_changelog(self, frame: Any) -> list[str] | None:
        """Return the key columns that a changelog itself names, in the metadata of its ids."""
        return keys_in(frame.schema)

    def row_count(self, frame: Any) -> int | None:
        """Return the number of rows of a table in memory."""
        return frame.num_rows if isinstance(frame, pa.Table) else None


class StreamUnderTest(ArrowData):
    """A stream of a job under test, with the rows of one micro-batch."""

    word: ClassVar[str] = "stream column"

    def takes(self, frame: object) -> bool:
        """Say whether an object is such a stream."""
        return isinstance(frame, LocalStream)

    def opened(self, frame: Any) -> Any:
        """Return the rows of the micro-batch."""
        return frame.table()

    def micro_batch(self, frame: Any) -> MicroBatch | None:
        """Return the micro-batch."""
        micro_batch: MicroBatch = frame.micro_batch
        return micro_batch


_READ_READERS: Final[WeakSet[pa.RecordBatchReader]] = WeakSet()
"""The readers whose rows were read, or begun to be."""


class ArrowStream:
    """An object that offers a stream of Arrow data, perhaps only once.

    Attributes:
        schema: The columns.
    """

    def __init__(self, frame: Any) -> None:
        """Begin to read the object: it need not say its columns otherwise.

        Raises:
            QueryError: The object is no table.
        """
        self._frame = frame
        self._first_reader: pa.RecordBatchReader | None = _reader_of(frame)
        self._has_rows = False
        self.schema: pa.Schema = self._first_reader.schema

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of all rows.

        Raises:
            QueryError: The object had rows, and has none any more.
        """
        reader = self._first_reader or _reader_of(self._frame)
        self._first_reader = None
        batches = iter(reader)
        first_batch = next((batch for batch in batches if len(batch)), None)
        if first_batch is None:
            if self._has_rows:
                raise _read_before(f"the {type(self._frame).__name__}", "pyarrow.table(stream)")
            return reader
        self._has_rows = True
        return pa.RecordBatchReader.from_batches(self.schema, chain([first_batch], batches))


def _read_before(subject: str, table: str) -> QueryError:
    """Return the error for rows that can be read once, and have been.

    Args:
        subject: The object that had the rows.
        table: The call that makes a table of the object.
    """
    return QueryError(
        f"{subject} has been read, and its rows can be read once\n"
        f"  to run several queries, or one several times, give events() a table: {table}"
    )


def _holds_objects(dtype: Any) -> bool:
    """Say whether the type of the values of a pandas column is not that of the column."""
    return getattr(dtype, "kind", "") == "O" and not hasattr(dtype, "construct_array_type")  # a type of NumPy's


def _array_of_pandas(column: Any) -> Any:
    """Return a pandas column as Arrow data, one of objects without a value as text.

    Raises:
        ArrowInvalid, ArrowTypeError, ArrowNotImplementedError: It is of a type that Arrow does not have, or its values
            are of several types.
    """
    array = pa.Array.from_pandas(column)
    if not _holds_objects(column.dtype):
        return array
    # Arrow makes one type of these, and gives some of the values another meaning.
    if pa.types.is_timestamp(array.type) and len({value.tzinfo is None for value in column.dropna()}) > 1:
        raise pa.ArrowInvalid("some of its times have a zone, and others have none")
    if pa.types.is_binary(array.type) and any(isinstance(value, str) for value in column):
        raise pa.ArrowInvalid("some of its values are text, and others are bytes")
    return array.cast(pa.string()) if pa.types.is_null(array.type) else array


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


def _reader_of(frame: Any) -> pa.RecordBatchReader:
    """Return a reader of anything that offers a stream of Arrow data.

    Raises:
        QueryError: The object is no table, or cannot be read.
    """
    try:
        return pa.RecordBatchReader.from_stream(frame)
    except pa.ArrowInvalid as error:
        name = type(frame).__name__
        raise QueryError(f"a {name} is no table that can be read\n  expected: one with columns") from error


def _with_columns(names: Sequence[str], reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return a reader of columns of a reader."""
    places = [reader.schema.names.index(name) for name in names]
    schema = pa.schema([reader.schema.field(place) for place in places])
    batches = (batch.select(places) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _columns_of_arrow(connection: duckdb.DuckDBPyConnection, word: str, columns: Sequence[ArrowColumn]) -> FrameColumns:
    """Describe the columns of Arrow data, each as DuckDB reads it.

    Args:
        connection: A connection, which tells how it reads Arrow types.
        word: The word for a column, for messages.
        columns: The columns.
    """
    # By their places, as several columns may have one name.
    read_fields: list[pa.Field] = []
    for place, column in enumerate(columns):
        read_type = None if column.type is None else _type_for_duckdb(column.type)
        if read_type is not None:
            read_fields.append(pa.field(str(place), read_type))

    readings: dict[int, ColumnReading] = {}
    planned_types: dict[int, str] = {}
    if read_fields:
        # A reader without batches, and no empty table: there are types of which pyarrow makes no arrays.
        reader = pa.RecordBatchReader.from_batches(pa.schema(read_fields), [])
        relation = connection.from_arrow(reader)
        for place_name, duckdb_type in zip(relation.columns, relation.types, strict=True):
            readings[int(place_name)] = reading_of(duckdb_type, has_lengths=True)
            planned_types[int(place_name)] = str(duckdb_type)

    frame_columns: list[FrameColumn] = []
    for place, column in enumerate(columns):
        reading = readings.get(place, NoReading(column.spelled_type))
        frame_columns.append(FrameColumn(column.name, reading, column.spelled_type, planned_types.get(place)))
    return FrameColumns(tuple(frame_columns), word)


def _type_for_duckdb(data_type: pa.DataType) -> pa.DataType | None:
    """Return the type in which DuckDB takes values of an Arrow type; None if it would give them another meaning.

    Example:
        >>> print(_type_for_duckdb(pa.float16()), _type_for_duckdb(pa.decimal256(50, 2)))
        float None
    """
    if pa.types.is_float16(data_type):
        return pa.float32()
    if pa.types.is_decimal256(data_type):
        has_few_digits = data_type.precision <= MOST_DIGITS
        return pa.decimal128(data_type.precision, data_type.scale) if has_few_digits else None
    if pa.types.is_duration(data_type) and data_type.unit in ("s", "ms"):
        return pa.duration("us")  # DuckDB computes with what stands under a null, and fails if it is too large
    is_other = pa.types.is_interval(data_type) or pa.types.is_union(data_type)
    if is_other or isinstance(data_type, pa.BaseExtensionType):
        return None
    if pa.types.is_nested(data_type):
        return _nested_type_for_duckdb(data_type)
    return data_type


def _nested_type_for_duckdb(data_type: pa.DataType) -> pa.DataType | None:
    """Return a nested type with the types in which DuckDB takes its parts; None if it does not take one."""
    parts: list[pa.Field] = []
    for place in range(data_type.num_fields):
        part = data_type.field(place)
        part_type = _type_for_duckdb(part.type)
        if part_type is None:
            return None
        parts.append(part.with_type(part_type))
    if parts == [data_type.field(place) for place in range(data_type.num_fields)]:
        return data_type
    if pa.types.is_struct(data_type):
        return pa.struct(parts)
    if pa.types.is_map(data_type):
        (entries,) = parts
        return pa.map_(entries.type.field(0), entries.type.field(1))
    is_large = pa.types.is_large_list(data_type) or pa.types.is_large_list_view(data_type)
    return pa.large_list(parts[0]) if is_large else pa.list_(parts[0])


def _for_duckdb(rows: Any) -> Any:
    """Return an Arrow table, or a reader, in types that DuckDB takes; most are as they are."""
    fields: list[pa.Field] = []
    for field in rows.schema:
        read_type = _type_for_duckdb(field.type)
        assert read_type is not None, "columns of other types are not read"
        fields.append(field.with_type(read_type))
    schema = pa.schema(fields)
    return rows if schema == rows.schema else rows.cast(schema)


def _is_from(frame: object, library: str, name: str) -> bool:
    """Say whether the class of an object, or one that it is made from, has a name in a library."""
    return any(cls.__name__ == name and cls.__module__.split(".")[0] == library for cls in type(frame).__mro__)


KINDS: Final[tuple[FrameKind, ...]] = (
    PandasFrame(),
    PolarsFrame(),
    LazyPolarsFrame(),
    DuckdbRelation(),
    StreamUnderTest(),
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
