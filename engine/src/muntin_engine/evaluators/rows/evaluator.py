"""The evaluator of row windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import RowOperator
from muntin.modules import SupportsRemove
from muntin_engine.evaluators.general.evaluator import GeneralEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    from muntin_engine.evaluators.general.bucket import BatchRun


class RowsEvaluator(GeneralEvaluator):
    """Runs windows that follow rows in their order, key by key in plain Python. Rows are admitted as elsewhere."""

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
        if _folds(plan):
            return "rows are added to its state when they come, and not kept"
        slides = isinstance(module.module, SupportsRemove) and not module.module.is_time_sensitive
        return "its state follows the rows that come and go" if slides else "its state is built from each window's rows"

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        return "a step of its key's windows, when the watermark passes it; a window that is computed, what modules cost"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        rows = f"a state per module and open window ({plan.sizes_of_states})" if _folds(plan) else "those in windows"
        log = "in a log per bucket: a batch appends the keys that have rows or a timer"
        return f"the rows that wait for the watermark, and {rows}, {log}"

    def load(self) -> None:
        """Import what micro-batches need."""
        super().load()
        import muntin_engine.evaluators.rows.processing  # noqa: F401

    def _run_class(self, plan: Plan) -> type[BatchRun]:
        from muntin_engine.evaluators.rows.processing import RowsRun

        del plan
        return RowsRun


def _folds(plan: Plan) -> bool:
    """Return True if states of modules take the place of rows."""
    modules = [module.module for module in plan.modules]
    leaves_at_once = plan.rows is not None and plan.rows.leaves_at_once
    return leaves_at_once and all(module.is_incremental and not module.is_time_sensitive for module in modules)
