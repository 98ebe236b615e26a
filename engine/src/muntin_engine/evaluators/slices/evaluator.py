"""The sliced evaluator: Python states are merged per key and slice, or session, and windows made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muntin import TimestampPolicy
from muntin.modules import SupportsCombine, SupportsDeduct
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.contract import OverSlices, without_inverse
from muntin_engine.evaluators.evaluator import InMemory
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.exchange.task_payload import TaskPayload


class SlicedEvaluator(OverSlices):
    """Merges the states of modules that define `combine`."""

    name = "sliced"
    advantage = "all modules define combine"

    def lacks(self, plan: Plan) -> str | None:
        """Return that rows have several slices, or that a module cannot merge states; those of snapshots never are."""
        if plan.is_cut_at_edges:
            return without_inverse(plan) or plan.why_no_steps
        if plan.gap is None and plan.input.lifetimes != "point":
            return "events have lifetimes, so a row may lie in several slices"
        for module in plan.modules:
            if not (module.module.is_incremental and isinstance(module.module, SupportsCombine)):
                return f"{module.label} has no combine"
        return None

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if plan.gap is not None:
            return "adds a session's rows of a batch in one call, and combines its states where sessions touch"
        grid = plan.window.grid()
        if grid is not None and grid.hop >= grid.size:
            return "its states are combined per slice, each window has slices of its own"
        if isinstance(module.module, SupportsDeduct):
            return "its states are combined per slice; a window deducts the slices that leave it"
        return "its states are combined per slice; windows share them on two stacks, as it has no deduct"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if plan.gap is None:
            return super().explain_row(plan)
        return "crosses the shuffle as it is, and is added there to the state of its session"

    def explain_bound(self, plan: Plan) -> str:
        """Say that rows are kept while they take less than states, where modules say what those take."""
        sizes = [getattr(module.module, "state_bytes", None) for module in plan.modules]
        declared = [size for size in sizes if size is not None]
        return f", or its rows while they take less than {sum(declared)} bytes" if declared else ""

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the partial states of good rows, or the rows of sessions, for each bucket that has any."""
        from muntin_engine.evaluators.arrays.lifting import rows_to_lift
        from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
        from muntin_engine.evaluators.slices.lifting import lift_states

        if (gap := task.plan.gap) is not None:
            return lift_each(Fusing(gap), rows_to_lift(task, rows))
        return lift_states(task, rows)

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.arrays.processing
        import muntin_engine.evaluators.arrays.result_tables
        import muntin_engine.evaluators.arrays.row_lifting
        import muntin_engine.evaluators.arrays.session_store
        import muntin_engine.evaluators.arrays.state_entries
        import muntin_engine.evaluators.slices.lifting
        import muntin_engine.evaluators.slices.result_tables
        import muntin_engine.evaluators.slices.states  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.arrays.processing import process_slices
        from muntin_engine.evaluators.arrays.result_tables import closed_tables
        from muntin_engine.evaluators.arrays.session_store import SessionStore
        from muntin_engine.evaluators.arrays.state_entries import StateEntries
        from muntin_engine.evaluators.slices.lifting import sliced_query_of
        from muntin_engine.evaluators.slices.result_tables import run_tables
        from muntin_engine.evaluators.slices.states import StateStore

        def make_sessions() -> SessionStore:
            query = task.query
            entries = StateEntries(query.bindings, task.codec, query.axis)
            return SessionStore(entries, at_end=query.timestamps is TimestampPolicy.POINT_AT_END)

        if task.plan.gap is not None:
            return process_slices(task, bucket, cells, batch, make_sessions, closed_tables)
        return process_slices(task, bucket, cells, batch, lambda: StateStore(task.once(sliced_query_of)), run_tables)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.arrays.in_memory import sliced_in_memory

        return sliced_in_memory(plan, cells, codec)
