"""Saying how a query is evaluated."""

from __future__ import annotations

from muntin import EmitPolicy, OutputContract, SupportsRemove
from muntin_engine.plan import ModulePlan, Plan


def explain_plan(plan: Plan) -> str:
    """Return the evaluation of a query in words: what, how, why, and what it costs.

    Example output:

        window      hopping(3600000000, 600000000), clip none, timestamps align, emit final
        key         carrier, over 16 buckets
        progress    punctuation rows
        modules     flights = stats.count 0.1.0: slides from window to window, a constant per row
        state       the events of open windows, one run of bytes per key; a window is computed when it closes
        output      lags the input by one window
    """
    lines = [
        ("window", f"{plan.window}, clip {plan.clip}, timestamps {plan.timestamps}, emit {plan.emit}"),
        ("key", f"{', '.join(plan.keys) or 'none'}, over {plan.buckets} buckets"),
        ("progress", "punctuation rows" if plan.delay is None else f"{plan.delay} ticks behind the newest start"),
        *(("module", _explain_module(plan, module)) for module in plan.modules),
        ("state", _explain_state(plan)),
        ("output", _explain_lag(plan)),
    ]
    return "\n".join(f"{title:<12}{text}" for title, text in lines)


def _explain_module(plan: Plan, module: ModulePlan) -> str:
    name = f"{module.output} = {module.label}" if module.output else module.label
    return f"{name}: general evaluator, {_strategy(plan, module)}"


def _strategy(plan: Plan, module: ModulePlan) -> str:
    cls = module.module
    if not cls.is_incremental:
        return "computed from the members of each window, as it is not incremental"
    if plan.emit is not EmitPolicy.FINAL:
        return "one state per window, updated with each change" if isinstance(cls, SupportsRemove) else (
            "one state per window, rebuilt when a member goes, as it has no remove_events"
        )
    if isinstance(cls, SupportsRemove) and not cls.is_time_sensitive:
        return "its state slides from window to window, a constant per row whatever the overlap"
    return "its state is built from the members of each window, as " + (
        "what it sees depends on the window" if cls.is_time_sensitive else "it has no remove_events"
    )


def _explain_state(plan: Plan) -> str:
    kept = "the events of open windows"
    if plan.emit is not EmitPolicy.FINAL:
        kept += ", and the last output of each window that may change"
    return f"{kept}; 64 cells per bucket, each read and written only when its keys are touched or due"


def _explain_lag(plan: Plan) -> str:
    reads_times = any(module.module.reads_times for module in plan.modules)
    if any(module.module.contract is OutputContract.UNRESTRICTED for module in plan.modules):
        return "is never complete before the stream closes, as a module promises nothing about its lifetimes"
    if reads_times and not plan.clip.clips_right:
        return "a window waits until all its members have ended, as a module sees ends outside it; clip='right' frees it"
    return "a window is complete when the punctuation reaches its end"
