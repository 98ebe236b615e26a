"""Saying how a query is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from muntin import (
    EarlyEmission,
    EmitPolicy,
    HoppingWindows,
    LatePolicy,
    Merge,
    OutputContract,
    Punctuated,
    Refinement,
    SnapshotWindows,
    SupportsDeduct,
    SupportsRemove,
    TimestampPolicy,
)
from muntin.axis import spell_ticks
from muntin_engine.core.bucket import SHELVES
from muntin_engine.core.sliced.grid import SliceGrid
from muntin_engine.plan import Evaluator, ModulePlan, Plan


def explain_plan(plan: Plan, inner: Sequence[Plan] = ()) -> str:
    """Return the evaluation of a query in words, a line per topic.

    Args:
        plan: The query.
        inner: The queries whose results are its input, the first one first; each is explained as well, before it.

    The topics: `window` and its policies; `lifetimes`, if those that a module returns are discarded; `key` and how keys
    are spread; `where`, what new events must meet, if there is a filter; `progress`, what says how complete the input
    is; `late`, what becomes of rows that come behind that;
    `evaluator`, and why it is this one; a line per `module` with how it is computed, and why; `early`, when open
    windows are put out, if they are; `row`, what one costs; `state`, what is kept between micro-batches, and its bound;
    `output`, when a window is complete; and `lag`, how far the output's punctuation is behind the input's, and why.
    """
    plans = [*inner, plan]
    told = [
        "\n".join(f"{title:<12}{text}" for title, text in topics_of(one, is_chained=place > 0))
        for place, one in enumerate(plans)
    ]
    return "\n\n".join(told)


def topics_of(plan: Plan, *, is_chained: bool = False) -> list[tuple[str, str]]:
    """Return the lines of `explain_plan` on one query, each as its topic and what is said of it.

    Args:
        plan: The query.
        is_chained: True if its input is the results of another one.
    """
    return [
        ("window", f"{plan.spelled_window}, {_explain_policies(plan)}, emit {plan.emit}"),
        *([("lifetimes", _DISCARDED)] if _discards_lifetimes(plan) else []),
        ("key", _explain_key(plan)),
        *([("where", _explain_filter(plan))] if plan.columns.conditions else []),
        ("progress", _CHAINED if is_chained else _explain_progress(plan)),
        ("late", _explain_late(plan)),
        ("evaluator", f"{plan.choice.evaluator}: {plan.choice.reason}"),
        *(("module", _explain_module(plan, module)) for module in plan.modules),
        *([("early", _explain_early(plan.early))] if plan.early is not None else []),
        ("row", _explain_row(plan)),
        ("state", _explain_state(plan)),
        ("output", _explain_completeness(plan)),
        ("lag", _explain_lag(plan)),
    ]


_CHAINED: Final = "up to where the results of the query before are settled"


def _explain_policies(plan: Plan) -> str:
    said = {"clip": plan.clip, "timestamps": plan.timestamps}
    return ", ".join(
        f"{name} {policy}{' (as its modules ask)' * (name in plan.from_modules)}" for name, policy in said.items()
    )


def _discards_lifetimes(plan: Plan) -> bool:
    """Return whether the module may return lifetimes of its own that the output does not get."""
    module = plan.modules[0].module
    return module.is_operator and module.is_time_sensitive and not plan.timestamps.is_set_by_module


_DISCARDED: Final = "those that the module returns are discarded; timestamps='unchanged' or 'clip' keeps them"


def _explain_key(plan: Plan) -> str:
    names = ", ".join(key.name for key in plan.columns.keys)
    return f"{names}, over {plan.buckets} buckets" if names else "none: all rows are one group, in one task"


def _explain_filter(plan: Plan) -> str:
    names = " and ".join(condition.name for condition in plan.columns.conditions)
    return f"{names}; events that it leaves out are kept for their revisions" if plan.keeps_filtered else names


def _explain_progress(plan: Plan) -> str:
    given, policy = plan.input, plan.input.progress
    spell = plan.axis.spell_length
    told = [] if isinstance(policy, Punctuated) else [policy.describe(spell)]
    told += ["punctuation rows"] if plan.columns.change is not None else []
    told += [f"{given.heartbeats} other streams" if given.heartbeats > 1 else "another stream"] * bool(given.heartbeats)
    told = [", or ".join(told) or "the end of a static input"]
    told += [f"the least of {', '.join(given.sources)}"] if given.sources else []
    told += ["keys may punctuate themselves"] if policy.by_key else []
    told += [policy.idle.describe(spell_ticks)] if policy.idle else []  # of the clock, whatever the axis
    return "; ".join(told)


def _explain_late(plan: Plan) -> str:
    late = plan.input.late
    if late.corrects:
        allowed = plan.axis.spell_length(late.allowed)
        return f"rows up to {allowed} behind the punctuation correct results, others are set aside"
    return _LATE[late.policy]


def _explain_module(plan: Plan, module: ModulePlan) -> str:
    name = f"{module.output} = {module.label}" if module.output else module.label
    return f"{name}: {_STRATEGIES[plan.choice.evaluator](plan, module)}"


def _columnar(plan: Plan, planned: ModulePlan) -> str:
    assert planned.form is not None
    components = planned.form.components()
    kept = ", ".join(f"{name} ({part.merge} {part.dtype})" for name, part in components.items())
    if any(part.merge is Merge.COLLECT for part in components.values()):
        return f"keeps {kept}; each window sorts all its values"
    if plan.lifetimes != "point":
        return f"keeps {kept}; windows share the blocks of a tree"
    if all(part.has_inverse or part.is_exact for part in components.values()):
        return f"keeps {kept}; windows are differences of running totals"
    return f"keeps {kept}; windows are merged from running values, as not all of it can be taken back exactly"


def _sliced(plan: Plan, planned: ModulePlan) -> str:
    if isinstance(plan.window, HoppingWindows) and plan.window.hop >= plan.window.size:
        return "its states are combined per slice, each window has slices of its own"
    if isinstance(planned.module, SupportsDeduct):
        return "its states are combined per slice; a window deducts the slices that leave it"
    return "its states are combined per slice; windows share them on two stacks, as it has no deduct"


def _general(plan: Plan, planned: ModulePlan) -> str:
    module = planned.module
    if plan.early is not None and plan.early.refinement is Refinement.DISCARD:
        return "computed from the members that came since the window was last put out"
    can_remove = isinstance(module, SupportsRemove)
    if not module.is_incremental:
        return "computed from the members of each window, as it is not incremental"
    if plan.emission in (EmitPolicy.SPECULATIVE, EmitPolicy.EAGER):
        updates = "is updated with each change" if can_remove else "is rebuilt when a member goes"
        return f"the state of a window that changes after it was put out {updates}" + (
            "" if can_remove else ", as it has no remove_events"
        )
    if can_remove and not module.is_time_sensitive:
        return "its state slides from window to window"
    return "its state is built from the members of each window, as " + (
        "what it sees depends on the window" if module.is_time_sensitive else "it has no remove_events"
    )


_STRATEGIES: Final[Mapping[Evaluator, Callable[[Plan, ModulePlan], str]]] = {
    Evaluator.COLUMNAR: _columnar,
    Evaluator.SLICED: _sliced,
    Evaluator.GENERAL: _general,
}


def _explain_early(early: EarlyEmission) -> str:
    trigger = early.trigger
    told = ["its members change", "a time comes that it waits for"]
    told += [f"a signal {name!r} does" for name in sorted(trigger.signals)]
    return f"a window's trigger is asked when {' or '.join(told)}; {_REFINEMENTS[early.refinement]}"


_REFINEMENTS: Final = {
    Refinement.ACCUMULATE: "each result is the whole so far",
    Refinement.DISCARD: "each result covers what came since the last, the final one too",
    Refinement.RETRACT: "each result is the whole so far, and the last one is retracted",
}


def _explain_row(plan: Plan) -> str:
    if plan.choice.evaluator is Evaluator.GENERAL:
        if plan.early is not None:
            return "a step of the trigger for each window that it is a member of; a firing costs what a closing does"
        slides = all(_slides(module) for module in plan.modules) and plan.emission is EmitPolicy.FINAL
        return "a constant, whatever the overlap" if slides else "a constant for each window that it is a member of"
    return f"merged once into {_unit(plan)}, where it is, whatever size/hop"


def _slides(planned: ModulePlan) -> bool:
    module = planned.module
    return module.is_incremental and not module.is_time_sensitive and isinstance(module, SupportsRemove)


_LATE: Final = {
    LatePolicy.SIDE: "rows behind the punctuation are set aside",
    LatePolicy.DROP: "rows behind the punctuation are counted and dropped",
    LatePolicy.ADJUST: "insertions start at the punctuation if they end after it; other rows behind it are set aside",
}


def _unit(plan: Plan) -> str:
    if plan.lifetimes != "point":
        return "the range of windows that it overlaps"
    return f"its slice of {plan.axis.spell_length(SliceGrid.shared(plan.steps)[0].width)}"


def _explain_state(plan: Plan) -> str:
    if plan.choice.evaluator is not Evaluator.GENERAL:
        unit = "range of windows" if plan.lifetimes != "point" else "slice"
        kept = f"a partial state per key and {unit} of the open windows"
        return f"{kept}{_explain_size(plan)}; a batch writes what it brings, and no more"
    kept = "the events of open windows"
    if plan.early is not None:
        kept += ", and the trigger's state of each open window with members"
        kept += ", with its last output" if plan.early.may_retract else ""
    elif plan.emission is not EmitPolicy.FINAL:
        kept += ", and the last output of each window that may change"
    return f"{kept}; {SHELVES} cells per bucket, each read and written only when its keys are touched or due"


def _explain_size(plan: Plan) -> str:
    sizes = [getattr(module.module, "state_bytes", None) for module in plan.modules]
    declared = [size for size in sizes if size is not None]
    if plan.choice.evaluator is not Evaluator.SLICED or not declared:
        return ""
    return f", or its rows while they take less than {sum(declared)} bytes"


def _explain_completeness(plan: Plan) -> str:
    if plan.contract is OutputContract.UNRESTRICTED:
        return "is never complete before the stream closes, as its module promises nothing about its lifetimes"
    if plan.contract is OutputContract.TIME_BOUND:
        return "is complete up to the punctuation, as nothing is put out before what caused it"
    if plan.waits_for_ends:
        return "a window waits until its members have ended, as a module sees ends outside it; clip='right' frees it"
    meets = "passes" if isinstance(plan.window, SnapshotWindows) else "reaches"
    late = plan.input.late
    after = f", and {plan.axis.spell_length(late.allowed)} more" if late.corrects else ""
    return f"a window is complete when the punctuation {meets} its end{after}"


def _explain_lag(plan: Plan) -> str:
    if plan.contract is OutputContract.UNRESTRICTED:
        return "no output punctuation before the stream closes"
    if plan.contract is OutputContract.TIME_BOUND:
        return "none"
    if plan.waits_for_ends:
        return "until the members of the earliest window have ended; one that never ends holds the output back for ever"
    grids = [window for window in plan.windows if isinstance(window, HoppingWindows)]
    if not grids:
        return "as long as the earliest window of any key is open, as windows are cut by each key's own events"
    allowed = plan.input.late.allowed
    corrected = " and may be corrected" if allowed else ""
    if plan.timestamps is TimestampPolicy.POINT_AT_END:
        length = f"less than {plan.axis.spell_length(allowed)}" if allowed else "none"
        return f"{length}, as results lie where their windows end{corrected}"
    longest = max(window.size for window in grids)
    return f"less than {plan.axis.spell_length(longest + allowed)}, as results start where their windows do{corrected}"
