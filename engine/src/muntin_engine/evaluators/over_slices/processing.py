"""A micro-batch of a bucket, evaluated over slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from muntin import TimestampPolicy
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.over_slices.slice_bucket import Complete, SliceBucket
from muntin_engine.evaluators.over_slices.slice_store import SliceStore
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.kept_stores import KEPT, KeptStores

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
    kept = KeptStores() if task.is_static else KEPT
    (said,), (given,), name = batch.reports, task.inputs, (task.name, bucket)
    of_slices = bucket_type(task.grids, make_store, cells, task.codec, task.compatibility, kept, name, given.tracker)
    result = of_slices.process(batch.partials, said.progress, said.observed)
    at_end = task.query.timestamps is TimestampPolicy.POINT_AT_END
    metrics = {
        "keys": result.keys,
        "windows_closed": sum(count(complete.output) for complete in result.output),
        "state_bytes": result.held.bytes,
    }
    tables, watermark = _tables(task, result.output, to_tables), of_slices.output_watermark(result, at_end=at_end)
    return Evaluated(tables, result.accepted, watermark, result.progress, metrics, late=result.late)


def _tables(
    task: TaskPayload,
    output: Iterable[Complete[Output]],
    to_tables: Callable[[TaskPayload, Complete[Output]], Iterator[pa.Table]],
) -> Iterator[pa.Table]:
    return (table for complete in output for table in to_tables(task, complete))
