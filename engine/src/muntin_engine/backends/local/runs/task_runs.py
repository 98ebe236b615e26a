"""Runs of the tasks of a query over static input: of a map task, of a bucket, and of a task without state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin_engine.backends.local.runs.exchange import BucketInput
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.output_blobs import OutputBlob
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.wire.overflows import ColumnOverflows
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """The output of a bucket, or a part of the output of a query without buckets.

    Attributes:
        bucket: The id of the bucket; that of the first one for a query without buckets.
        blobs: The rows and the values of metrics.
        overflows: The values that a result column cannot hold, by column.
    """

    bucket: int
    blobs: Sequence[OutputBlob]
    overflows: Mapping[str, ColumnOverflows]


def run_static_bucket(task: TaskPayload, bucket: int, bucket_input: BucketInput) -> TaskOutput:
    """Evaluate a bucket over all of its rows, and return its output; its state is dropped.

    Args:
        task: The query.
        bucket: The id of the bucket.
        bucket_input: The blobs and reports of the bucket. Its blobs are removed from it.

    Raises:
        ModuleFailedError: A module raised an exception, with its key and window.
    """
    arrivals = bucket_input.arrivals(len(task.inputs))
    bucket_input.blobs.clear()  # only `arrivals` holds them now, so the evaluator can free each that it has read
    blobs = list(run_bucket(task, bucket, MemoryCells(), arrivals))  # it also notes overflows, in the task
    return TaskOutput(bucket, blobs, task.overflows.take())


def run_without_state(task: TaskPayload, batches: Iterable[pa.RecordBatch]) -> Iterator[TaskOutput]:
    """Evaluate rows without state, batch by batch.

    Raises:
        ModuleFailedError: A module raised an exception, with its key and window.
    """
    for blob in run_task(task, batches):
        # Output may share memory with the table that was read, such as a pandas frame, which its owner may change.
        yield TaskOutput(task.buckets[0], [blob.copied()], task.overflows.take())
