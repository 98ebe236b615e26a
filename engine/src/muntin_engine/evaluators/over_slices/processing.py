"""A micro-batch of a bucket, evaluated over slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from muntin import INFINITY, TimestampPolicy
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.over_slices.slice_bucket import Complete, SliceBucket
from muntin_engine.evaluators.over_slices.slice_store import SliceStore
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.kept_stores import KEPT

Output = TypeVar("Output")


def process_slices(  # what evaluators over slices differ in
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    batch: BucketBatch,
    make_store: Callable[[], SliceStore[Any, Output]],
    to_tables: Callable[[TaskPayload, Complete[Output]], Iterator[pa.Table]],
    count: Callable[[Output], int],
    bucket_type: type[SliceBucket[Any]] = SliceBucket,
) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: Its state.
        batch: What the micro-batch brings.
        make_store: Makes an empty store of partial states.
        to_tables: Yields complete windows as tables.
        count: Returns how many windows of keys there are.
        bucket_type: What evaluates the bucket.
    """
    KEPT.most = task.worker.kept_bytes
    kept, name = None if task.is_static else KEPT, (task.name, bucket)
    (said,), (given,) = batch.reports, task.inputs
    of_slices = bucket_type(task.grids, make_store, cells, task.codec, task.compatibility, kept, name, given.tracker)
    result = of_slices.process(batch.partials, said.progress, said.observed)
    watermark = of_slices.output_watermark(result, at_end=task.query.timestamps is TimestampPolicy.POINT_AT_END)
    metrics = {
        "keys": result.keys,
        "windows_closed": sum(count(complete.output) for complete in result.output),
        "state_bytes": result.held.bytes,
    }
    tables = (table for complete in result.output for table in to_tables(task, complete))
    late_by = result.before - said.oldest if result.late and result.before < INFINITY else 0
    return Evaluated(tables, result.accepted, watermark, result.progress, metrics, late=result.late, late_by=late_by)
