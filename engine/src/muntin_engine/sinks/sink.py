"""The contract of sinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from muntin_engine.sinks.written_batch import WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Sink(ABC):
    """A sink takes one of the outputs of a query, a micro-batch at a time.

    `Query.write` calls these methods, on the driver: `keyed_by` and `check` before the query starts, `open` before the
    first micro-batch of each run, then `take_watermark`, `take_count`, `take_read` and `write` for every micro-batch in
    order, also for one that has no rows. Only `write` must be there.

    Law: *A micro-batch may come again, and changes nothing then.* After a crash Spark repeats the last one, with the
    same number and the same rows, in any order. Nothing else comes twice. A sink that retracts, replaces or recognizes
    (`WrittenBatch.includes`) what it wrote under that number has each row exactly once.
    `muntin_engine.testing.check_sink` tries that, with a crash at every line of the sink.

    Law: *Lost rows are noticed.* Spark does not repeat the micro-batches that the checkpoint has. So a sink whose last
    rows were taken away reports an earlier `last_written`, or raises a StateError.

    Attributes:
        guarantee: In words, how often each row arrives; the logger `muntin.sinks` writes it when a query starts. A sink
            that keeps the first law may say `"exactly once"`.

    Example:
        >>> class Latest(Sink):
        ...     rows: list = []
        ...
        ...     def write(self, batch, batch_id):
        ...         self.rows = batch.collect()
    """

    guarantee: ClassVar[str] = "at least once: a micro-batch that comes again has the same number"

    @property
    def folder(self) -> Path | None:
        """The folder that belongs to the sink alone; None if it has none.

        Once a micro-batch was written there is something in it: where it is gone or empty, the query does not go on.
        """
        return None

    @property
    def place(self) -> str | None:
        """The name of the place that is written to, the same at each start and without secrets; None if there is none.

        Two sinks of one place are refused. A checkpoint keeps it: where `last_written` says that a place has nothing
        that was written to before, the query does not go on.
        """
        return None if self.folder is None else str(self.folder)

    @property
    def last_written(self) -> WrittenBatch | None:
        """The last micro-batch of its query that the sink has, -1 if it has none; None if it does not know.

        It is read before and after `open`. A sink whose place holds several queries knows it only after.

        If it is another one than the checkpoint's last, or read something else, one of the two was restored from a copy
        without the other, and the query does not go on.

        Raises:
            StateError: The sink's record of it is damaged, or rows that it wrote are gone.
        """
        return None

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the names of the output's key columns.

        Args:
            keys: The columns by which the query groups, for results; late and rejected rows and progress have none.

        Raises:
            QueryError: The sink was given other keys.
        """
        return

    def check(self, columns: Sequence[str]) -> None:
        """Refuse an output that the sink cannot take.

        Args:
            columns: The names of its columns.

        Raises:
            QueryError: A column is missing, or one too many; the message says what to do.
        """
        return

    def open(self, query_id: str) -> None:
        """Prepare for a run.

        Args:
            query_id: The name of the query for as long as its checkpoint lives, over all its runs. Numbers of
                micro-batches mean something among those of one query only.
        """
        return

    def take_watermark(self, watermark: int) -> None:
        """Take the watermark of the output; called before each `write`, for the sink of results alone.

        Args:
            watermark: The tick before which nothing changes in any micro-batch after the one that is written next: a
                later result starts at or after it, and so does one that is retracted. It never goes back.
        """
        return

    def take_count(self, rows: int) -> None:
        """Take the number of rows; called before each `write`, so that a sink need not count them by a job of Spark's.

        Args:
            rows: The number of rows of the micro-batch that is written next.
        """
        return

    def take_read(self, read: str) -> None:
        """Take a name of the input of a micro-batch; called before each `write`.

        Args:
            read: The name. It is the same if the micro-batch comes again, and another one if Spark plans other input
                under its number, as it does with an older copy of the checkpoint. Empty if the driver cannot know.
        """
        return

    @abstractmethod
    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write the rows of a micro-batch.

        Args:
            batch: The rows. They are computed already, so more than one action, or `take` and `isEmpty`, do no harm;
                they are gone when this method has returned.
            batch_id: The number of the micro-batch, one more than that of the last.
        """


class InformedSink(Sink):
    """A sink whose `write` knows the watermark, the number of rows and the input of its micro-batch."""

    _watermark: int | None = None
    _row_count: int | None = None
    _read = ""

    def take_watermark(self, watermark: int) -> None:
        """Keep the watermark for the next micro-batch."""
        self._watermark = watermark

    def take_count(self, rows: int) -> None:
        """Keep the number of rows for the next micro-batch."""
        self._row_count = rows

    def take_read(self, read: str) -> None:
        """Keep the name of the input for the next micro-batch."""
        self._read = read

    def _pop_row_count(self) -> int | None:
        """Return the number of rows of the micro-batch that is written, and forget it: the next one has another."""
        row_count = self._row_count
        self._row_count = None
        return row_count


WriteFunction: TypeAlias = "Callable[[DataFrame, int], object]"
"""A function that writes a micro-batch, given its rows and its number."""

SinkLike: TypeAlias = "str | PathLike[str] | WriteFunction | Sink"
"""Anything that becomes a sink: a path for Parquet files, an address with a scheme, a function, or a sink."""
