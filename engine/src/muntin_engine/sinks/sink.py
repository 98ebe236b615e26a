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
    first micro-batch of each run, then `take_count`, `take_input_id` and `write` for every micro-batch in order, also
    for one that has no rows, and `take_watermark` before them where the watermark is known. A subclass must define
    `write`; the other methods do nothing by default.

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

        After the first micro-batch the folder must not be empty: if it is gone or empty at a later start, the query
        does not go on.
        """
        return None

    @property
    def destination(self) -> str | None:
        """The folder, table or topic that the sink writes to, as a name; None if the sink has none.

        The name is the same at each start, and has no password or key in it. A query may not have two sinks with one
        destination. A checkpoint keeps the destinations that its query has written to: if the sink of one of them says
        by `last_written` that it has no micro-batch, the query does not go on.
        """
        return None if self.folder is None else str(self.folder)

    @property
    def last_written(self) -> WrittenBatch | None:
        """The last micro-batch of its query that the sink has; -1 as its number if it has none, None if it cannot tell.

        The engine reads this property before `open` and after it. A sink whose destination is shared by several queries
        can tell only after `open`, which gets the id of the query.

        The query does not go on if this is another micro-batch than the checkpoint's last one, or the same one with
        another input: then either the sink or the checkpoint was restored from a copy without the other.

        Raises:
            StateError: The sink's record of the micro-batch is damaged, or rows that the sink wrote are gone.
        """
        return None

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the names of the output's key columns; by default, ignore them.

        Args:
            keys: For results, the columns by which the query groups; empty for every other output.

        Raises:
            QueryError: The sink was given other keys.
        """
        return

    def check(self, columns: Sequence[str]) -> None:
        """Refuse an output that the sink cannot take; by default, refuse none.

        Args:
            columns: The names of its columns.

        Raises:
            QueryError: The output lacks a column, or has one that the sink does not allow.
        """
        return

    def open(self, query_id: str) -> None:
        """Prepare for a run; by default, do nothing.

        Args:
            query_id: The id of the query, which is the same in all runs with one checkpoint. Two queries with
                different ids count their micro-batches independently: both may have a micro-batch 7.
        """
        return

    def take_watermark(self, watermark: int) -> None:
        """Take the watermark of the output; called before `write`, for the sink of results alone.

        It is not called before there is any progress, and not for a micro-batch without rows of input, which leaves the
        watermark as it is.

        Args:
            watermark: The tick before which nothing changes after the micro-batch that is written next: each result
                that a later micro-batch emits or retracts starts at the watermark or after it. It never goes back.
        """
        return

    def take_count(self, rows: int) -> None:
        """Take the number of rows; called before each `write`, so that a sink need not count them by a job of Spark's.

        Args:
            rows: The number of rows of the micro-batch that is written next.
        """
        return

    def take_input_id(self, input_id: str) -> None:
        """Take the id of the input of a micro-batch; called before each `write`.

        Args:
            input_id: A text that stands for the rows that the micro-batch reads. If the micro-batch comes again, the
                id is the same. If Spark reads other rows under the same number, as it does with an older copy of the
                checkpoint, the id is another one. Empty if the driver does not see what Spark reads.
        """
        return

    @abstractmethod
    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write the rows of a micro-batch.

        Args:
            batch: The rows. They are computed already: several actions on them, or `take` and `isEmpty`, cost little
                and evaluate nothing again. The DataFrame cannot be used after this method has returned.
            batch_id: The number of the micro-batch, which is one more than that of the previous one.
        """


class InformedSink(Sink):
    """A sink that keeps the watermark, the number of rows and the input's id of a micro-batch, for its `write`."""

    _watermark: int | None = None
    _row_count: int | None = None
    _input_id = ""

    def take_watermark(self, watermark: int) -> None:
        """Keep the watermark after the next micro-batch."""
        self._watermark = watermark

    def take_count(self, rows: int) -> None:
        """Keep the number of rows of the next micro-batch."""
        self._row_count = rows

    def take_input_id(self, input_id: str) -> None:
        """Keep the id of the input of the next micro-batch."""
        self._input_id = input_id

    def _pop_row_count(self) -> int | None:
        """Return the number of rows that `take_count` got for this micro-batch; None if it was not called.

        The number is forgotten at once, so that the next micro-batch cannot be written with it by mistake.
        """
        row_count = self._row_count
        self._row_count = None
        return row_count


WriteFunction: TypeAlias = "Callable[[DataFrame, int], object]"
"""A function that writes a micro-batch, given its rows and its number."""

SinkLike: TypeAlias = "str | PathLike[str] | WriteFunction | Sink"
"""Anything that becomes a sink: a path for Parquet files, an address with a scheme, a function, or a sink."""
