"""The combinations of parts that evaluation on arrays has, and the reasons why a query fits none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from muntin import ClipPolicy, Component, EmitPolicy, Merge, OutputContract
from muntin_engine.core.evaluator_query import may_slide
from muntin_engine.core.slice_grid import share_slices
from muntin_engine.plan.choice import ArrayPlan, Arrivals, Geometry, Held
from muntin_engine.plan.plan import Plan

Demand: TypeAlias = Callable[[Plan], str | None]
"""Returns what a query lacks for a combination of parts, None if nothing; its docstring says what is demanded."""


class Combination(NamedTuple):
    """The demands and the abilities of a combination of parts.

    Attributes:
        demands: What it demands of the modules of a query.
        emits: The emissions that it is capable of.
    """

    demands: tuple[Demand, ...]
    emits: tuple[EmitPolicy, ...] = (EmitPolicy.FINAL,)


def states_slide(plan: Plan) -> bool:
    """Return True if states of rows go on from window to window: all modules have such, and windows share points.

    Over two hops to a window it costs as much to compute each from all its rows.
    """
    if plan.timestamps.is_set_by_module or not plan.input.is_point:
        return False
    only_grows = plan.window.growing() is not None
    share_rows = only_grows or any(2 * steps.hop < steps.size for steps in plan.steps)
    return share_rows and all(may_slide(module.module, only_grows=only_grows) for module in plan.modules)


def can_be_subtracted(component: Component) -> bool:
    """Return True if sums of values can be subtracted exactly: counts, and sums of whole numbers and of floats."""
    return component.is_exact or (component.merge in (Merge.ADD, Merge.COUNT) and component.has_inverse)


def have_forms(plan: Plan) -> str | None:
    """All modules have a columnar form."""
    label = next((module.label for module in plan.modules if module.form is None), None)
    return None if label is None else f"{label} has no columnar form for its input"


def can_be_deducted(plan: Plan) -> str | None:
    """All that forms keep can be subtracted."""
    for module in plan.modules:
        for name, part in (module.form.components() if module.form is not None else {}).items():
            if not can_be_subtracted(part):
                kept = f"{name} ({part.merge} {part.dtype})"
                return f"{module.label} keeps {kept}, which cannot be subtracted where an event of a snapshot ends"
    return None


def have_combine(plan: Plan) -> str | None:
    """All modules define `combine`."""
    for module in plan.modules:
        if not (module.module.is_incremental and hasattr(module.module, "combine")):
            return f"{module.label} has no combine"
    return None


def ignore_times(plan: Plan) -> str | None:
    """No module reads times."""
    sensitive = (module.label for module in plan.modules if module.module.is_time_sensitive)
    return next((f"{label} sees events and the window" for label in sensitive), None)


def ignore_times_or_fill_windows(plan: Plan) -> str | None:
    """No module reads times, unless it has a form and `clip="full"` makes members fill their window."""
    members_fill_window = plan.clip is ClipPolicy.FULL
    some = [module for module in plan.modules if not (members_fill_window and module.form is not None)]
    return ignore_times(replace(plan, modules=tuple(some)))


def ignore_order(plan: Plan) -> str | None:
    """No module reads the order of events."""
    readers = (module.label for module in plan.modules if module.module.reads_order)
    return next(
        (f"{label} reads the order of events, and the rows of a partial state come in any" for label in readers), None
    )


def do_not_slide(plan: Plan) -> str | None:
    """A module cannot slide from window to window, unless several specifications share rows."""
    if not plan.named_windows and all(module.slides for module in plan.modules):
        return f"{plan.modules[0].label} slides from window to window"
    return None


_MERGED: Final[tuple[Demand, ...]] = (ignore_times, ignore_order)
_FORMS: Final[tuple[Demand, ...]] = (*_MERGED, have_forms)
_SUMS: Final[tuple[Demand, ...]] = (ignore_times_or_fill_windows, ignore_order, have_forms, can_be_deducted)
_ANY_EMISSION: Final = (EmitPolicy.FINAL, EmitPolicy.SPECULATIVE, EmitPolicy.EAGER)

COMBINATIONS: Final[Mapping[tuple[Geometry, Arrivals, Held], Combination]] = {
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
"""The combinations of parts that there are."""


def choose(plan: Plan, held: Held) -> ArrayPlan | str:
    """Return the parts that a query is made of on arrays, given what stretches hold; or why there are none."""
    has_ids = plan.input.columns.id is not None
    if (windows := _geometry(plan)) is None:
        return str(plan.why_no_grid)
    arrivals = Arrivals.IDENTIFIED if has_ids and not plan.input.has_samples else Arrivals.INSERTIONS
    parts = ArrayPlan(windows[0], arrivals, held, windows[1])
    return next(_reasons_against(plan, parts), parts)


def _geometry(plan: Plan) -> tuple[Geometry, int] | None:
    """Return the geometry of the windows of a query, and for how long after its last tick an event counts there."""
    if not plan.named_windows:
        if plan.window.cuts_at_edges():
            return Geometry.SNAPSHOTS, 1
        if (gap := plan.window.fuses_within()) is not None:
            return Geometry.SESSIONS, gap
    if plan.why_no_grid is not None:
        return None
    are_slices = plan.input.is_point and plan.input.columns.id is None
    return Geometry.SLICES if are_slices else Geometry.RUNS, 1


def _reasons_against(plan: Plan, parts: ArrayPlan) -> Iterator[str]:
    """Yield why some parts cannot evaluate a query."""
    found = COMBINATIONS.get((parts.geometry, parts.arrivals, parts.held))
    if found is None and parts.held is not Held.COMPONENTS:  # what components lack says more
        yield from _reasons_against(plan, replace(parts, held=Held.COMPONENTS))
    emits = (EmitPolicy.FINAL,) if found is None or plan.contract is OutputContract.TIME_BOUND else found.emits
    if plan.early is None and plan.emit not in emits:
        yield plan.why_results_change
    if plan.why_keys_differ is not None:
        yield plan.why_keys_differ
    has_ids = parts.arrivals is Arrivals.IDENTIFIED and (found is None or bool(plan.named_windows))
    if (has_ids or parts.arrivals is Arrivals.INSERTIONS) and plan.why_ends_move is not None:
        yield plan.why_ends_move
    if parts.is_on_grid and not share_slices(plan.steps):
        yield "the windows are made of different pieces, such as hours, days of a time zone and months"
    if plan.early is not None:
        yield "a trigger watches each window by itself"
    if plan.input.most_held is not None:
        yield "shedding counts the events that a key holds, and partial states have no events in them"
    if found is None:
        yield f"{parts.geometry} of {parts.arrivals} do not hold {parts.held}"
    else:
        yield from (why_not for demand in found.demands if (why_not := demand(plan)) is not None)
