"""The evaluators of row windows and of stream operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import IntervalOperator, RowOperator, StreamOperator
from muntin.modules import SupportsRemove
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    from muntin_engine.evaluators.keyed.bucket import KeyedBucket


class RowsEvaluator(KeyedEvaluator):
    """Runs windows that follow rows in their order. Rows wait in a delay buffer until the watermark has passed them."""

    name = "in_order"
    advantage = "its windows follow rows in their order"
    unreported = frozenset({"windows_revisable"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query: its windows do not follow rows."""
        return None if plan.rows is not None else f"{plan.window} does not follow rows in their order"

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if isinstance(module.module, RowOperator):
            return "told of each row that comes, passes or leaves, and of each window that is computed"
        if not module.module.is_incremental:
            return "computed from the rows of each window, as it is not incremental"
        if self._folds(plan):
            return "rows are added to its state when they come, and not kept"
        slides = isinstance(module.module, SupportsRemove) and not module.module.is_time_sensitive
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

    def bucket_class(self, plan: Plan) -> type[KeyedBucket]:
        """Return the class of its buckets."""
        from muntin_engine.evaluators.ordered.row_windows import RowsBucket

        return RowsBucket

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

    def bucket_class(self, plan: Plan) -> type[KeyedBucket]:
        """Return the class of its buckets."""
        from muntin_engine.evaluators.ordered.stream_operator import StreamBucket

        return StreamBucket
