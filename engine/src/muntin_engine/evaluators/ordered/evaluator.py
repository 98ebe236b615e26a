"""The evaluators of row windows and of stream operators, with state and without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import EmitPolicy, IntervalOperator, RowOperator, StreamOperator
from muntin_engine.evaluators.evaluator import Evaluator, InMemory
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from muntin_engine.evaluators.batch import BucketBatch, Evaluated
    from muntin_engine.evaluators.keyed.bucket import BeginsRun
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
    from muntin_engine.wire.task_payload import TaskPayload


class RowsEvaluator(KeyedEvaluator):
    """Runs windows that follow rows in their order. Rows wait in a delay buffer until the watermark has passed them."""

    name = "in_order"
    advantage = "its windows follow rows in their order"
    unreported = frozenset({"windows_revisable"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: its windows do not follow rows."""
        return None if plan.rows is not None else f"{plan.spelled_window} does not follow rows in their order"

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if isinstance(module.module, RowOperator):
            return "told of each row that comes, passes or leaves, and of each window that is computed"
        if not module.module.is_incremental:
            return "computed from the rows of each window, as it is not incremental"
        if self._folds(plan):
            return "rows are added to its state when they come, and not kept"
        slides = hasattr(module.module, "remove_events") and not module.module.is_time_sensitive
        return "its state follows the rows that come and go" if slides else "its state is built from each window's rows"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        return "a step of its key's windows, when the watermark passes it; a window that is computed, what modules cost"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        rows = (
            f"a state per module and open window ({plan.sizes_of_states})" if self._folds(plan) else "those in windows"
        )
        log = "in a log per bucket: a batch appends the keys that have rows or a timer"
        return f"the rows that wait for the watermark, and {rows}, {log}"

    def load(self) -> None:
        """Import what micro-batches need."""
        super().load()
        import muntin_engine.evaluators.ordered.row_windows  # noqa: F401

    def run_of(self, plan: Plan) -> BeginsRun:
        """Return the function that begins a micro-batch of a bucket."""
        from muntin_engine.evaluators.ordered.row_windows import rows_run

        return rows_run

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the rows that wait, and the rows or the states in the window of each partition."""
        from muntin_engine.evaluators.keyed.stored_keys import query_without_modules, rows_of_keys
        from muntin_engine.evaluators.ordered.rows_state import RowsState

        return rows_of_keys(stored, RowsState, query_without_modules(stored.identity, stored.identity))

    def _folds(self, plan: Plan) -> bool:
        """Return True if states of modules take the place of rows."""
        from muntin_engine.evaluators.ordered.rows_state import folds

        return plan.rows is not None and folds(plan.rows, [module.module for module in plan.modules])


class EventByEventEvaluator(KeyedEvaluator):
    """Runs a stream operator, key by key in plain Python. Events wait in a delay buffer until the watermark has passed.

    A key's timer is its first waiting event, or its wake-up.
    """

    name = "event_by_event"
    advantage = "it has no windows"
    takes_windows = False
    unreported = frozenset({"windows_revisable", "windows_closed"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: it has no stream operator."""
        if plan.passes_events:
            return StatelessEvaluator().why_not(plan)  # no operator is called: what counts is why events need a state
        modules = [module.module for module in plan.modules]
        return None if len(modules) == 1 and isinstance(modules[0], StreamOperator) else "it has no stream operator"

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it is called."""
        told = "with each event of a key when the watermark has passed it"
        if isinstance(module.module, IntervalOperator):
            told = "with the start and the end of each event of a key, each when the watermark has passed it"
        return f"called {told}, and at the times that it asks for"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        return "a call of the operator, and so does a wake-up; a key without either costs nothing"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        lasts = any(isinstance(module.module, IntervalOperator) for module in plan.modules)
        kept = "the events whose ends wait for the watermark" if lasts else "the events that wait for the watermark"
        return (
            f"{kept}, and the operator's state of each key until it is empty, in a log "
            "per bucket: a batch appends the keys that have rows or a wake-up"
        )

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete: as far as the input, as no row starts before its cause."""
        return "is complete up to the watermark, as no row starts before the event or the wake-up it comes from", "none"

    def load(self) -> None:
        """Import what micro-batches need."""
        super().load()
        import muntin_engine.evaluators.ordered.stream_operator  # noqa: F401

    def run_of(self, plan: Plan) -> BeginsRun:
        """Return the function that begins a micro-batch of a bucket."""
        from muntin_engine.evaluators.ordered.stream_operator import StreamRun

        return StreamRun

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events that wait, and the operator's state of each key."""
        from muntin_engine.evaluators.keyed.stored_keys import query_without_modules, rows_of_keys
        from muntin_engine.evaluators.ordered.stream_operator import OperatorState

        return rows_of_keys(stored, OperatorState, query_without_modules(stored.identity, stored.identity))


class StatelessEvaluator(Evaluator):
    """Runs a stream operator that keeps no state over events that have no watermark, or returns such events themselves.

    Nothing then depends on other rows: neither what the operator returns, nor whether a row is late. So each task hands
    the events of its rows over at once, and there are no buckets.
    """

    name = "stateless"
    advantage = "nothing is kept from one row to another, and no row is late"
    takes_windows = False
    keeps_state = False
    unreported = frozenset(
        {"keys", "windows_closed", "windows_revisable", "keys_held", "events_held", "state_bytes", "bytes_written"}
        | {"watermark", "output_watermark", "late_by", "intake_us", "lift_us"}
    )

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: something is remembered from one row to another."""
        if not plan.passes_events:
            modules = [module.module for module in plan.modules]
            if len(modules) != 1 or not isinstance(modules[0], StreamOperator):
                return "it has no operator that follows points"
            if isinstance(modules[0], IntervalOperator):
                return "it has no operator that follows points"
            operator = type(modules[0])
            has_state = operator.create_state is not StreamOperator.create_state
            if has_state or operator.next_time is not StreamOperator.next_time:
                return f"{plan.modules[0].label} keeps a state, or asks for wake-ups"
        if plan.says_when_complete:
            return "the input has a watermark, by which rows may be late; without a delay no row is"
        if plan.passes_events and plan.input.has_samples:
            return "samples last until the next one of their key"
        if plan.passes_events and plan.emit is not EmitPolicy.FINAL:
            return f"emit={str(plan.emit)!r} names each row"
        return "events have ids, so they may be revised" if plan.input.columns.id is not None else None

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it is called."""
        return "called with each event at once, in the order in which rows come"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if plan.passes_events:
            return "nothing but its columns, in the task that reads the row, without a shuffle"
        return "a call of the operator, in the task that reads the row, without a shuffle"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches: nothing."""
        return "none"

    def explain_output(self, plan: Plan) -> tuple[str, str]:
        """Say when the output is complete: it has no watermark, as the input has none."""
        return "each row is final at once; as for the input, nothing says how complete it is", "no output watermark"

    def load(self) -> None:
        """Import what micro-batches need."""
        import muntin_engine.evaluators.ordered.stateless  # noqa: F401

    def follow(self, task: TaskPayload, rows: pa.Table) -> pa.Table:
        """Return the results of good rows."""
        from muntin_engine.evaluators.ordered.stateless import passed_events, results_of

        return passed_events(task, rows) if task.plan.passes_events else results_of(task, rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Fail: there are no buckets."""
        raise AssertionError(f"{task.plan.spelled_grouping} has no bucket {bucket}, but {batch} came, with {cells}")

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Fail: a script has a watermark, and nothing would be lost when a process ends."""
        raise AssertionError(f"{plan.spelled_grouping} has no state in {cells}, written by {codec}")
