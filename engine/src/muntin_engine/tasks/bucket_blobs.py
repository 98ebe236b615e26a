"""Blobs of rows for their buckets: the rows as they are, or as what an evaluator lifts them to."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.contracts import LiftsRows
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.key_buckets import by_bucket
from muntin_engine.wire.shuffle import exchange_batch
from muntin_engine.wire.task_payload import TaskPayload


def row_blobs(task: TaskPayload, rows: pa.Table, side: int) -> Iterator[pa.RecordBatch]:
    """Yield a blob for each bucket that has rows; the rows of a bucket keep their order."""
    buckets: list[int] = []
    blobs: list[bytes] = []
    for place, bucket_rows in by_bucket(rows, task.key_names, task.plan.buckets):
        buckets.append(task.buckets[place])
        blobs.append(to_blob(bucket_rows))
    if buckets:
        yield exchange_batch(task, buckets, {"rows": blobs}, side)


def lifted_blobs(task: TaskPayload, lifter: LiftsRows, rows: pa.Table, side: int) -> Iterator[pa.RecordBatch]:
    """Yield the partial states of the good rows for each bucket that has any, and the other rows as they are.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    problems = rows.column("problem")
    if problems.null_count < len(problems):
        yield from row_blobs(task, rows.filter(pc.is_valid(problems)), side)
        rows = rows.filter(pc.is_null(problems))
    try:
        lifted = list(lifter.lift(task, rows, side))
    except ModuleFailedError as error:
        error.say_window(task.plan.words.axis.spell_interval)
        raise
    buckets = [task.buckets[bucket_blob.bucket] for bucket_blob in lifted]
    columns = {
        "evaluator_blobs": [bucket_blob.blob for bucket_blob in lifted],
        "oldest": [pc.min(rows.column("start")).as_py()] * len(lifted),
    }
    yield exchange_batch(task, buckets, columns, side)
