"""The input of a run: this process reads its first rows, and leaves the others to workers, piece by piece."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from muntin_engine.backends.local.database import interrupt_thread
from muntin_engine.backends.local.frames.frame_kind import BATCH_ROWS
from muntin_engine.backends.local.inputs.local_rows import LocalRows
from muntin_engine.backends.local.runs.row_reader import RowReader
from muntin_engine.wire.arrow_arrays import arrow_scalar
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.shuffle import SIDE, shared_name

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

BLOCK_ROWS: Final = 500_000
"""The number of rows that this process reads for a worker at once."""

BLOCK_BYTES: Final = 64 * 2**20
"""The bytes of rows that this process reads for a worker at once, however few they are."""


@dataclass(frozen=True, slots=True)
class InputSide:
    """The place of an input in its query.

    Attributes:
        side: The place.
        inputs: The number of inputs of the query.
    """

    side: int
    inputs: int

    def marked_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return projected rows that say which input they are of, by a column and by the names of their columns.

        The rows of a query with one input stay as they are.
        """
        if self.inputs == 1:
            return batch
        sides = pa.repeat(arrow_scalar(self.side, pa.int32()), len(batch))
        names = [shared_name(self.side, name) for name in batch.schema.names]
        return pa.RecordBatch.from_arrays([sides, *batch.columns], names=[SIDE, *names])


