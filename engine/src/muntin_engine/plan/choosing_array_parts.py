"""The parts that a query is made of on arrays, by the combinations that an evaluator declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from muntin import EmitPolicy, OutputContract
from muntin_engine.modules.abilities import may_slide
from muntin_engine.plan.chosen_evaluator import ArrayPlan, Arrivals, Geometry, Held
from muntin_engine.plan.evaluator_declaration import Combinations
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.window_steps import steps_of, why_ends_move, why_keys_differ, why_no_grid, why_results_change
from muntin_engine.time.slice_grid import SliceGrid, share_slices


def choose_parts(plan: Plan, held: Held, combinations: Combinations) -> ArrayPlan | str:
    """Return the parts that a query is made of on arrays; or why there are none.

    Args:
        plan: The query.
        held: The values of stretches.
        combinations: The combinations of parts that there are.
    """
    stretches = _stretches(plan)
    if stretches is None:
        return str(why_no_grid(plan))
    geometry, gap = stretches

    has_ids = plan.input.columns.id is not None and not plan.input.has_samples
    arrivals = Arrivals.IDENTIFIED if has_ids else Arrivals.INSERTIONS
    slides = held is Held.ROWS and _states_slide(plan)
    parts = ArrayPlan(geometry, arrivals, held, gap, slides)
    first_reason = next(_reasons_against(plan, parts, combinations), None)
    if first_reason is not None:
        return first_reason
    return replace(parts, grids=_grids(plan)) if parts.is_on_grid else parts


def _grids(plan: Plan) -> tuple[SliceGrid, ...]:
    """Return the slices of each specification of a query, whose windows are regular and share slices."""
    regular_windows = []
    for window in plan.windows:
        regular = window.grid() or window.growing()
        assert regular is not None, "why_no_grid says no"
        regular_windows.append(regular)
    return SliceGrid.shared(regular_windows)


def _stretches(plan: Plan) -> tuple[Geometry, int] | None:
    """Return the geometry of a query's windows, and for how long after its last tick an event counts there."""
    if not plan.named_windows:
        if plan.window.cuts_at_edges():
            return Geometry.SNAPSHOTS, 1
        gap = plan.window.fuses_within()
        if gap is not None:
            return Geometry.SESSIONS, gap
    if why_no_grid(plan) is not None:
        return None
    are_slices = plan.input.is_point and plan.input.columns.id is None
    return Geometry.SLICES if are_slices else Geometry.RUNS, 1


def _states_slide(plan: Plan) -> bool:
    """Return True if states of rows go on from window to window: all modules have such, and windows share most rows.

    Where windows share half their rows or fewer, computing each from all its rows costs no more.
    """
    if plan.timestamps.is_set_by_module or not plan.input.is_point:
        return False
    only_grows = plan.window.growing() is not None
    share_most_rows = only_grows or any(2 * steps.hop < steps.size for steps in steps_of(plan))
    return share_most_rows and all(may_slide(module.module, only_grows=only_grows) for module in plan.modules)


def _reasons_against(plan: Plan, parts: ArrayPlan, combinations: Combinations) -> Iterator[str]:
    """Yield why some parts cannot evaluate a query."""
    combination = combinations.get((parts.geometry, parts.arrivals, parts.held))
    if combination is None and parts.held is not Held.COMPONENTS:
        # The reasons against components say more than that there is no such combination.
        yield from _reasons_against(plan, replace(parts, held=Held.COMPONENTS), combinations)

    emits: tuple[EmitPolicy, ...] = (EmitPolicy.FINAL,)
    if combination is not None and plan.contract is not OutputContract.TIME_BOUND:
        emits = combination.emits
    if plan.early is None and plan.emit not in emits:
        yield why_results_change(plan)
    why_not = why_keys_differ(plan)
    if why_not is not None:
        yield why_not

    takes_ids = parts.arrivals is Arrivals.IDENTIFIED and combination is not None and not plan.named_windows
    why_not = None if takes_ids else why_ends_move(plan)
    if why_not is not None:
        yield why_not
    if parts.is_on_grid and not share_slices(steps_of(plan)):
        yield "the windows are made of different pieces, such as hours, days of a time zone and months"
    if plan.early is not None:
        yield "a trigger watches each window by itself"
    if plan.input.most_held is not None:
        yield "shedding counts the events that a key holds, and partial states have no events in them"

    if combination is None:
        yield f"{parts.geometry} of {parts.arrivals} do not hold {parts.held}"
        return
    for demand in combination.demands:
        why_not = demand(plan)
        if why_not is not None:
            yield why_not
