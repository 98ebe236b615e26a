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
        """True if an object is a dataset of pyarrow, or offers its rows as a stream of Arrow data."""
        return hasattr(frame, "__arrow_c_stream__") or is_from(frame, "pyarrow", "Dataset")

    def opened(self, frame: Any) -> Any:
        """Return an object of pyarrow as it is, and any other, which may be readable only once, as an `ArrowStream`."""
        is_known = isinstance(frame, pa.Table | pa.RecordBatchReader) or is_from(frame, "pyarrow", "Dataset")
        return frame if is_known else ArrowStream(frame)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe its columns."""
        columns = [ArrowColumn(field.name, field.type, str(field.type)) for field in frame.schema]
        return columns_of_arrow(connection, self.word, columns)

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of a table, a dataset, a reader or an `ArrowStream` as a relation.

        Raises:
            QueryError: The rows can be read only once, and were read before.
        """
        if is_from(frame, "pyarrow", "Dataset"):
            fields = {name: pc.field(name) for name in names}
            return connection.from_arrow(for_duckdb(frame.scanner(columns=fields).to_reader()))
        if isinstance(frame, pa.Table):
            return connection.from_arrow(for_duckdb(frame.select(list(names))))
        if isinstance(frame, pa.RecordBatchReader):
            if frame in _READ_READERS:  # a second reading would yield no rows, without an error
                raise _error_of_second_reading("the reader", "reader.read_all()")
            _READ_READERS.add(frame)
            return connection.from_arrow(for_duckdb(_with_columns(names, frame)))
        # An `ArrowStream`, which refuses a second reading itself.
        return connection.from_arrow(for_duckdb(_with_columns(names, frame.reader())))

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table | None:
        """Return columns of a `pyarrow.Table`; None for other objects, whose rows are not in memory."""
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
        """Ask the object for a reader, which tells its columns.

        Args:
            frame: The object.

        Raises:
            QueryError: The object is no table.
        """
        self._frame = frame
        # The reader is kept until the rows are read: some objects give one reader only.
        self._first_reader: pa.RecordBatchReader | None = _reader_of(frame)
        # True once rows were read. If a later reader then has none, the rows can be read only once.
        self._has_rows = False
        self.schema: pa.Schema = self._first_reader.schema

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of all rows.

        Raises:
            QueryError: The object had rows when it was read before, and has none any more.
        """
        reader = self._first_reader or _reader_of(self._frame)
        self._first_reader = None
        # Whether there are rows shows only when a batch is read. So the first batch is read here, and is put back
        # before the others.
        batches = iter(reader)
        first_batch = next((batch for batch in batches if len(batch)), None)
        if first_batch is None:
            if self._has_rows:
                raise _error_of_second_reading(f"the {type(self._frame).__name__}", "pyarrow.table(stream)")
            return reader
        self._has_rows = True
        return pa.RecordBatchReader.from_batches(self.schema, chain([first_batch], batches))


def _error_of_second_reading(subject: str, table: str) -> QueryError:
    """Return the error for rows that can be read only once, and are read again.

    Args:
        subject: The words for the object that had the rows.
        table: The call that makes a table of such an object, for the advice.
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
    """Return a reader of some columns of another reader, by their names."""
    places = [reader.schema.names.index(name) for name in names]
    schema = pa.schema([reader.schema.field(place) for place in places])
    batches = (batch.select(places) for batch in reader)
    return pa.RecordBatchReader.from_batches(schema, batches)
