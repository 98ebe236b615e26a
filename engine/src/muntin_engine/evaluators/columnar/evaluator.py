"""The columnar evaluator: components are merged on arrays, and windows made of them for all keys at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from muntin import Merge
from muntin_engine.evaluators.evaluator import InMemory
from muntin_engine.evaluators.over_slices.bucket_blob import BucketBlob
from muntin_engine.evaluators.over_slices.contract import OverSlices, without_form
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

    def lacks(self, plan: Plan) -> str | None:
        """Return that a module has no columnar form."""
        return without_form(plan)

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        components = {} if module.form is None else module.form.components()
        kept = ", ".join(f"{name} ({part.merge} {part.dtype})" for name, part in components.items())
        if any(part.merge is Merge.COLLECT for part in components.values()):
            return f"keeps {kept}; each window sorts all its values"
        if plan.input.lifetimes != "point":
            return f"keeps {kept}; windows share the blocks of a tree"
        if all(part.has_inverse or part.is_exact for part in components.values()):
            return f"keeps {kept}; windows are differences of running totals"
        return f"keeps {kept}; windows are merged from running values, as not all of it can be subtracted exactly"

    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the partial states of good rows for each bucket that has any."""
        from muntin_engine.evaluators.columnar.lifting import lift_rows
        from muntin_engine.evaluators.over_slices.lifted_rows import rows_to_lift

        return lift_rows(task.grids[0], task.forms, rows_to_lift(task, rows))

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.columnar.lifting
        import muntin_engine.evaluators.columnar.processing
        import muntin_engine.evaluators.over_slices.lifted_rows  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.columnar.processing import process

        return process(task, bucket, cells, batch)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.columnar.in_memory import ArraysInMemory

        return ArraysInMemory(plan, cells, codec)
