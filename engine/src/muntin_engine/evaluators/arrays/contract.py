"""Evaluation over slices: what the evaluators that merge partial states have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from muntin import Component, Merge
from muntin_engine.core.slice_grid import SliceGrid, share_slices
from muntin_engine.evaluators.evaluator import Evaluator
from muntin_engine.plan.plan import Plan


class OverSlices(Evaluator):
    """Merges rows into partial states of slices, or of ranges of windows, and makes windows of those.

    Sessions have no slices: their partial states are fused. Nor have snapshots: theirs are added and subtracted.
    """

    takes_several_windows = True
    lifts_rows = True
    unreported: ClassVar[frozenset[str]] = frozenset({"keys_held", "events_held"})

    def why_not(self, plan: Plan) -> str | None:
        """Return why it cannot run a query; None if it can."""
        if plan.is_revised:
            return why_not_revised(plan) or plan.why_no_lifting
        if plan.gap is None:
            return next(_whatever_forbids_slices(plan), None) or self.lacks(plan)
        return plan.why_no_lifting or next(whatever_forbids_lifting(plan), None) or self.lacks(plan)

    @abstractmethod
    def lacks(self, plan: Plan) -> str | None:
        """Return why it cannot run a query whose rows may be merged over slices; None if it can."""

    def explain_row(self, plan: Plan) -> str:
        """Say what a row costs."""
        unit = "the range of windows that it overlaps"
        if plan.input.lifetimes == "point":
            slices = SliceGrid.shared(plan.steps)[0]
            length = plan.spell_length if slices.periods is None else slices.periods.spell
            cycle = length(slices.cycle)
            unit = (
                f"its slice of {cycle}" if len(slices.cuts) == 1 else f"its slice, one of {len(slices.cuts)} in {cycle}"
            )
        return f"merged once into {unit}, before the shuffle, whatever size/hop"

    def explain_state(self, plan: Plan) -> str:
        """Say what is kept between micro-batches, and its bound."""
        sizes = plan.sizes_of_states
        if plan.is_revised:
            emitted = " and the last output of each window that may change," if plan.emission.may_retract else ""
            kept = f"an event until the watermark passes its end,{emitted}"
            kept = f"{kept} and the rows that wait for others of their event"
            if not plan.is_cut_at_edges:
                kept = f"{kept}; from then on a partial state per key and range of the open windows; {sizes}"
            return f"{kept}; a batch writes only the events that it changed"
        if plan.is_cut_at_edges:
            return f"a partial state per event until the watermark passes its end; {sizes}; a batch writes only its own"
        if plan.gap is not None:
            return f"a partial state per key and open session; {sizes}; a batch writes only its own partial states"
        unit = "slice" if plan.input.lifetimes == "point" else "range of windows"
        kept = f"a partial state per key and {unit} of the open windows"
        return f"{kept}{self.explain_bound(plan)}; {sizes}; a batch writes only its own rows or partial states"

    def explain_bound(self, plan: Plan) -> str:
        """Say what else may be kept in the place of a partial state."""
        del plan
        return ""


def _whatever_forbids_slices(plan: Plan) -> Iterator[str]:
    if plan.why_no_steps is not None:
        yield plan.why_no_steps
    if plan.input.lifetimes != "point":
        if plan.named_windows:
            yield "events have lifetimes, so they belong to another range of each window"
        yield from _whatever_forbids_ranges(plan)
    if not share_slices(plan.steps):
        yield "the windows are made of different pieces, such as hours, days of a time zone and months"
    yield from whatever_forbids_lifting(plan)


def _whatever_forbids_ranges(plan: Plan) -> Iterator[str]:
    grids = [window.grid() for window in plan.windows]
    periods = [grid.periods for grid in grids if grid is not None and grid.size == 1]
    if any(some is not None and some.some_are_empty for some in periods):
        yield f"events have lifetimes, and a range of {plan.window.title} cannot leave out the empty ones"


def why_not_revised(plan: Plan) -> str | None:
    """Return why windows that `Plan.is_revised` tells of cannot be evaluated on arrays; None if they can."""
    why_not = plan.why_not_on_arrays or next(whatever_forbids_lifting(plan), None)
    if plan.is_cut_at_edges:
        return why_not or without_form(plan) or without_inverse(plan)
    return why_not or next(_whatever_forbids_ranges(plan), None) or without_form(plan)


def whatever_forbids_lifting(plan: Plan) -> Iterator[str]:
    """Yield why rows cannot become partial states, whatever the windows."""
    if plan.early is not None:
        yield "a trigger watches each window by itself"
    yield from (
        f"{module.label} sees events and the window"
        for module in plan.modules
        if module.module.is_time_sensitive and not (plan.is_spanned and module.form is not None)
    )
    yield from (
        f"{module.label} reads the order of events, and the rows of a partial state come in any"
        for module in plan.modules
        if module.module.reads_order
    )
    if plan.keeps_late_rows and not plan.is_revised:
        yield "late rows are wanted, and partial states have no rows in them"
    if any(given.most_held is not None for given in plan.inputs):
        yield "shedding counts the events that a key holds, and partial states have no events in them"


def without_form(plan: Plan) -> str | None:
    """Return that a module has no columnar form; None if all have one."""
    label = next((module.label for module in plan.modules if module.form is None), None)
    return None if label is None else f"{label} has no columnar form for its input"


def can_be_subtracted(component: Component) -> bool:
    """Return True if sums of values can be subtracted exactly: counts, and sums of whole numbers and of floats."""
    return component.is_exact or (component.merge in (Merge.ADD, Merge.COUNT) and component.has_inverse)


def without_inverse(plan: Plan) -> str | None:
    """Return that what a form keeps cannot be subtracted where an event ends; None if all of it can."""
    for module in plan.modules:
        for name, part in (module.form.components() if module.form is not None else {}).items():
            if not can_be_subtracted(part):
                kept = f"{name} ({part.merge} {part.dtype})"
                return f"{module.label} keeps {kept}, which cannot be subtracted where an event of a snapshot ends"
    return None
