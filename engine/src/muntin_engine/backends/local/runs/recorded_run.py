"""The run of a query over tables in this process that is recorded, so that it can be replayed and explained.

A table is recorded as a stream of one micro-batch that then ends: so the same code replays it as replays a stream on
Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from muntin_engine.backends.local.frames.micro_batch import BucketOutput
from muntin_engine.backends.local.runs.local_query import LocalQuery
from muntin_engine.backends.local.runs.run_input import input_batches
from muntin_engine.backends.planning.query_task import task_of
from muntin_engine.errors import RecordingError
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.sinks.recordings.recording_files import RUNS
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter, check_keys
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.stateless_task import run_task

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.sinks.recordings.recorder import Recorder
    from muntin_engine.wire.task_payload import TaskPayload

_ROWS_BATCH: Final = 0
_END_BATCH: Final = 1
"""The numbers of the micro-batch with the rows, and of the one that ends the stream."""

_NO_SPARK_QUERY: Final = ""
"""The id of Spark's query in the recording: a run over tables has no such query."""


def record_run(query: PlannedQuery, recorder: Recorder) -> None:
    """Run a query over its tables, and record it.

    Args:
        query: The query.
        recorder: The settings of the recording.

    Raises:
        RecordingError: The folder has a recording already.
        QueryError: A key of the recorder is none of the query, or a row of the input cannot be read.
        ModuleFailedError: A module raised an exception, with its key and window. The recording has the rows up to it.
    """
    check_keys(recorder, query.plan.keys, query.source.keys)
    if any((recorder.folder / RUNS).glob("*.json")):
        raise RecordingError(
            f"{recorder.folder} has a recording already, and a table is recorded once\n"
            "  give record() another folder, or remove this one"
        )
    # The tables are recorded as a stream is: all rows are one micro-batch, and the end is another one.
    task = task_of(query, WorkerSettings(), is_static=False)

    writer = RecordingWriter(recorder)
    writer.begin(RecordedQuery.of(query.plan, task, _no_state), _NO_SPARK_QUERY, last_commit=-1)
    running_query = LocalQuery(task)
    rows_output = _recorded_output(query, running_query, writer)
    row_counts = _row_counts(rows_output)  # reads, records and evaluates the rows
    writer.commit(_ROWS_BATCH, _NO_SPARK_QUERY, row_counts)
    if not task.plan.choice.keeps_state:
        return  # no windows are open that the end could close

    metrics: list[tuple[str, int]] = []
    try:
        metrics = _row_counts(running_query.close())
    finally:
        # Also if a module fails when windows close: a replay then closes them too, and fails as the run did.
        writer.commit(_END_BATCH, _NO_SPARK_QUERY, metrics, is_end=True)


def _recorded_output(query: PlannedQuery, running_query: LocalQuery, writer: RecordingWriter) -> Iterator[BucketOutput]:
    """Evaluate the rows of the tables, record them as they are read, and yield the output.

    Args:
        query: The query.
        running_query: The query as it runs, with its state.
        writer: The writer of the recording. Each table is recorded in a file as the rows of one map task.
    """
    task = running_query.task
    if task.plan.choice.keeps_state:
        yield from running_query.process_exchanged(_recorded_map_tasks(query, task, writer))
        return
    # A query without a state has one input, and no exchange.
    file = writer.rows.of_task(_ROWS_BATCH, partition=0)
    for blob in run_task(task, input_batches(query, side=0), file):
        yield BucketOutput(task.buckets[0], blob)


def _recorded_map_tasks(
    query: PlannedQuery, task: TaskPayload, writer: RecordingWriter
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the output of a map task for each input, which records the rows of the input in a file as it reads them."""
    for side, _ in enumerate(query.sources):
        file = writer.rows.of_task(_ROWS_BATCH, partition=side)
        yield distribute(task, input_batches(query, side), file)


def _row_counts(output: Iterable[BucketOutput]) -> list[tuple[str, int]]:
    """Evaluate output that is computed as it is read, and return the stream and the number of rows of each blob."""
    return [(blob.stream, blob.rows) for _, blob in output]


def _no_state() -> pa.Table:
    """Stand for the reader of the state with which a recording begins; it is never called, as there is no state yet."""
    raise AssertionError("a run over tables begins without a state")
