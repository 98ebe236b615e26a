"""The evaluators of windows over the last rows of a key, on arrays: such windows are runs of rows by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from muntin import EmitPolicy, Merge, RowOperator
from muntin.rows import RankedWindows
from muntin_engine.evaluators.declarations.combinations import can_be_subtracted, have_forms, ignore_order, ignore_times
from muntin_engine.plan.chosen_evaluator import Explanation
from muntin_engine.plan.evaluator_declaration import Declaration
from muntin_engine.plan.module_plan import ModulePlan
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.plan_words import spell_windows
from muntin_engine.plan.window_steps import why_ends_move, why_keys_differ, why_results_change


def ranked_windows(plan: Plan) -> RankedWindows:
    """Return the windows of a query as runs of rows by rank; the query meets the demand `are_ranked`."""
    assert plan.rows is not None, "its windows follow rows"
    return cast(RankedWindows, plan.rows.by_rank())


# What both evaluators demand.


def are_ranked(plan: Plan) -> str | None:
    """Demand that windows are the last so many rows, at every so many rows; return why not, or None."""
    if plan.rows is None:
        return f"{spell_windows(plan)} does not follow rows in their order"
    if plan.rows.by_rank() is None:
        return f"{spell_windows(plan)} is not decided by numbers of rows alone"
    return "results say where the output of a window ends" if plan.rows.is_marked else None


def are_final(plan: Plan) -> str | None:
    """Demand that all keys wait for one watermark, after which no row or result changes; return why not, or None."""
    if plan.emission is not EmitPolicy.FINAL:
        return why_results_change(plan)
    if plan.input.most_held is not None:
        return "shedding counts the events that a key holds"
    return why_keys_differ(plan) or why_ends_move(plan)


def last_as_windows_do(plan: Plan) -> str | None:
    """Demand that results last as their windows do, or are points at their ends; return why not, or None."""
    if plan.timestamps.is_set_by_module:
        return f"{plan.modules[0].label} says how long its rows last"
    return None


# Modules with columnar forms.


def are_merged(plan: Plan) -> str | None:
    """Demand that no form collects values, which each window would sort again; return why not, or None."""
    for module in plan.modules:
        components = {} if module.form is None else module.form.components()
        if any(component.merge is Merge.COLLECT for component in components.values()):
            return f"{module.label} sorts all values of each window"
    return None


def explain_forms(plan: Plan) -> Explanation:
    """Return the evaluation by columnar forms in words."""
    return Explanation(
        row="lifted once, when the watermark passes it; a window that is computed, a few steps whatever its size",
        state=_state(plan),
        modules=tuple(map(_form, plan.modules)),
    )


def _form(module: ModulePlan) -> str:
    """Return the words for the components that a form keeps of each row, and for their merging."""
    assert module.form is not None, "the planner gives it modules with forms alone"
    components = module.form.components()
    words = [f"{name} ({component.merge} {component.dtype})" for name, component in components.items()]
    merging = "windows are merged of runs of 1, 2, 4 and so on rows, as not all of it can be subtracted exactly"
    if all(map(can_be_subtracted, components.values())):
        merging = "a window is the difference of two running sums"
    return f"keeps {', '.join(words)}; {merging}"


# Modules that add and remove rows.


def add_and_remove(plan: Plan) -> str | None:
    """Demand that all modules keep a state that rows are added to and removed from; return why not, or None."""
    for module in plan.modules:
        if isinstance(module.module, RowOperator):
            return f"{module.label} is told of each row"
        if not module.module.is_incremental or not hasattr(module.module, "remove_events"):
            return f"{module.label} has no remove_events"
    return None


def explain_states(plan: Plan) -> Explanation:
    """Return the evaluation by states of modules in words."""
    return Explanation(
        row="a call to add it when the watermark passes it, and one to remove it; one more for the result of a window",
        state=_state(plan),
        modules=("its state goes on from window to window of a key, as rows come and go",) * len(plan.modules),
    )


def _state(plan: Plan) -> str:
    """Return the words for the state of a query."""
    size = ranked_windows(plan).size
    in_windows = "the last row of each key" if size == 1 else f"the last {size:,} rows of each key"
    return f"the rows that wait for the watermark, and {in_windows}, in columns; a batch writes only its own rows"


RANKED: Final = Declaration(
    name="ranked",
    advantage="its windows are runs of rows by rank, and all modules have a columnar form",
    explain=explain_forms,
    demands=(are_ranked, are_final, last_as_windows_do, ignore_times, ignore_order, have_forms, are_merged),
    lifts=True,
    lifts_in_buckets=True,
    unreported=frozenset({"windows_revisable"}),
)
"""Computes windows over the last rows of all keys at once, by columnar forms."""

SLIDING: Final = replace(
    RANKED,
    name="sliding",
    advantage="its windows are runs of rows by rank, and all modules add and remove rows",
    explain=explain_states,
    demands=(are_ranked, are_final, last_as_windows_do, ignore_times, add_and_remove),
    lifts_in_buckets=False,
)
"""Calls modules with the rows that enter and leave the windows of a key, one key after the other."""
