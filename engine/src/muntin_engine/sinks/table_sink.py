"""Sinks of tables that have transactions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks.rows_on_driver import net_batches, record_batches
from muntin_engine.sinks.sink import InformedSink
from muntin_engine.sinks.written_batch import WrittenBatch, latest_watermark

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

CHANGE = "change"
EVENT_ID = "event_id"


class Mark(NamedTuple):
    """The progress of a query in a table, committed in the transaction of the rows.

    Attributes:
        batch: The last micro-batch; -1 if there is none.
        input_id: The id of the input of that micro-batch; empty if it is not known.
        watermark: The tick before which no later micro-batch changes anything; None if it is not known.
    """

    batch: int = -1
    input_id: str = ""
    watermark: int | None = None

    @property
    def written_batch(self) -> WrittenBatch:
        """The last micro-batch, with the id of its input."""
        return WrittenBatch(self.batch, self.input_id)

    def followed_by(self, batch_id: int, input_id: str, watermark: int | None) -> Mark:
        """Return the mark after one more micro-batch.

        Args:
            batch_id: The number of the micro-batch.
            input_id: The id of its input.
            watermark: The watermark after the micro-batch. The new mark has the later one of this watermark and the
                one that this mark has, as a watermark never goes back.
        """
        return Mark(batch_id, input_id, latest_watermark(self.watermark, watermark))


class TableSink(InformedSink):
    """Writes each micro-batch in one transaction, together with its number.

    A micro-batch whose number the table has is skipped, so each row arrives exactly once. Rows are appended. A
    changelog (rows with `change` and `event_id`, as of `emit="speculative"` and `"eager"`) is merged, by its key
    columns and `event_id`: the table holds the live rows. Readers see a micro-batch whole or not at all. Queries may
    share a table, each with a mark of its own.

    A subclass defines `find_mark`, `append` and `merge`.

    Cost: rows pass through the driver; up to 100,000 of them at once, beyond that one partition at a time.
    """

    guarantee = "exactly once"

    _query_id = ""

    _last_batch: int | None = None
    """The last micro-batch that was written in this run."""

    _keys: Sequence[str] = ()

    @abstractmethod
    def find_mark(self, query_id: str) -> Mark:
        """Return the progress of a query in the table; `Mark()` if the query has written nothing, or there is no table.

        A table that was restored to an earlier version has the progress of that version.

        Raises:
            StateError: Rows that the query wrote are gone, and not because the table was restored.
        """

    @abstractmethod
    def append(self, rows: pa.RecordBatchReader, query_id: str, mark: Mark) -> None:
        """Add rows, perhaps none, and store the mark, in one transaction; make the table if there is none.

        Args:
            rows: The rows.
            query_id: The id of the query.
            mark: The progress of the query with these rows.
        """

    @abstractmethod
    def merge(self, rows: pa.RecordBatchReader, names: Sequence[str], query_id: str, mark: Mark) -> None:
        """Merge net changes, perhaps none, and store the mark, in one transaction; make the table if there is none.

        Args:
            rows: The changes, at the most one for each row of the table; their column `change` is `upsert` or `delete`.
            names: The columns that identify a row. A null in them is equal to another null.
            query_id: The id of the query.
            mark: The progress of the query with these rows.
        """

    @property
    def mark(self) -> Mark:
        """The progress of the query that the sink was opened for."""
        return self.find_mark(self._query_id)

    @property
    def last_written(self) -> WrittenBatch | None:
        """The last micro-batch in the table of the query that the sink was opened for; None before `open`."""
        return self.mark.written_batch if self._query_id else None

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the key columns."""
        self._keys = tuple(keys)

    def open(self, query_id: str) -> None:
        """Begin a run of a query."""
        self._query_id = query_id
        self._last_batch = None

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Commit the rows of a micro-batch with its number, unless the table has that micro-batch.

        Raises:
            QueryError: `open` was not called before.
            StateError: The table has lost a micro-batch that was written in this run.
        """
        if not self._query_id:
            raise QueryError(f"{self} is written to before open()\n  expected: open(query_id), once in each run")
        # The mark is read anew for each micro-batch: the table may have been restored while the query runs.
        previous_mark = self.mark
        if self._last_batch is not None and previous_mark.batch < self._last_batch:
            raise rows_gone_error(
                f"{self} has lost what micro-batch {self._last_batch} of this run wrote: it has {previous_mark.batch}"
            )
        if previous_mark.written_batch.includes(batch_id):
            return

        mark = previous_mark.followed_by(batch_id, input_id=self._input_id, watermark=self._watermark)
        if CHANGE in batch.columns and EVENT_ID in batch.columns:
            names = (*self._keys, EVENT_ID)
            # The number of rows stays known: a subclass may call `write` a second time, as after a lost connection.
            changes = net_batches(batch, names, self._row_count)
            self.merge(changes, names, self._query_id, mark)
        else:
            rows = record_batches(batch, self._row_count)
            self.append(rows, self._query_id, mark)
        self._last_batch = batch_id


def rows_gone_error(reason: str, remedy: str = "") -> StateError:
    """Return the error that says that rows are gone which a query wrote.

    Args:
        reason: The event that took them away, in words.
        remedy: A remedy beside those that every table has; empty for none.
    """
    remedies = [
        "what the checkpoint has done is not written again: put the rows back, or restore the table and the",
        "checkpoint from copies of one time, or start with a new checkpoint to compute all results again, or go on",
        "without the old ones by naming another table",
    ]
    if remedy:
        remedies.append(remedy)
    return StateError("\n  ".join([reason, *remedies]))
