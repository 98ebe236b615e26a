"""The evaluator of joins of events whose ends stay, on arrays."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from muntin_engine.evaluators.arrays.array_bucket import process
from muntin_engine.evaluators.arrays.in_memory import pairs_in_memory
from muntin_engine.evaluators.arrays.lifting import lift_each, rows_to_lift
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.evaluators.pairing.pair_store import pair_query, rows_of_pairs
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
from muntin_engine.wire.task_payload import TaskPayload


class PairEvaluator(KeepsState, LiftsRows):
    """Runs inner joins of events whose ends do not move: pairs are final when both events are there."""

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the good rows of one side for each bucket that has any."""
        side_mark = bytes([side])
        with_rows = task.plan.keeps_late_rows
        return lift_each(1, rows_to_lift(task, rows, side), packed=[side_mark], with_rows=with_rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        join = task.plan.join
        assert join is not None, "the planner gives it joins alone"
        late_on = task.plan.words.axis if task.plan.keeps_late_rows else None
        return process(pair_query(join.on, late_on), task, bucket, cells, batch)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it; both inputs are as complete as is said of them."""
        return pairs_in_memory(plan, cells, codec)

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events of both inputs."""
        return rows_of_pairs(stored)
