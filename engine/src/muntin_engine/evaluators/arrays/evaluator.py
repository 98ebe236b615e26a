"""The evaluators on arrays: rows become values that are merged, and windows are made of them for all keys at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from muntin import Merge
from muntin.modules import SupportsDeduct
from muntin.windows.regular import GrowingSteps
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.contract import (
    can_be_subtracted,
    needs_events,
    whatever_forbids_lifting,
    whatever_forbids_slices,
    why_not_revised,
    without_combine,
    without_form,
    without_inverse,
)
from muntin_engine.evaluators.evaluator import Evaluator, InMemory
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery
    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.exchange.task_payload import TaskPayload


MOST_HOPS: Final = 32
"""Windows of points that are up to so many hops long are computed from all their rows, also for modules whose state
could slide: at so many hops that takes half the time of sliding or less, as an event in an index costs more."""


class ArrayEvaluator(Evaluator):
    """Merges rows into partial states of slices, or of ranges of windows, and makes windows of those.

    Sessions have no slices: their partial states are fused. Nor have snapshots: theirs are added and subtracted. What a
    partial state holds is the one difference between the evaluators: components of forms, Python states, or rows.
    """

    takes_several_windows = True
    makes_blobs = True
    unreported: ClassVar[frozenset[str]] = frozenset({"keys_held", "events_held"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; None if it can. Events with ids are for forms alone."""
        if plan.is_revised:
            return why_not_revised(plan) or (None if self.uses_forms else plan.why_no_lifting)
        if plan.gap is None:
            why_not = next(whatever_forbids_slices(plan), None)
        else:
            why_not = plan.why_no_lifting or next(whatever_forbids_lifting(plan), None)
        return why_not or self.lacks(plan)

    def lacks(self, plan: Plan) -> str | None:
        """Return why partial states of a query cannot be merged, where its windows allow that; None if they can."""
        if (why_not := needs_events(plan)) is not None:
            return why_not
        if self.uses_forms:
            return without_form(plan) or (without_inverse(plan) if plan.is_cut_at_edges else None)
        return without_combine(plan)

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        is_cut = plan.is_cut_at_edges
        if plan.is_revised:
            merged = "its event is merged once into the range of windows that it overlaps"
            sorted_in = "its start and its end are sorted among those of its key"
            return f"admitted by the sorted ids of its bucket; {sorted_in if is_cut else merged}"
        if plan.gap is not None:
            if not self.uses_forms:
                return "crosses the shuffle as it is, and is added there to the state of its session"
            after = "; its start and its end are sorted among those of its key after it"
            return f"lifted before the shuffle{after if is_cut else ', and fused with its session after it'}"
        unit = "the range of windows that it overlaps"
        if plan.input.lifetimes == "point":
            slices = SliceGrid.shared(plan.steps)[0]
            length = plan.spell_length if slices.periods is None else slices.periods.spell
            cycle, count = length(slices.cycle), len(slices.cuts)
            unit = f"its slice of {cycle}" if count == 1 else f"its slice, one of {count} in {cycle}"
        return f"merged once into {unit}, before the shuffle, whatever size/hop"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        sizes = plan.sizes_of_states
        if plan.is_revised:
            emitted = " and the last output of each window that may change," if plan.emission.may_retract else ""
            kept = f"an event until the watermark passes its end,{emitted}"
            kept = f"{kept} and the rows that wait for others of their event"
            if not plan.is_cut_at_edges:
                kept = f"{kept}; from then on a partial state per key and range of the open windows; {sizes}"
            return f"{kept}; a batch writes only the events that it changed"
        if plan.is_cut_at_edges:
            return f"a partial state per event until the watermark passes its end; {sizes}; a batch writes only its own"
        if plan.window.growing() is not None:
            return f"a partial state per key, of all that came before, and one per slice after it; {sizes}"
        unit = "slice" if plan.input.lifetimes == "point" else "range of windows"
        of = "open session" if plan.gap is not None else f"{unit} of the open windows"
        return f"a partial state per key and {of}; {sizes}; a batch writes only its own partial states"

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield what becomes of good rows for each bucket that has any."""
        from muntin_engine.evaluators.arrays.array_query import state_modules_of
        from muntin_engine.evaluators.arrays.lifting import lift_rows, rows_to_lift
        from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
        from muntin_engine.evaluators.arrays.state_lifting import lift_states
        from muntin_engine.evaluators.revised.incoming import blobs_of

        if task.plan.is_revised:
            return blobs_of(task, rows)
        good = rows_to_lift(task, rows)
        if (gap := task.plan.gap) is not None:
            return lift_each(Fusing(gap), good, task.forms if self.uses_forms else None)
        if self.uses_forms:
            return lift_rows(task.grids[0], task.forms, good)
        return lift_states(task.once(state_modules_of), task.grids, good)

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.arrays.array_query
        import muntin_engine.evaluators.arrays.row_lifting
        import muntin_engine.evaluators.arrays.state_lifting
        import muntin_engine.evaluators.revised.store  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.arrays.array_bucket import process

        return process(self.query(task), task, bucket, cells, batch, self.unreported)

    def query(self, task: TaskPayload) -> ArrayQuery:
        """Return a query as its buckets see it."""
        from muntin_engine.evaluators.arrays.array_query import array_query, form_entries, state_entries
        from muntin_engine.evaluators.arrays.result_tables import form_table
        from muntin_engine.evaluators.revised.store import revised_query

        if task.plan.is_revised:
            return revised_query(task.query, task.forms, task.codec, partial(form_table, task))
        entries = partial(form_entries if self.uses_forms else state_entries, task)
        return array_query(task.plan, task.grids, entries)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.arrays.in_memory import columnar_in_memory, sliced_in_memory

        return (columnar_in_memory if self.uses_forms else sliced_in_memory)(plan, cells, codec)


class ColumnarEvaluator(ArrayEvaluator):
    """Merges components of columnar forms."""

    name = "columnar"
    advantage = "all modules have a columnar form"
    uses_forms = True
    takes_revisions = True

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


class SlicedEvaluator(ArrayEvaluator):
    """Merges the Python states of modules that define `combine`."""

    name = "sliced"
    advantage = "all modules define combine"

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if plan.gap is not None:
            return "adds a session's rows of a batch in one call, and combines its states where sessions touch"
        (grid, *_) = plan.steps
        if isinstance(grid, GrowingSteps):
            return "its states are combined per slice, and into one state for each key that windows grow from"
        if grid.hop >= grid.size:
            return "its states are combined per slice, each window has slices of its own"
        if isinstance(module.module, SupportsDeduct):
            return "its states are combined per slice; a window deducts the slices that leave it"
        return "its states are combined per slice; windows share them on two stacks, as it has no deduct"


class GroupedEvaluator(ArrayEvaluator):
    """Calls any module with the rows of each window, which wait in columns until it closes."""

    name = "grouped"
    advantage = "its rows wait in columns until their windows close"

    def lacks(self, plan: Plan) -> str | None:
        """Return that a module has less to do elsewhere, where its state slides through windows that share many rows.

        Only here several windows share rows.
        """
        are_long = plan.input.lifetimes != "point" or any(
            isinstance(grid, GrowingSteps) or grid.size > MOST_HOPS * grid.hop for grid in plan.steps
        )
        share_many = plan.is_cut_at_edges or (plan.gap is None and are_long)
        if share_many and not plan.named_windows and all(module.slides for module in plan.modules):
            return f"{plan.modules[0].label} slides from window to window"
        return None

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if not module.module.is_incremental:
            return "computed from the members of each window, as it is not incremental"
        if module.module.reads_order:
            return "computed from the members of each window in their order"
        return "its state is built from the members of each window"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        return "a constant for each window that it is a member of, when that closes"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        return "the rows of open windows, in columns as they came; a batch writes only its own rows"

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the good rows for each bucket that has any."""
        from muntin_engine.evaluators.arrays.lifting import lift_rows, rows_to_lift
        from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each

        if (gap := task.plan.gap) is not None:
            return lift_each(Fusing(gap), rows_to_lift(task, rows), holds_rows=True)
        return lift_rows(task.grids[0], None, rows_to_lift(task, rows))

    def query(self, task: TaskPayload) -> ArrayQuery:
        """Return a query as its buckets see it."""
        from muntin_engine.evaluators.arrays.array_query import array_query, row_entries

        return array_query(task.plan, task.grids, partial(row_entries, task))

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.arrays.in_memory import grouped_in_memory

        return grouped_in_memory(plan, cells, codec)
