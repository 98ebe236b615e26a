"""A micro-batch of a bucket of events with ids."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from muntin import EmitPolicy
from muntin_engine.core.changes import OutputKind
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.keyed.result_tables import result_tables
from muntin_engine.evaluators.revised.bucket import RevisedBucket
from muntin_engine.exchange.shuffle import to_blob
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.kept_stores import KEPT


def blobs_of(rows: pa.Table) -> Iterator[BucketBlob]:
    """Yield the good rows for each bucket that has any, as they are: which of them are legal is known there alone.

    Cost: a sort of the rows by bucket.
    """
    if not len(rows):
        return
    buckets = rows.column("bucket").to_numpy()
    order = np.argsort(buckets, kind="stable")
    needless = [name for name in ("bucket", "problem", "change") if name in rows.column_names]
    ordered = rows.drop_columns(needless).take(pa.array(order)).combine_chunks()
    numbers, firsts = np.unique(buckets[order], return_index=True)
    for number, first, last in zip(numbers, firsts, [*firsts[1:], len(order)], strict=True):
        yield BucketBlob(int(number), to_blob(ordered.slice(first, last - first)))


def process(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""
    KEPT.most = task.worker.kept_bytes
    kept, name = None if task.is_static else KEPT, (task.name, bucket)
    (said,), (given,) = batch.reports, task.inputs
    result = RevisedBucket(
        task.query, task.forms, cells, task.codec, task.compatibility, kept, name, given.tracker
    ).process(batch.partials, said.progress, said.observed)
    metrics = {
        "keys": result.keys,
        "windows_closed": result.windows_closed,
        "state_bytes": result.held.bytes,
    }
    if task.query.emit is not EmitPolicy.FINAL:
        metrics["windows_revisable"] = result.held.windows
        metrics["retractions"] = sum(change.kind is not OutputKind.INSERT for _, change in result.changes)
        tables = result_tables(task, ((key, (change,)) for key, change in result.changes))
        return Evaluated(tables, result.accepted, result.watermark, result.progress, metrics, result.rejections)
    tables = (table for closed in result.closed for table in closed_tables(task, closed))
    return Evaluated(tables, result.accepted, result.watermark, result.progress, metrics, result.rejections)
