"""The evaluators on arrays: rows become values that are merged, and windows are made of them for all keys at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from muntin import Merge
from muntin.windows.regular import GrowingSteps
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.evaluator import Evaluator, InMemory
from muntin_engine.plan.choice import Arrivals, Choice, Geometry, Held
from muntin_engine.plan.combinations import can_be_subtracted, choose, states_slide
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
    from muntin_engine.wire.task_payload import TaskPayload


class ArrayEvaluator(Evaluator):
    """Merges rows into partial states of slices, or of runs of slices, and makes windows of those.

    Sessions have no slices: their partial states are fused. Nor have snapshots: theirs are added and subtracted. What a
    partial state holds is the one difference between the evaluators: components of forms, Python states, or rows.
    """

    held: ClassVar[Held]
    takes_several_windows = True
    lifts = True
    unreported: ClassVar[frozenset[str]] = frozenset({"keys_held", "events_held"})

    def choose(self, plan: Plan) -> Choice | str:
        """Return the choice of it for a query, with the parts; or why it cannot run that."""
        parts = choose(plan, self.held)
        return parts if isinstance(parts, str) else Choice(self.name, self.advantage, self.uses_forms, parts)

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        geometry = plan.arrays.geometry
        if plan.arrays.arrivals is Arrivals.IDENTIFIED:
            merged = "its event is merged once into the range of windows that it overlaps"
            sorted_in = "its start and its end are sorted among those of its key"
            return f"admitted by the sorted ids of its bucket; {merged if plan.arrays.is_on_grid else sorted_in}"
        if geometry is Geometry.SNAPSHOTS:
            return "lifted before the shuffle; its start and its end are sorted among those of its key after it"
        if geometry is Geometry.SESSIONS:
            if self.uses_forms:
                return "lifted before the shuffle, and fused with its session after it"
            return "crosses the shuffle as it is, and is added there to the state of its session"
        unit = "the range of windows that it overlaps"
        if geometry is Geometry.SLICES:
            slices = SliceGrid.shared(plan.steps)[0]
            length = plan.spell_length if slices.periods is None else slices.periods.spell
            cycle, count = length(slices.cycle), len(slices.cuts)
            unit = f"its slice of {cycle}" if count == 1 else f"its slice, one of {count} in {cycle}"
        return f"merged once into {unit}, before the shuffle, whatever size/hop"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        sizes, parts = plan.sizes_of_states, plan.arrays
        if parts.arrivals is Arrivals.IDENTIFIED:
            emitted = " and the last output of each window that may change," if plan.emission.may_retract else ""
            kept = f"an event until the watermark passes its end,{emitted}"
            kept = f"{kept} and the rows that wait for others of their event"
            if parts.is_on_grid:
                kept = f"{kept}; from then on a partial state per key and range of the open windows; {sizes}"
            return f"{kept}; a batch writes only the events that it changed"
        if plan.window.growing() is not None:
            return f"a partial state per key, of all that came before, and one per slice after it; {sizes}"
        kept = {
            Geometry.SLICES: "key and slice of the open windows",
            Geometry.RUNS: "key and range of windows of the open windows",
            Geometry.SESSIONS: "key and open session",
            Geometry.SNAPSHOTS: "event until the watermark passes its end",
        }[parts.geometry]
        own = "" if parts.geometry is Geometry.SNAPSHOTS else " partial states"
        return f"a partial state per {kept}; {sizes}; a batch writes only its own{own}"

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows."""
        from muntin_engine.evaluators.arrays.array_query import work_of
        from muntin_engine.evaluators.arrays.lifting import rows_to_lift
        from muntin_engine.evaluators.revised.incoming import blobs_of

        if task.plan.arrays.arrivals is Arrivals.IDENTIFIED:
            return blobs_of(task, rows)
        return task.once(work_of).lift(rows_to_lift(task, rows))

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.arrays.array_query  # noqa: F401

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Evaluate a micro-batch of a bucket and write its state."""
        from muntin_engine.evaluators.arrays.array_bucket import process
        from muntin_engine.evaluators.arrays.array_query import work_of

        return process(task.once(work_of).in_buckets(), task, bucket, cells, batch, self.unreported)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Return the evaluator of a query as a new process has it."""
        from muntin_engine.evaluators.arrays.in_memory import windows_in_memory

        return windows_in_memory(plan, cells, codec)

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the partial states of each key and stretch, or rows and events one by one."""
        from muntin_engine.evaluators.arrays.stored_stretches import rows_of_components, rows_of_lists, rows_of_states
        from muntin_engine.evaluators.revised.stored_events import rows_of_events

        identity = stored.identity
        if identity["id"] is not None and identity["lifetimes"] != "edge":
            return rows_of_events(stored)
        of_held = {Held.COMPONENTS: rows_of_components, Held.STATES: rows_of_states, Held.ROWS: rows_of_lists}
        return of_held[self.held](stored)


class ColumnarEvaluator(ArrayEvaluator):
    """Merges components of columnar forms."""

    name = "columnar"
    advantage = "all modules have a columnar form"
    held = Held.COMPONENTS
    uses_forms = True
    takes_revisions = True

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        components = {} if module.form is None else module.form.components()
        kept = ", ".join(f"{name} ({part.merge} {part.dtype})" for name, part in components.items())
        if any(part.merge is Merge.COLLECT for part in components.values()):
            return f"keeps {kept}; each window sorts all its values"
        if plan.arrays.geometry is Geometry.SNAPSHOTS:
            return f"keeps {kept}; added where an event starts, and subtracted where it ends"
        if plan.arrays.geometry is Geometry.SESSIONS:
            return f"keeps {kept}; what is near each other is fused"
        if all(map(can_be_subtracted, components.values())):
            return f"keeps {kept}; added where its first window starts, and subtracted after its last one"
        if plan.arrays.geometry is Geometry.RUNS:
            return f"keeps {kept}; windows share the blocks of a tree, as not all of it can be subtracted exactly"
        return f"keeps {kept}; windows are merged from running values, as not all of it can be subtracted exactly"


class SlicedEvaluator(ArrayEvaluator):
    """Merges the Python states of modules that define `combine`."""

    name = "sliced"
    advantage = "all modules define combine"
    held = Held.STATES

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if plan.arrays.geometry is Geometry.SESSIONS:
            return "adds a session's rows of a batch in one call, and combines its states where sessions touch"
        (grid, *_) = plan.steps
        if isinstance(grid, GrowingSteps):
            return "its states are combined per slice, and into one state for each key that windows grow from"
        if grid.hop >= grid.size:
            return "its states are combined per slice, each window has slices of its own"
        if hasattr(module.module, "deduct"):
            return "its states are combined per slice; a window deducts the slices that leave it"
        return "its states are combined per slice; windows share them on two stacks, as it has no deduct"


class GroupedEvaluator(ArrayEvaluator):
    """Calls any module with the rows of each window, which wait in columns until it closes."""

    name = "grouped"
    advantage = "its rows wait in columns until their windows close"
    held = Held.ROWS

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if states_slide(plan):
            return "its state goes on from window to window, as rows come and go"
        if not module.module.is_incremental:
            return "computed from the members of each window, as it is not incremental"
        if module.module.reads_order:
            return "computed from the members of each window in their order"
        return "its state is built from the members of each window"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if states_slide(plan):
            return "a constant, as it is added to a state once, and removed at most once"
        return "a constant for each window that it is a member of, when that closes"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        kept = "all rows, as none ever leaves its windows" if plan.window.keeps_all else "the rows of open windows"
        return f"{kept}, in columns as they came; a batch writes only its own rows"
