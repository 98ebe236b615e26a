"""What can be evaluated on arrays, and why something cannot."""

from __future__ import annotations

from collections.abc import Iterator

from muntin import Component, Merge
from muntin.modules import SupportsCombine
from muntin_engine.core.slice_grid import share_slices
from muntin_engine.plan.plan import Plan


def whatever_forbids_slices(plan: Plan) -> Iterator[str]:
    """Yield why rows cannot be merged into slices, or ranges of windows."""
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
    why_not = plan.why_not_on_arrays or next(whatever_forbids_lifting(plan), None) or needs_events(plan)
    if plan.is_cut_at_edges:
        return why_not or without_form(plan) or without_inverse(plan)
    return why_not or next(_whatever_forbids_ranges(plan), None) or without_form(plan)


def whatever_forbids_lifting(plan: Plan) -> Iterator[str]:
    """Yield why rows cannot become partial states, whatever the windows."""
    if plan.early is not None:
        yield "a trigger watches each window by itself"
    if plan.keeps_late_rows and not plan.is_revised:
        yield "late rows are wanted, and partial states have no rows in them"
    if any(given.most_held is not None for given in plan.inputs):
        yield "shedding counts the events that a key holds, and partial states have no events in them"


def needs_events(plan: Plan) -> str | None:
    """Return that a module needs more of events than a partial state has; None if none does."""
    for module in plan.modules:
        if module.module.is_time_sensitive and not (plan.is_spanned and module.form is not None):
            return f"{module.label} sees events and the window"
        if module.module.reads_order:
            return f"{module.label} reads the order of events, and the rows of a partial state come in any"
    return None


def without_form(plan: Plan) -> str | None:
    """Return that a module has no columnar form; None if all have one."""
    label = next((module.label for module in plan.modules if module.form is None), None)
    return None if label is None else f"{label} has no columnar form for its input"


def without_combine(plan: Plan) -> str | None:
    """Return that rows have several slices, or that a module cannot merge states; None if all can.

    States of snapshots are never merged. So of these it says why forms cannot do it either.
    """
    if plan.is_cut_at_edges:
        return without_inverse(plan) or plan.why_no_steps
    if plan.gap is None and plan.input.lifetimes != "point":
        return "events have lifetimes, so a row may lie in several slices"
    for module in plan.modules:
        if not (module.module.is_incremental and isinstance(module.module, SupportsCombine)):
            return f"{module.label} has no combine"
    return None


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
