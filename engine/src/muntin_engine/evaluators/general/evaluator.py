"""The general evaluator: events are kept, and windows computed from their members."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import EmitPolicy, Refinement, ResultRefinement
from muntin.rows import RowWindows
from muntin_engine.evaluators.keyed.keyed_evaluator import KeyedEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from muntin_engine.evaluators.keyed.bucket import BeginsRun
    from muntin_engine.state.stored_bucket import HeldRow, StoredBucket


class GeneralEvaluator(KeyedEvaluator):
    """Runs windows that cut the axis, any module and policy, with revisions and retractions, key by key in Python."""

    name = "general"
    advantage = "it runs any query"

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; it runs any whose windows do not follow rows in their order."""
        return f"{plan.spelled_window} follows rows in their order" if isinstance(plan.window, RowWindows) else None

    def explain_module(self, plan: Plan, module: ModulePlan) -> str:
        """Say how it computes a module, and why so."""
        if plan.early is not None and plan.early.refinement is Refinement.DISCARD:
            return "computed from the members that came since the window was last emitted"
        if not module.module.is_incremental:
            return "computed from the members of each window, as it is not incremental"
        if module.module.reads_order:
            return "computed from the members of each window in their order, which a late one may change"
        can_remove = hasattr(module.module, "remove_events")
        if plan.emission in (EmitPolicy.SPECULATIVE, EmitPolicy.EAGER):
            updates = "is updated with each change" if can_remove else "is rebuilt when a member goes"
            return f"the state of a window that changes after it was emitted {updates}" + (
                "" if can_remove else ", as it has no remove_events"
            )
        if module.slides:
            return "its state slides through the windows that a micro-batch closes, and is built anew in the next one"
        return "its state is built from the members of each window, as " + (
            "what it sees depends on the window" if module.module.is_time_sensitive else "it has no remove_events"
        )

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        if plan.early is not None:
            return "at most a trigger call for each window that it is a member of; a firing costs what a closing does"
        slides = all(module.slides for module in plan.modules) and plan.emission is EmitPolicy.FINAL
        if slides:
            return "a constant in each micro-batch that closes windows that it is a member of, however many these are"
        return "a constant for each window that it is a member of"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        kept = "all events, as none ever leaves its windows" if plan.window.keeps_all else "the events of open windows"
        if plan.early is not None:
            kept += ", and the trigger's state of each open window with members"
            kept += ", with its last output" if plan.early.may_retract else ""
            kept += ", with the state of its refinement" if isinstance(plan.early.refinement, ResultRefinement) else ""
        elif plan.emission is not EmitPolicy.FINAL:
            kept += ", and the last output of each window that may change"
        if plan.forget_keys_after is not None:
            kept += ", until the key has been silent for long enough"
        return f"{kept}, in a log per bucket: a batch appends the changes of the keys that have rows or a timer"

    def load(self) -> None:
        """Import what micro-batches need."""
        super().load()
        import muntin_engine.evaluators.general.lives  # noqa: F401

    def run_of(self, plan: Plan) -> BeginsRun:
        """Return the function that begins a micro-batch of a bucket."""
        from muntin_engine.evaluators.general.general_run import GeneralRun
        from muntin_engine.evaluators.general.lives import LivesRun

        return GeneralRun if plan.forget_keys_after is None else LivesRun

    def held_rows(self, stored: StoredBucket) -> Iterator[HeldRow]:
        """Yield the events, and what is kept of windows that are out or have a trigger."""
        from muntin_engine.evaluators.general.key_state import KeyState
        from muntin_engine.evaluators.general.lives import KeyLives
        from muntin_engine.evaluators.keyed.stored_keys import query_without_modules, rows_of_keys

        state_class = KeyState if stored.identity.get("forget_keys_after") is None else KeyLives
        return rows_of_keys(stored, state_class, query_without_modules(stored.identity, stored.identity))
