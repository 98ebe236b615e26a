"""The evaluator on arrays: rows become values that are merged, and windows are made of them for all keys at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from muntin_engine.evaluators.arrays.array_bucket import process
from muntin_engine.evaluators.arrays.array_query import work_of
from muntin_engine.evaluators.arrays.in_memory import windows_in_memory
from muntin_engine.evaluators.arrays.stored_stretches import rows_of_components, rows_of_lists, rows_of_states
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.evaluators.revised.stored_events import rows_of_events
from muntin_engine.plan.choice import Arrivals, Held
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
from muntin_engine.wire.task_payload import TaskPayload


class ArrayEvaluator(KeepsState, LiftsRows):
    """Merges rows into partial states of slices, or of runs of slices, and makes windows of those.

    Sessions have no slices: their partial states are fused. Nor have snapshots: theirs are added and subtracted. What a
    partial state holds is one more part that the plan chooses: components of forms, Python states, or rows.
    """

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows."""
        return task.once(work_of).arrivals.lift(task, rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        return process(task.once(work_of).arrivals.in_buckets(), task, bucket, cells, batch)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        return windows_in_memory(plan, cells, codec)

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the partial states of each key and stretch, or rows and events one by one."""
        parts = stored.identity["arrays"]
        if parts["arrivals"] == Arrivals.IDENTIFIED:
            return rows_of_events(stored)
        return _ROWS_OF_STRETCHES[parts["held"]](stored)


_ROWS_OF_STRETCHES: Final[Mapping[str, Callable[[StoredBucket], Iterator[HeldRow]]]] = {
    Held.COMPONENTS: rows_of_components,
    Held.STATES: rows_of_states,
    Held.ROWS: rows_of_lists,
}
