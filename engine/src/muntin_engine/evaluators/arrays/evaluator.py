"""The columnar evaluator: components are merged on arrays, and windows made of them for all keys at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from muntin import Merge, TimestampPolicy
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.contract import (
    OverSlices,
    can_be_subtracted,
    why_not_revised,
    without_form,
    without_inverse,
)
from muntin_engine.evaluators.evaluator import InMemory
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.exchange.task_payload import TaskPayload


class ColumnarEvaluator(OverSlices):
    """Merges components per key and slice, or range of windows, on arrays."""

    name = "columnar"
    advantage = "all modules have a columnar form"
    uses_forms = True
    takes_revisions = True

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; None if it can. Events with ids are for snapshots and grids alone."""
        return why_not_revised(plan) if plan.is_revised else super().why_not(plan)

    def lacks(self, plan: Plan) -> str | None:
        """Return that a module has no columnar form, or, of snapshots, one that cannot be subtracted."""
        return without_form(plan) or (without_inverse(plan) if plan.is_cut_at_edges else None)

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        components = {} if module.form is None else module.form.components()
        kept = ", ".join(f"{name} ({part.merge} {part.dtype})" for name, part in components.items())
        if any(part.merge is Merge.COLLECT for part in components.values()):
            return f"keeps {kept}; each window sorts all its values"
        if plan.is_cut_at_edges:
            return f"keeps {kept}; added where an event starts, and subtracted where it ends"
        if plan.gap is not None:
            return f"keeps {kept}; what is near each other is fused"
        if all(map(can_be_subtracted, components.values())):
            return f"keeps {kept}; added where its first window starts, and subtracted after its last one"
        if plan.input.lifetimes != "point" or plan.is_revised:
            return f"keeps {kept}; windows share the blocks of a tree, as not all of it can be subtracted exactly"
        return f"keeps {kept}; windows are merged from running values, as not all of it can be subtracted exactly"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if plan.is_revised:
            admitted = "admitted by the sorted ids of its bucket"
            if not plan.is_cut_at_edges:
                return f"{admitted}; its event is merged once into the range of windows that it overlaps"
            return f"{admitted}; its start and its end are sorted among those of its key"
        if plan.gap is None:
            return super().explain_row(plan)
        if plan.is_cut_at_edges:
            return "lifted before the shuffle; its start and its end are sorted among those of its key after it"
        return "lifted before the shuffle, and fused with its session after it"

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the partial states of good rows for each bucket that has any."""
        from muntin_engine.evaluators.arrays.lifting import lift_rows, rows_to_lift
        from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
        from muntin_engine.evaluators.revised.incoming import blobs_of

        if task.plan.is_revised:
            return blobs_of(rows)
        if (gap := task.plan.gap) is not None:
            return lift_each(Fusing(gap), rows_to_lift(task, rows), task.forms)
        return lift_rows(task.grids[0], task.forms, rows_to_lift(task, rows))

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.arrays.grid_store
        import muntin_engine.evaluators.arrays.processing
        import muntin_engine.evaluators.arrays.result_tables
        import muntin_engine.evaluators.arrays.row_lifting
        import muntin_engine.evaluators.arrays.session_store
        import muntin_engine.evaluators.revised.store  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.arrays.array_bucket import process
        from muntin_engine.evaluators.arrays.entries import FormEntries
        from muntin_engine.evaluators.arrays.grid_store import GridStore
        from muntin_engine.evaluators.arrays.processing import process_slices
        from muntin_engine.evaluators.arrays.result_tables import closed_tables, form_table
        from muntin_engine.evaluators.arrays.session_store import SessionStore
        from muntin_engine.evaluators.revised.store import revised_query

        if task.plan.is_revised:
            query = revised_query(task.query, task.forms, task.codec, partial(form_table, task))
            return process(query, task, bucket, cells, batch, self.unreported)

        def make_store() -> GridStore | SessionStore:
            if task.plan.gap is None:
                return GridStore(task.grids, FormEntries(task.forms))
            at_end = task.plan.timestamps is TimestampPolicy.POINT_AT_END
            return SessionStore(FormEntries(task.forms), at_end=at_end, is_cut=task.plan.is_cut_at_edges)

        return process_slices(task, bucket, cells, batch, make_store, closed_tables)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.arrays.in_memory import columnar_in_memory

        return columnar_in_memory(plan, cells, codec)
