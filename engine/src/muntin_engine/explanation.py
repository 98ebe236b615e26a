"""Saying how a query is evaluated."""

from __future__ import annotations

from muntin import EmitPolicy, OutputContract, SnapshotWindows, SupportsRemove
from muntin_engine.core.bucket import SHELVES
from muntin_engine.plan import ModulePlan, Plan


def explain_plan(plan: Plan) -> str:
    """Return the evaluation of a query in words, a line per topic.

    The topics: `window` and its policies; `key` and how keys are spread; `progress`, what says how complete the input
    is; a line per `module` with how it is evaluated, and why; `state`, what is kept between micro-batches; and
    `output`, when a window is complete.
    """
    lines = [
        ("window", f"{plan.window}, clip {plan.clip}, timestamps {plan.timestamps}, emit {plan.emit}"),
        ("key", _explain_key(plan)),
        ("progress", _explain_progress(plan)),
        *(("module", _explain_module(plan, module)) for module in plan.modules),
        ("state", _explain_state(plan)),
        ("output", _explain_lag(plan)),
    ]
    return "\n".join(f"{title:<12}{text}" for title, text in lines)


def _explain_key(plan: Plan) -> str:
    names = ", ".join(key.name for key in plan.columns.keys)
    return f"{names}, over {plan.buckets} buckets" if names else "none: all rows are one group, in one task"


def _explain_progress(plan: Plan) -> str:
    told = [f"{plan.delay} ticks behind the newest start"] if plan.delay is not None else []
    told += ["punctuation rows"] if plan.columns.change is not None else []
    return ", or ".join(told) or "the end of a static input"


def _explain_module(plan: Plan, module: ModulePlan) -> str:
    name = f"{module.output} = {module.label}" if module.output else module.label
    return f"{name}: general evaluator, {_strategy(plan, module)}"


def _strategy(plan: Plan, planned: ModulePlan) -> str:
    module = planned.module
    can_remove = isinstance(module, SupportsRemove)
    if not module.is_incremental:
        return "computed from the members of each window, as it is not incremental"
    if plan.emit is not EmitPolicy.FINAL:
        updates = "is updated with each change" if can_remove else "is rebuilt when a member goes"
        return f"the state of a window that changes after it was put out {updates}" + (
            "" if can_remove else ", as it has no remove_events"
        )
    if can_remove and not module.is_time_sensitive:
        return "its state slides from window to window, a constant per row whatever the overlap"
    return "its state is built from the members of each window, as " + (
        "what it sees depends on the window" if module.is_time_sensitive else "it has no remove_events"
    )


def _explain_state(plan: Plan) -> str:
    kept = "the events of open windows"
    if plan.emit is not EmitPolicy.FINAL:
        kept += ", and the last output of each window that may change"
    return f"{kept}; {SHELVES} cells per bucket, each read and written only when its keys are touched or due"


def _explain_lag(plan: Plan) -> str:
    if plan.contract is OutputContract.UNRESTRICTED:
        return "is never complete before the stream closes, as its module promises nothing about its lifetimes"
    if plan.contract is OutputContract.TIME_BOUND:
        return "is complete up to the punctuation, as its module puts out nothing before what caused it"
    reads_times = any(module.module.reads_times for module in plan.modules)
    ends_move = plan.columns.id is not None or plan.is_edge
    if reads_times and ends_move and not plan.clip.clips_right:
        return "a window waits until its members have ended, as a module sees ends outside it; clip='right' frees it"
    meets = "passes" if isinstance(plan.window, SnapshotWindows) else "reaches"
    return f"a window is complete when the punctuation {meets} its end"
