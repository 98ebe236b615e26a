"""Tables, datasets and readers of pyarrow, and whatever offers a stream of Arrow data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar, Final
from weakref import WeakSet

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import QueryError
from muntin_engine.backends.local.frames.arrow_columns import ArrowColumn, columns_of_arrow, for_duckdb, is_from
from muntin_engine.backends.local.frames.frame_kind import (
    FrameColumns,
    FrameKind,
    keys_in,
)
from muntin_engine.backends.local.frames.local_stream import LocalStream
from muntin_engine.backends.local.frames.micro_batch import MicroBatch


class ArrowData(FrameKind):
    """A table, a dataset or a reader of pyarrow, or anything that offers a stream of Arrow data."""

    word: ClassVar[str] = "Arrow column"

    def takes(self, frame: object) -> bool:
        """Say whether an object has Arrow data to read."""
        return hasattr(frame, "__arrow_c_stream__") or is_from(frame, "pyarrow", "Dataset")

    def opened(self, frame: Any) -> Any:
        """Return an object of pyarrow's as it is, and any other as an `ArrowStream`."""
        is_known = isinstance(frame, pa.Table | pa.RecordBatchReader) or is_from(frame, "pyarrow", "Dataset")
        return frame if is_known else ArrowStream(frame)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        columns = [ArrowColumn(field.name, field.type, str(field.type)) for field in frame.schema]
        return columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of its rows.

        Raises:
            QueryError: The object is a reader that was read before.
        """
        if is_from(frame, "pyarrow", "Dataset"):
            fields = {name: pc.field(name) for name in names}
            return connection.from_arrow(for_duckdb(frame.scanner(columns=fields).to_reader()))
        if isinstance(frame, pa.Table):
            return connection.from_arrow(for_duckdb(frame.select(list(names))))
        if isinstance(frame, pa.RecordBatchReader):
            if frame in _READ_READERS:
                raise _read_before("the reader", "reader.read_all()")
            _READ_READERS.add(frame)
            return connection.from_arrow(for_duckdb(_with_columns(names, frame)))
        return connection.from_arrow(for_duckdb(_with_columns(names, frame.reader())))

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
        # Kept for the rows: an object that can be read once must not be asked for a second reader.
        self._first_reader: pa.RecordBatchReader | None = _reader_of(frame)
        self._has_rows = False  # true once rows were read: no rows after that mean that they can be read only once
        self.schema: pa.Schema = self._first_reader.schema

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of all rows.

        Raises:
            QueryError: The object had rows, and has none any more.
        """
        reader = self._first_reader or _reader_of(self._frame)
        self._first_reader = None
        # A reader says only by its batches whether there are rows: the first one is read, and put before the others.
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
    """Return a reader that has only some columns of another one."""
    places = [reader.schema.names.index(name) for name in names]
    schema = pa.schema([reader.schema.field(place) for place in places])
    batches = (batch.select(places) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)
