"""A micro-batch, handed to every sink of a query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from muntin import EARLIEST
from muntin_engine.backends.spark.checkpoints.checkpoint import FOLDER, CheckpointFile
from muntin_engine.backends.spark.checkpoints.sink_checks import (
    END_OF_STREAM,
    check_not_ahead,
    check_not_behind,
    input_id_of,
)
from muntin_engine.backends.spark.dataframes.pipeline import typed_rows
from muntin_engine.backends.spark.dataframes.selected_results import selected
from muntin_engine.backends.spark.failures.root_cause import is_from_spark, root_cause
from muntin_engine.backends.spark.foreach_batch.batch_progress import progress_of
from muntin_engine.backends.spark.foreach_batch.query_ids import QueryId
from muntin_engine.backends.spark.foreach_batch.query_sinks import METRICS, QuerySinks
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import has_ended
from muntin_engine.backends.spark.session.settings import LOG
from muntin_engine.errors import SinkError, StateError
from muntin_engine.sinks.addresses import unpatterned
from muntin_engine.sinks.sink import Sink
from muntin_engine.tasks.output_blobs import OUTPUT_WATERMARK, RESULTS, STREAMS

if TYPE_CHECKING:
    from muntin_engine.sinks.recordings.recording_writer import RecordingWriter

_BLOBS: Final = "blobs"
"""The folder in the checkpoint for the blobs of a micro-batch, if the session refuses to persist them."""

_MOST_ROWS_OF_ONE_TASK: Final = 10_000
"""The number of rows in all outputs of a micro-batch up to which one task reads the blobs of each output."""


class BatchWriter:
    """Hands a micro-batch to every sink.

    All buckets are evaluated before any sink gets a row, and only once. Otherwise a sink that takes only a few rows
    would leave buckets without their new state. On Spark Connect the writer travels to the server and writes there.
    """

    def __init__(
        self,
        queries: Sequence[QuerySinks],
        query_id: QueryId,
        checkpoint: str,
        destinations: Collection[str] | None,
        first_file: CheckpointFile | None = None,
        input_id: str = "",
        recordings: Sequence[RecordingWriter | None] = (),
    ) -> None:
        """Create the writer to the sinks of queries.

        Args:
            queries: The sinks of each query, in the order of the pass.
            query_id: Spark's id of the query.
            checkpoint: The path of the checkpoint.
            destinations: The destinations that must have the last micro-batch, as `Checkpoint.checked_destinations` has
                them.
            first_file: The file that is written to the checkpoint with the first micro-batch that has a row: the record
                of the queries, or the mark that the stream is being closed; None for none.
            input_id: The id of the input of the only micro-batch that is written; empty if Spark plans micro-batches.
            recordings: The recording of each query, None for a query without one; empty if no query has one.
        """
        self._destinations = destinations
        self._checkpoint = checkpoint
        self._input_id = input_id
        self._first_file = first_file
        self._query_id = query_id
        self._queries = queries
        self._recordings = recordings or [None] * len(queries)
        self._is_open = False  # the sinks are opened with the first micro-batch, when Spark's id of the query is known
        self._can_persist = True  # until the session refuses to persist a micro-batch, as some platforms do

    def __call__(self, blobs: DataFrame, batch_id: int) -> None:
        """Write a micro-batch."""
        with self._evaluated_once(blobs) as evaluated:
            self._write(evaluated, batch_id)

    @contextmanager
    def _evaluated_once(self, blobs: DataFrame) -> Iterator[DataFrame]:
        """Lend the blobs of a micro-batch in a form that can be read several times.

        Each action on the blobs themselves would evaluate all buckets and write their state again. So they are
        persisted; or, if the session refuses that, as serverless platforms do, stored in the checkpoint.
        """
        persisted = self._persisted(blobs)
        if persisted is None:
            yield self._stored(blobs)
            return
        try:
            yield persisted
        finally:
            persisted.unpersist()

    def _persisted(self, blobs: DataFrame) -> DataFrame | None:
        """Persist the blobs of a micro-batch; return None if the session refuses to, which is not tried again."""
        if not self._can_persist:
            return None
        try:
            return blobs.persist()
        except (PySparkException, Py4JError) as error:
            if has_ended(error):
                raise
            self._can_persist = False
            reason = str(error).partition("\n")[0]
            LOG.warning("the session refuses persist(): micro-batches are stored in %s; %s", self._storage, reason)
            return None

    @property
    def _storage(self) -> str:
        """The folder for the blobs of a micro-batch that cannot be persisted; each micro-batch replaces its content."""
        return f"{self._checkpoint}/{FOLDER}/{_BLOBS}"

    def _stored(self, blobs: DataFrame) -> DataFrame:
        """Write the blobs of a micro-batch to the checkpoint, and return a DataFrame that reads them there."""
        blobs.write.mode("overwrite").parquet(self._storage)
        return blobs.sparkSession.read.schema(blobs.schema).parquet(unpatterned(self._storage))

    def _write(self, blobs: DataFrame, batch_id: int) -> None:
        """Write a micro-batch to the sinks of all queries.

        Args:
            blobs: The blobs of all queries, in a form that can be read several times.
            batch_id: The number of the micro-batch.

        Raises:
            SinkError: A sink failed.
            StateError: A sink is ahead of the checkpoint or behind it, or has lost rows.
        """
        # This action evaluates all buckets. Only sizes and metrics come to the driver; the data stays with Spark.
        rows_by_query: list[list[Row]] = [[] for _ in self._queries]
        has_data = F.col("data").isNotNull().alias("has_data")
        for row in blobs.select("place", "stream", "rows", has_data, "totals").collect():
            rows_by_query[row.place].append(row)

        # A bucket that was evaluated has put out metrics at least. As long as none was, no bucket has state, and the
        # checkpoint belongs to no query yet.
        if self._first_file is not None and any(rows_by_query):
            self._first_file.write(blobs.sparkSession, batch_id)
            self._first_file = None  # it is written once in a run

        # A task costs more than a few rows do, and writes a file of its own: one task reads few rows. To find those of
        # its output it reads the blobs of all outputs of all queries, so the rows of all of them count.
        row_count = sum(row.rows for row in chain.from_iterable(rows_by_query) if row.has_data)
        if row_count <= _MOST_ROWS_OF_ONE_TASK:
            blobs = blobs.coalesce(1)

        input_id = self._input_id or input_id_of(self._checkpoint, batch_id)
        for place, output_rows in enumerate(rows_by_query):
            self._write_query(place, blobs, output_rows, batch_id, input_id)
        self._is_open = True  # the first micro-batch has opened the sinks of all queries

        # Recordings come last, so that all sinks have each micro-batch that a recording has.
        for output_rows, recording in zip(rows_by_query, self._recordings, strict=True):
            if recording is not None:
                query_id = self._query_id.of(blobs.sparkSession)
                recording.commit(batch_id, query_id, _metrics(output_rows), is_end=input_id == END_OF_STREAM)

    def _write_query(
        self, place: int, blobs: DataFrame, output_rows: Sequence[Row], batch_id: int, input_id: str
    ) -> None:
        """Hand the outputs of one query to its sinks.

        Args:
            place: The place of the query among those of one pass.
            blobs: The blobs of all queries.
            output_rows: The rows that the buckets of this query have put out, without the data of blobs.
            batch_id: The number of the micro-batch.
            input_id: The id of its input, see `input_id_of`.

        Raises:
            SinkError: A sink failed.
            StateError: A sink is ahead of the checkpoint or behind it, or has lost rows.
        """
        query = self._queries[place]
        metrics = _metrics(output_rows)
        watermark = _watermark_of(metrics)
        for output, sink in query.sinks.items():
            if output == METRICS:
                schema = query.schemas[output]
                rows = blobs.sparkSession.createDataFrame([progress_of(batch_id, metrics, schema)], schema)
                count = 1
            else:
                rows, count = self._rows_of(query, output, place, blobs, output_rows)

            # `write` may commit the rows, so everything that a sink stores with them comes before.
            try:
                if not self._is_open:
                    sink.open(self._query_id.of(rows.sparkSession))
                    self._check_sink(f"{query.spelled(output)}={sink}", sink, batch_id, input_id)
                if output == RESULTS and watermark is not None:
                    sink.take_watermark(watermark)
                sink.take_count(count)
                sink.take_input_id(input_id)
                sink.write(rows, batch_id)
            except StateError:
                raise  # rows are gone, or are those of another time: it says so itself, and what to restore
            except Exception as error:  # the code of a sink may raise any exception
                reason = root_cause(error) if is_from_spark(error) else f"{type(error).__name__}: {error}"
                raise SinkError(query.spelled(output), sink=str(sink), batch_id=batch_id, reason=reason) from error

    def _rows_of(
        self, query: QuerySinks, output: str, place: int, blobs: DataFrame, output_rows: Sequence[Row]
    ) -> tuple[DataFrame, int]:
        """Return the rows of an output in a micro-batch, as the query selects them, and their number.

        Args:
            query: The query, with its sinks.
            output: The output.
            place: The place of the query among those of one pass.
            blobs: The blobs of all queries.
            output_rows: The rows that the buckets of this query have put out, without the data of blobs.
        """
        schema = query.schemas[output]
        # A row without data is a metric or a watermark.
        count = sum(row.rows for row in output_rows if row.has_data and row.stream in STREAMS[output])
        rows = typed_rows(blobs, output, schema, place) if count else blobs.sparkSession.createDataFrame([], schema)
        if output == RESULTS:
            rows = selected(rows, query.selection)
            if count and query.selection.condition is not None:
                count = rows.count()  # a job of its own: nothing else knows how many rows meet the condition
        return rows, count

    def _check_sink(self, name: str, sink: Sink, batch_id: int, input_id: str) -> None:
        """Raise unless a sink has what the micro-batches of the checkpoint wrote, and nothing else.

        `Checkpoint.check_sinks` has checked this at the start. Some sinks know what they have only once they are open.

        Args:
            name: The spelling of the sink in errors, such as `results=hours`.
            sink: The sink, which is open.
            batch_id: The number of the micro-batch that is to be written.
            input_id: The id of its input.

        Raises:
            StateError: The sink is ahead of the checkpoint, or behind it.
        """
        check_not_ahead(name, sink, batch_id, input_id)
        if self._destinations is not None:
            is_new = sink.destination not in self._destinations
            last_input = input_id_of(self._checkpoint, batch_id - 1)
            check_not_behind(name, sink, batch_id - 1, last_input, is_new=is_new)


def _metrics(output_rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Return the metrics of all buckets of a query as pairs of a name and a number; each bucket has its own pairs.

    Args:
        output_rows: The rows that the buckets of the query have put out; one of each has its metrics in `totals`.
    """
    metrics: list[tuple[str, int]] = []
    for row in output_rows:
        if row.totals is not None:
            metrics += row.totals.items()
    return metrics


def _watermark_of(metrics: Sequence[tuple[str, int]]) -> int | None:
    """Return the watermark of the results of a query, which is the least one of all buckets.

    None if no bucket was evaluated, or if there was no progress yet.

    Args:
        metrics: The metrics of all buckets, as `_metrics` returns them.
    """
    bucket_watermarks = [value for name, value in metrics if name == OUTPUT_WATERMARK]
    watermark = min(bucket_watermarks, default=EARLIEST)
    return None if watermark == EARLIEST else watermark
