"""The functions that Spark calls with rows: maps over the rows of a task, and grouped maps over a whole bucket.

A bucket is evaluated as a whole if its input is static, or when its stream is closed. Otherwise `bucket_processor`
evaluates it micro-batch by micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext

from muntin_engine.backends.spark.column_types import arrow_schema_of
from muntin_engine.backends.spark.dataframes.static_warnings import CountReporter
from muntin_engine.backends.spark.delivery.packed_task import open_task
from muntin_engine.backends.spark.failures.worker_errors import module_error_first
from muntin_engine.backends.spark.operators.output_columns import OUTPUT
from muntin_engine.backends.spark.operators.settled_worker import settle
from muntin_engine.plan.metrics import skipped_metric
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.one_pass import QueryColumns, distribute_to_all
from muntin_engine.tasks.output_blobs import RESULTS, OutputBlob, with_totals
from muntin_engine.tasks.recorded_rows import PASSED_ON, ROWS, RowRecording
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.wire.blob_readers import EventReader
from muntin_engine.wire.shuffle import collect
from muntin_engine.workers.oversight import overseen

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows

RECORDING: Final = "spark.muntin.recording."
"""The prefix of the settings with the recordings of inner queries; the id of the query follows it."""


class Distributor:
    """Sends the rows of one task to their buckets; for `mapInArrow`. The packed task is opened on the worker."""

    def __init__(self, task: bytes, recording: RowRecording | str | None = None) -> None:
        """Create the function.

        Args:
            task: The packed task.
            recording: The recording of the rows; or the id of an inner query, by which its tasks find their recording;
                None for no recording.
        """
        self._task = task
        self._recording = recording

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs of rows, then the progress of the task."""
        task = open_task(self._task)
        settle()  # the garbage collector skips what is imported by now
        with module_error_first(), overseen(task.worker, task.plan.axis):
            yield from distribute(task, batches, _recorded_rows(self._recording))


class SharedDistributor:
    """Sends the rows that several queries share to the buckets of each; for `mapInArrow`."""

    def __init__(
        self,
        tasks: Sequence[bytes],
        columns_by_query: Sequence[QueryColumns],
        recordings: Sequence[RowRecording | str | None],
    ) -> None:
        """Create the function.

        Args:
            tasks: The packed task of each query.
            columns_by_query: The columns of each query among those of the shared rows.
            recordings: The recording of the rows of each query, or None for no recording, as `Distributor` takes it.
        """
        self._tasks = tuple(tasks)
        self._columns_by_query = tuple(columns_by_query)
        self._recordings = tuple(recordings)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of all queries, then the progress of each."""
        tasks = list(map(open_task, self._tasks))
        settle()  # the garbage collector skips what is imported by now
        recorded_rows = [_recorded_rows(recording) for recording in self._recordings]
        with module_error_first():  # each task is overseen in `distribute_to_all`
            yield from distribute_to_all(tasks, self._columns_by_query, batches, recorded_rows)


class StatelessTask:
    """Evaluates the rows of a task of a query without state, which needs no shuffle; for `mapInArrow`."""

    def __init__(
        self, task: bytes, reporter: CountReporter | None = None, recording: RowRecording | str | None = None
    ) -> None:
        """Create the function.

        Args:
            task: The packed task.
            reporter: The reporter of counts for a static input; None for a stream, and on Spark Connect.
            recording: The recording of the rows; or the id of an inner query, by which its tasks find their recording;
                None for no recording.
        """
        self._task = task
        self._reporter = reporter
        self._recording = recording

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs of results and of rejected rows, then one row with all metrics."""
        task = open_task(self._task)
        schema = arrow_schema_of(OUTPUT)
        blobs_to_report: list[OutputBlob] = []
        settle()  # the garbage collector skips what is imported by now

        # Blobs are yielded at once. Those that the report at the end needs are kept as well: all but the blobs of
        # results, which are many.
        def evaluated_blobs() -> Iterator[OutputBlob]:
            """Yield the blobs of the task, and keep those that are not of results for the report."""
            for blob in run_task(task, batches, _recorded_rows(self._recording)):
                if blob.stream != RESULTS:
                    blobs_to_report.append(blob)
                yield blob

        with module_error_first(), overseen(task.worker, task.plan.axis):
            for blob in with_totals(evaluated_blobs()):
                row = {"bucket": task.buckets[0], "place": task.place, **blob.columns()}
                yield pa.RecordBatch.from_pylist([row], schema)

        context = TaskContext.get()
        if self._reporter is None or context is None:
            task.overflows.report()  # in the log of the worker, as there is no way to the driver
            return

        # The rows that modules skipped, by the label of the module. Each number is a metric: a blob whose stream is the
        # name of the metric, and whose `rows` are the number.
        label_by_metric = {skipped_metric(label): label for label in task.labels_of_skipping_modules}
        skipped: dict[str, int] = {}
        for blob in blobs_to_report:
            label = label_by_metric.get(blob.stream)
            if label is not None:
                skipped[label] = blob.rows
        # Counts are reported by bucket. A query without state has no buckets, so the number of the task is used.
        self._reporter.report(context.partitionId(), blobs_to_report, skipped, task.overflows.take())


