"""The general evaluator: events are kept, and windows computed from their members, key by key in plain Python."""

from __future__ import annotations

from typing import Final

from muntin import EmitPolicy, Refinement, ResultRefinement
from muntin_engine.plan.chosen_evaluator import Explanation
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.plan_words import spell_windows


def cuts_the_axis(plan: Plan) -> str | None:
    """Demand that windows cut the axis, and do not follow rows in their order; return why not, or None."""
    return None if plan.rows is None else f"{spell_windows(plan)} follows rows in their order"


def explain(plan: Plan) -> Explanation:
    """Return the evaluation of a query in words."""
    modules = tuple(_module(plan, module) for module in plan.modules)
    return Explanation(_row(plan), _state(plan), modules)


def _row(plan: Plan) -> str:
    """Return the words for the cost of a row."""
    if plan.early is not None:
        return "at most a trigger call for each window that it is a member of; a firing costs what a closing does"
    if plan.emission is EmitPolicy.FINAL and all(module.slides for module in plan.modules):
        return "a constant in each micro-batch that closes windows that it is a member of, however many these are"
    return "a constant for each window that it is a member of"


def _state(plan: Plan) -> str:
    """Return the words for the state of a query."""
    state = "all events, as none ever leaves its windows" if plan.window.keeps_all else "the events of open windows"
    if plan.early is not None:
        state += ", and the trigger's state of each open window with members"
        if plan.early.may_retract:
            state += ", with its last output"
        if isinstance(plan.early.refinement, ResultRefinement):
            state += ", with the state of its refinement"
    elif plan.emission is not EmitPolicy.FINAL:
        state += ", and the last output of each window that may change"
    if plan.forget_keys_after is not None:
        state += ", until the key has been silent for long enough"
    return f"{state}, in a log per bucket: a batch appends the changes of the keys that have rows or a timer"


def _module(plan: Plan, module: ModulePlan) -> str:
    """Return the words for the computation of a module."""
    if plan.early is not None and plan.early.refinement is Refinement.DISCARD:
        return "computed from the members that came since the window was last emitted"
    if not module.module.is_incremental:
        return "computed from the members of each window, as it is not incremental"
    if module.module.reads_order:
        return "computed from the members of each window in their order, which a late one may change"
    if plan.emission in (EmitPolicy.SPECULATIVE, EmitPolicy.EAGER):
        changed_window = "the state of a window that changes after it was emitted"
        if hasattr(module.module, "remove_events"):
            return f"{changed_window} is updated with each change"
        return f"{changed_window} is rebuilt when a member goes, as it has no remove_events"
    if module.slides:
        return "its state slides through the windows that a micro-batch closes, and is built anew in the next one"
    if module.module.is_time_sensitive:
        return "its state is built from the members of each window, as what it sees depends on the window"
    return "its state is built from the members of each window, as it has no remove_events"


GENERAL: Final = Declaration(
    name="general",
    advantage="it runs any query",
    explain=explain,
    demands=(cuts_the_axis,),
    takes_revisions=True,
)
"""Runs windows that cut the axis, any module and policy, with revisions and retractions."""
