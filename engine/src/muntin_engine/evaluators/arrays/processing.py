"""A micro-batch of a bucket, evaluated on merged partial states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from muntin import INFINITY, TimestampPolicy
from muntin_engine.evaluators.arrays.fused_bucket import FusedBucket
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket
from muntin_engine.evaluators.arrays.slice_store import SliceStore
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.kept_stores import KEPT


class Complete(Protocol):
    """Windows that are complete."""

    def window_count(self) -> int:
        """Return the number of windows of keys."""
        ...


Output = TypeVar("Output", bound=Complete)


def process_slices(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    batch: BucketBatch,
    make_store: Callable[[], SliceStore[Any, Output]],
    to_tables: Callable[[TaskPayload, Output], Iterator[pa.Table]],
) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: Its state.
        batch: What the micro-batch brings.
        make_store: Makes an empty store of partial states.
        to_tables: Yields complete windows as tables.
    """
    KEPT.most = task.worker.kept_bytes
    kept, name = None if task.is_static else KEPT, (task.name, bucket)
    (said,), (given,) = batch.reports, task.inputs
    bucket_type: type[SliceBucket[Output]] = SliceBucket if task.plan.gap is None else FusedBucket
    running = bucket_type(task.grids, make_store, cells, task.codec, task.compatibility, kept, name, given.tracker)
    result = running.process(batch.partials, said.progress, said.observed)
    watermark = running.output_watermark(result, at_end=task.query.timestamps is TimestampPolicy.POINT_AT_END)
    metrics = {
        "keys": result.keys,
        "windows_closed": sum(output.window_count() for output in result.output),
        "state_bytes": result.held.bytes,
    }
    tables = (table for output in result.output for table in to_tables(task, output))
    late_by = result.before - said.oldest if result.late and result.before < INFINITY else 0
    return Evaluated(tables, result.accepted, watermark, result.progress, metrics, late=result.late, late_by=late_by)
