"""The evaluators on arrays: rows become values that are merged, and windows are made of them for all keys at once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import pyarrow as pa

from muntin_engine.evaluators.arrays.array_bucket import process
from muntin_engine.evaluators.arrays.array_query import work_of
from muntin_engine.evaluators.arrays.in_memory import windows_in_memory
from muntin_engine.evaluators.arrays.stored_stretches import rows_of_components, rows_of_lists, rows_of_states
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.evaluators.revised.stored_events import rows_of_events
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket


class ArrayEvaluator(KeepsState, LiftsRows):
    """Merges rows into partial states of slices, or of runs of slices, and makes windows of those.

    Sessions have no slices: their partial states are fused. Nor have snapshots: theirs are added and subtracted.
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
        identity = stored.identity
        are_revised = identity["id"] is not None and identity["lifetimes"] != "edge"
        return rows_of_events(stored) if are_revised else self._rows_of_stretches(stored)

    @abstractmethod
    def _rows_of_stretches(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield what the stretches of a bucket hold."""


class ColumnarEvaluator(ArrayEvaluator):
    """Merges components of columnar forms."""

    name = "columnar"

    def _rows_of_stretches(self, stored: StoredBucket) -> Iterator[HeldRow]:
        return rows_of_components(stored)


class SlicedEvaluator(ArrayEvaluator):
    """Merges the Python states of modules that define `combine`."""

    name = "sliced"

    def _rows_of_stretches(self, stored: StoredBucket) -> Iterator[HeldRow]:
        return rows_of_states(stored)


class GroupedEvaluator(ArrayEvaluator):
    """Calls any module with the rows of each window, which wait in columns until it closes."""

    name = "grouped"

    def _rows_of_stretches(self, stored: StoredBucket) -> Iterator[HeldRow]:
        return rows_of_lists(stored)
