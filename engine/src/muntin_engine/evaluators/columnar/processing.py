"""A micro-batch of a bucket, evaluated on arrays."""

from __future__ import annotations

from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.columnar.result_tables import closed_tables
from muntin_engine.evaluators.columnar.store import Closed, ColumnarStore
from muntin_engine.evaluators.over_slices.processing import process_slices
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells


def process(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""

    def count(closed: Closed) -> int:
        return len(closed.windows.keys)

    return process_slices(
        task, bucket, cells, batch, lambda: ColumnarStore(task.grids, task.forms), closed_tables, count
    )
