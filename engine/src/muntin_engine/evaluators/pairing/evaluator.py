"""The evaluator of joins of events whose ends stay, on arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muntin import EmitPolicy, JoinKind, LatePolicy
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.evaluator import InMemory
from muntin_engine.evaluators.joins.evaluator import OverlapEvaluator
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
    from muntin_engine.wire.task_payload import TaskPayload


class PairEvaluator(OverlapEvaluator):
    """Runs inner joins of events whose ends do not move: pairs are final when both events are there."""

    name = "pairing"
    advantage = "pairs of events whose ends stay are final at once"
    lifts = True
    unreported = frozenset({"windows_closed", "windows_open", "windows_revisable", "keys_held", "retractions"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; None if it can."""
        if plan.join is None:
            return "its inputs are not joined"
        if plan.join.kind is not JoinKind.INNER:
            return f"rows of how={str(plan.join.kind)!r} wait for a watermark"
        for given in plan.inputs:
            if given.event_ends_move:
                return f"ends of events of {given.name} may move"
            if given.late.policy is LatePolicy.ADJUST:
                return f"late events of {given.name} start at the watermark"
        if plan.emit is not EmitPolicy.FINAL:
            return f"emit={str(plan.emit)!r} names each row"
        return None

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        del plan
        return "a search among the kept events of its key, and a step for each that it may overlap, on arrays"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        left, right = (given.name for given in plan.inputs)
        kept = f"an event of {left} until the watermark of {right} has passed its end, and the other way round"
        return f"{kept}; a batch writes only its own rows"

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the good rows of one side for each bucket that has any."""
        from muntin_engine.evaluators.arrays.lifting import lift_each, rows_to_lift

        mark, with_rows = [bytes([side])], task.plan.keeps_late_rows
        return lift_each(1, rows_to_lift(task, rows, side), packed=mark, with_rows=with_rows)

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.arrays.array_bucket
        import muntin_engine.evaluators.arrays.lifting
        import muntin_engine.evaluators.pairing.pair_store  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.arrays.array_bucket import process
        from muntin_engine.evaluators.pairing.pair_store import pair_query

        join = task.plan.join
        assert join is not None, "the planner gives it joins alone"
        late_on = task.plan.words if task.plan.keeps_late_rows else None
        return process(pair_query(join.on, late_on), task, bucket, cells, batch, self.unreported)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it; both inputs are as complete as is said of them."""
        from muntin_engine.evaluators.arrays.in_memory import pairs_in_memory

        return pairs_in_memory(plan, cells, codec)

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events of both inputs."""
        from muntin_engine.evaluators.pairing.pair_store import rows_of_pairs

        return rows_of_pairs(stored)
