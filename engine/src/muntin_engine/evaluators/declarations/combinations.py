"""The combinations of parts on arrays that evaluators have, and the conditions that a query has to meet for each.

A condition is a `Demand`: a function that returns why a plan does not meet it, and None if it does. The first line of
its docstring states the condition, which a table of the documentation repeats.
"""

from __future__ import annotations

from typing import Final

from muntin import ClipPolicy, Component, EmitPolicy, Merge
from muntin_engine.plan.chosen_evaluator import Arrivals, Geometry, Held
from muntin_engine.plan.evaluator_declaration import Combination, Combinations, Demand
from muntin_engine.plan.plan import Plan


def can_be_subtracted(component: Component) -> bool:
    """Return True if values can be subtracted from their sum exactly.

    That is so for counts, sums of whole numbers, and the sums and means of floats, of which every bit is kept.
    """
    return component.is_exact or (component.merge in (Merge.ADD, Merge.COUNT) and component.has_inverse)


def have_forms(plan: Plan) -> str | None:
    """Demand that all modules have a columnar form; return why not, or None."""
    for module in plan.modules:
        if module.form is None:
            return f"{module.label} has no columnar form for its input"
    return None


def can_be_deducted(plan: Plan) -> str | None:
    """Demand that all components of forms can be subtracted; return why not, or None."""
    for module in plan.modules:
        if module.form is None:
            continue
        for name, component in module.form.components().items():
            if not can_be_subtracted(component):
                words = f"{name} ({component.merge} {component.dtype})"
                return f"{module.label} keeps {words}, which cannot be subtracted where an event of a snapshot ends"
    return None


def have_combine(plan: Plan) -> str | None:
    """Demand that all modules define `combine`; return why not, or None."""
    for module in plan.modules:
        if not (module.module.is_incremental and hasattr(module.module, "combine")):
            return f"{module.label} has no combine"
    return None


def ignore_times(plan: Plan) -> str | None:
    """Demand that no module reads times; return why not, or None."""
    for module in plan.modules:
        if module.module.is_time_sensitive:
            return f"{module.label} sees events and the window"
    return None


def ignore_times_or_fill_windows(plan: Plan) -> str | None:
    """Demand that no module reads times, unless it has a form and `clip="full"` makes members fill their window.

    Return why not, or None. All members that a snapshot clips have its lifetime: a form needs no other times.
    """
    for module in plan.modules:
        fills_windows = module.form is not None and plan.clip is ClipPolicy.FULL
        if module.module.is_time_sensitive and not fills_windows:
            return f"{module.label} sees events and the window"
    return None


def ignore_order(plan: Plan) -> str | None:
    """Demand that no module reads the order of events; return why not, or None."""
    for module in plan.modules:
        if module.module.reads_order:
            return f"{module.label} reads the order of events, and the rows of a partial state come in any"
    return None


def do_not_slide(plan: Plan) -> str | None:
    """Demand that at least one module cannot slide from window to window, unless several specifications share rows.

    Return why not, or None. If all modules slide, the general evaluator is cheaper: it carries their states from window
    to window.
    """
    if not plan.named_windows and all(module.slides for module in plan.modules):
        return f"{plan.modules[0].label} slides from window to window"
    return None


_MERGED: Final[tuple[Demand, ...]] = (ignore_times, ignore_order)
"""The conditions under which rows may be merged before their windows are known."""

_FORMS: Final[tuple[Demand, ...]] = (*_MERGED, have_forms)
"""The conditions for components of forms that are merged."""

_SUMS: Final[tuple[Demand, ...]] = (ignore_times_or_fill_windows, ignore_order, have_forms, can_be_deducted)
"""The conditions for components of forms that are added and subtracted."""

_ANY_EMISSION: Final = (EmitPolicy.FINAL, EmitPolicy.SPECULATIVE, EmitPolicy.EAGER)

COMBINATIONS: Final[Combinations] = {
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.COMPONENTS): Combination(_FORMS),
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.STATES): Combination((*_MERGED, have_combine)),
    (Geometry.SLICES, Arrivals.INSERTIONS, Held.ROWS): Combination(()),
    (Geometry.RUNS, Arrivals.INSERTIONS, Held.COMPONENTS): Combination(_FORMS),
    (Geometry.RUNS, Arrivals.INSERTIONS, Held.ROWS): Combination((do_not_slide,)),
    (Geometry.RUNS, Arrivals.IDENTIFIED, Held.COMPONENTS): Combination(_FORMS, _ANY_EMISSION),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.COMPONENTS): Combination(_FORMS),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.STATES): Combination((*_MERGED, have_combine)),
    (Geometry.SESSIONS, Arrivals.INSERTIONS, Held.ROWS): Combination(()),
    (Geometry.SNAPSHOTS, Arrivals.INSERTIONS, Held.COMPONENTS): Combination(_SUMS),
    (Geometry.SNAPSHOTS, Arrivals.INSERTIONS, Held.ROWS): Combination((do_not_slide,)),
    (Geometry.SNAPSHOTS, Arrivals.IDENTIFIED, Held.COMPONENTS): Combination(_SUMS),
}
"""The combinations of parts that there are; with the emissions, where these are others than final results."""