class InputPiece(ABC):
    """Some rows of an input, which go to a worker together.

    Attributes:
        rows: The number of the rows. Rows that a condition of the query leaves out may be counted, too.
    """

    rows: int

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the projected rows."""

    @abstractmethod
    def batches_in_thread(self) -> Generator[pa.RecordBatch]:
        """Return the projected rows; another thread reads them, so that Ctrl-C reaches the thread that takes them."""


@dataclass(frozen=True)
class FilePiece(InputPiece):
    """Rows of files, which a worker reads."""

    local_rows: LocalRows
    input_side: InputSide
    rows: int

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        return map(self.input_side.marked_rows, self.local_rows.batches())

    def batches_in_thread(self) -> Generator[pa.RecordBatch]:
        """Read the rows in a thread."""
        return RowReader(self.batches(), interrupt_thread).batches()


@dataclass(frozen=True)
class BlockPiece(InputPiece):
    """Rows that this process read."""

    block: Sequence[pa.RecordBatch]
    rows: int

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the bytes of the rows: a pickled slice of a table in memory takes all of the table along."""
        return _block_of_blob, (to_blob(pa.Table.from_batches(self.block)), self.rows)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return the rows."""
        return iter(self.block)

    def batches_in_thread(self) -> Generator[pa.RecordBatch]:
        """Return the rows, which a thread has read already."""
        yield from self.block


def _block_of_blob(blob: bytes, rows: int) -> BlockPiece:
    """Read a block of rows from the bytes in which it travelled."""
    return BlockPiece(from_blob(blob).to_batches(), rows)


class RunInput(ABC):
    """An input of a run.

    Attributes:
        total_rows: The number of its rows; None if it is not known.
    """

    total_rows: int | None

    @abstractmethod
    def batches_until(self, is_enough: Callable[[int], bool]) -> Iterator[pa.RecordBatch]:
        """Read projected rows in this process, until the end or until a caller has enough of them.

        Args:
            is_enough: A function that is called after each batch or part, with the number of its rows. Once it returns
                True, the rows that follow are left for `pieces`.
        """

    @abstractmethod
    def pieces(self) -> Iterator[InputPiece]:
        """Yield the rows that were not read yet, in their order."""

    @abstractmethod
    def close(self) -> None:
        """Stop reading."""


class FilePartsInput(RunInput):
    """Files in parts that processes read side by side."""

    def __init__(self, parts: Sequence[LocalRows], input_side: InputSide) -> None:
        """Take the parts of an input, which are read later.

        Args:
            parts: The parts, in the order of their rows.
            input_side: The place of the input in its query.
        """
        self._unread_pieces: deque[FilePiece] = deque()
        for part in parts:
            # All rows of the part count, also those that conditions leave out.
            rows = part.frame.row_count
            assert rows is not None, "a part of a file knows its number of rows"
            self._unread_pieces.append(FilePiece(part, input_side, rows))
        self.total_rows = sum(piece.rows for piece in self._unread_pieces)

    def batches_until(self, is_enough: Callable[[int], bool]) -> Iterator[pa.RecordBatch]:
        """Read part after part, until a caller has enough after one of them."""
        while self._unread_pieces:
            piece = self._unread_pieces.popleft()
            with closing(piece.batches_in_thread()) as batches:
                yield from batches
            if is_enough(piece.rows):
                return

    def pieces(self) -> Iterator[InputPiece]:
        """Yield the parts that were not read yet."""
        while self._unread_pieces:
            yield self._unread_pieces.popleft()

    def close(self) -> None:
        """Forget the parts that were not read yet."""
        self._unread_pieces.clear()


class TableInput(RunInput):
    """A table that only this process can read, also the rows that workers get."""

    def __init__(self, rows: LocalRows, input_side: InputSide, batch_rows: int) -> None:
        """Take a table, which is read later.

        Args:
            rows: The projected rows of the table.
            input_side: The place of the input in its query.
            batch_rows: The number of rows that a map task takes at once, where the table is in memory.
        """
        self.total_rows = rows.row_count
        batches = rows.batches(batch_rows)
        # Ctrl-C does not reach a thread that waits for DuckDB, so another thread reads. Where the rows are results of
        # a query, the run of that query has such a thread itself.
        if not rows.frame.runs_queries:
            batches = RowReader(batches, interrupt_thread).batches()
        self._batches = (input_side.marked_rows(batch) for batch in batches)

    def batches_until(self, is_enough: Callable[[int], bool]) -> Iterator[pa.RecordBatch]:
        """Read batch after batch, until a caller has enough after one of them."""
        for batch in self._batches:
            yield batch
            if is_enough(len(batch)):
                return

    def pieces(self) -> Iterator[InputPiece]:
        """Read the rows that are left, and yield them in blocks that are large enough for a job."""
        block: list[pa.RecordBatch] = []
        rows = 0
        size = 0
        for batch in self._small_batches():
            block.append(batch)
            rows += len(batch)
            size += batch.nbytes
            if rows >= BLOCK_ROWS or size >= BLOCK_BYTES:
                yield BlockPiece(block, rows)
                block = []
                rows = 0
                size = 0
        if block:
            yield BlockPiece(block, rows)

    def _small_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are left in batches of which several fit into a block."""
        for batch in self._batches:
            for start in range(0, len(batch), BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)

    def close(self) -> None:
        """Stop reading, also in the thread that reads."""
        self._batches.close()  # it alone holds the generator of the `RowReader`, which then ends and stops the thread


def input_batches(query: PlannedQuery, side: int) -> Iterator[pa.RecordBatch]:
    """Read the projected rows of an input of a query as its map tasks take them.

    Args:
        query: The query.
        side: The place of the input in the query.
    """
    rows: Any = query.sources[side].df
    return map(InputSide(side, len(query.sources)).marked_rows, rows.batches())


def run_input(rows: LocalRows, input_side: InputSide, workers: int, batch_rows: int) -> RunInput:
    """Return an input of a run: in parts that workers read themselves where it has such parts.

    Args:
        rows: The projected rows of the input.
        input_side: The place of the input in its query.
        workers: The number of processes that may read it.
        batch_rows: The number of rows that a map task takes at once, where the table is in memory.
    """
    parts = rows.parts() if workers > 1 else []
    if len(parts) > 1:
        return FilePartsInput(parts, input_side)
    return TableInput(rows, input_side, batch_rows)