class PassingReader(EventReader):
    """Reads the blobs of an inner query as events of the query that reads its results.

    It also records these events if the reading query is recorded.
    """

    def __init__(self, schema: pa.Schema, lifetime: str, inner_id: str) -> None:
        """Create the reader.

        Args:
            schema: The columns of the events.
            lifetime: The name of the column with the lifetimes.
            inner_id: The id of the inner query, by which a task finds the recording that these events go to.
        """
        super().__init__(schema, lifetime)
        self._inner_id = inner_id

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob, and record them; a blob that is a watermark becomes a row of punctuation."""
        recorded_rows = _recorded_rows(self._inner_id, PASSED_ON)
        for batch in super().__call__(batches):
            if recorded_rows is not None:
                recorded_rows.write(batch)
            yield batch
        if recorded_rows is not None:
            recorded_rows.finish(reports=(), signals=())


def _recorded_rows(recording: RowRecording | str | None, kind: str = ROWS) -> RecordedRows | None:
    """Return the file in which the running task records its rows; None if they are not recorded.

    Args:
        recording: The recording; or the id of an inner query, whose recording is not known before `write`; None or
            empty for no recording.
        kind: The folder of the file: `ROWS` for rows that the task reads, `PASSED_ON` for results of an inner query.
    """
    context = TaskContext.get()
    if not recording or context is None:
        return None
    batch = context.getLocalProperty("streaming.sql.batchId")
    if batch is None:
        return None  # the input is static
    if isinstance(recording, str):
        # `recording_settings` has set this property for the Spark query if the reading query is recorded.
        packed_recording = context.getLocalProperty(RECORDING + recording)
        if not packed_recording:
            return None
        recording = RowRecording(*json.loads(packed_recording))
    return recording.of_task(int(batch), context.partitionId(), kind)


def static_bucket(task: bytes, reporter: CountReporter | None) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function for `applyInArrow`, which evaluates one bucket of a static input as a whole.

    Args:
        task: The packed task.
        reporter: The reporter of counts; None on Spark Connect, and if nobody is warned.

    Returns:
        A function of the id of the bucket and a table with its rows as blobs. It has annotations, by which Spark
        chooses between a table and an iterator of record batches.
    """

    def evaluate(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        """Evaluate one bucket, given its id and its rows as blobs, and report its counts to the driver."""
        bucket = key[0].as_py()
        opened_task = open_task(task)
        arrivals = collect(table.to_pylist(), len(opened_task.inputs))
        with module_error_first():
            blobs = list(run_bucket(opened_task, bucket, MemoryCells(), arrivals))
        if reporter is not None:
            skipped = arrivals.row_counts.unaccepted_by(opened_task.labels_of_skipping_modules)
            reporter.report(bucket, blobs, skipped, opened_task.overflows.take())
        else:
            opened_task.overflows.report()  # in the log of the worker, as there is no way to the driver
        return _table_of(bucket, opened_task.place, blobs)

    return evaluate


def closing_bucket(tasks: Mapping[int, bytes]) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function for `applyInArrow`, which evaluates one bucket at the end of its stream.

    Args:
        tasks: The packed task of each bucket.

    Returns:
        A function of the id of the bucket and a table with its cells.
    """

    def evaluate(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        """Evaluate one bucket at the end of its stream, given its id and its cells."""
        cells = MemoryCells()
        for cell in table.to_pylist():
            if cell["name"] is not None:  # a bucket without state has a single row of nulls
                cells.put(cell["name"], cell["data"])
        bucket = key[0].as_py()
        opened_task = open_task(tasks[bucket])
        with module_error_first():
            # The task is that of a static input, which closes the stream after its rows. There are none.
            no_arrivals = collect((), len(opened_task.inputs))
            blobs = list(run_bucket(opened_task, bucket, cells, no_arrivals))
        return _table_of(bucket, opened_task.place, blobs)

    return evaluate


def _table_of(bucket: int, place: int, blobs: Sequence[OutputBlob]) -> pa.Table:
    """Return the output of a bucket as a table with the columns of `OUTPUT`; the last row has the metrics.

    Args:
        bucket: The id of the bucket.
        place: The place of its query among those of one pass.
        blobs: The output.
    """
    rows = [{"bucket": bucket, "place": place, **blob.columns()} for blob in with_totals(blobs)]
    return pa.Table.from_pylist(rows, arrow_schema_of(OUTPUT))
