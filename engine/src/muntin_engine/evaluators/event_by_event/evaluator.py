"""The evaluator of stream operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muntin import IntervalOperator, StreamOperator
from muntin_engine.evaluators.general.evaluator import GeneralEvaluator
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan

if TYPE_CHECKING:
    from muntin_engine.evaluators.general.bucket import BatchRun


class EventByEventEvaluator(GeneralEvaluator):
    """Runs a stream operator, key by key in plain Python. Events are admitted as elsewhere, and wait for the watermark.

    The state is that of the general evaluator: a log per bucket, and a timer per key, which here is the time of its
    first waiting event, or of its wake-up.
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
        import muntin_engine.evaluators.event_by_event.processing  # noqa: F401

    def _run_class(self, plan: Plan) -> type[BatchRun]:
        from muntin_engine.evaluators.event_by_event.processing import EventByEventRun

        del plan
        return EventByEventRun
