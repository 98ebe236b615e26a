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
    """Return the parts that a query is made of on arrays; or, as text, the reason why arrays cannot evaluate it.

    Args:
        plan: The query.
        held: The values that an evaluator keeps for each stretch of a key's axis.
        combinations: The combinations of parts that the evaluator can run.
    """
    geometry_and_gap = _geometry_and_gap(plan)
    if geometry_and_gap is None:
        return str(why_no_grid(plan))  # there is a reason, as no geometry was found
    geometry, gap = geometry_and_gap

    # Events with ids may be revised by later rows, samples never.
    has_ids = plan.input.columns.id is not None and not plan.input.has_samples
    arrivals = Arrivals.IDENTIFIED if has_ids else Arrivals.INSERTIONS
    slides = held is Held.ROWS and _states_slide(plan)  # the state of a window is made from that of the one before
    parts = ArrayPlan(geometry=geometry, arrivals=arrivals, held=held, gap=gap, slides=slides)
    first_reason = next(_reasons_against(plan, parts, combinations), None)
    if first_reason is not None:
        return first_reason
    return replace(parts, grids=_grids(plan)) if parts.is_on_grid else parts


def _grids(plan: Plan) -> tuple[SliceGrid, ...]:
    """Return the slices of each specification of windows; the windows are regular, and all of them share slices."""
    regular_windows = []
    for window in plan.windows:
        regular = window.grid() or window.growing()  # windows of one size, or windows that grow by steps
        assert regular is not None, "why_no_grid has refused other windows"
        regular_windows.append(regular)
    return SliceGrid.shared(regular_windows)


def _geometry_and_gap(plan: Plan) -> tuple[Geometry, int] | None:
    """Return the geometry of a query's windows, and the gap of its sessions; None if the windows are not regular.

    The gap is the number of ticks from the last tick of an event to the end of its stretch: 1 without sessions.
    """
    # Several specifications of windows share slices, which snapshots and sessions do not have.
    if not plan.named_windows:
        if plan.window.cuts_at_edges():
            return Geometry.SNAPSHOTS, 1
        gap = plan.window.fuses_within()
        if gap is not None:
            return Geometry.SESSIONS, gap
    if why_no_grid(plan) is not None:
        return None
    # A point lies in one slice. Events with ids are kept as runs of slices, even if they are points.
    are_slices = plan.input.is_point and plan.input.columns.id is None
    geometry = Geometry.SLICES if are_slices else Geometry.RUNS
    return geometry, 1


def _states_slide(plan: Plan) -> bool:
    """Return True if a window's state is made from that of the window before it, by adding and removing rows.

    All modules must be able to do so, and successive windows must share more than half of their rows: otherwise it
    costs no more to compute each window from all of its rows.
    """
    # Modules that set the lifetimes of results are time-sensitive, and states of those do not slide.
    if plan.timestamps.is_set_by_module or not plan.input.is_point:
        return False
    only_grows = plan.window.growing() is not None
    regular_windows = steps_of(plan)
    share_most_rows = only_grows or any(2 * windows.hop < windows.size for windows in regular_windows)
    return share_most_rows and all(may_slide(module.module, only_grows=only_grows) for module in plan.modules)


def _reasons_against(plan: Plan, parts: ArrayPlan, combinations: Combinations) -> Iterator[str]:
    """Yield the reasons why a query cannot be evaluated on arrays with certain parts, as text; none if it can.

    Args:
        plan: The query.
        parts: The parts.
        combinations: The combinations of parts that the evaluator can run.
    """
    # The combination is None if the evaluator has none of these parts. This is the last of the reasons, since the query
    # writer can do more about the others.
    combination = combinations.get((parts.geometry, parts.arrivals, parts.held))
    # The first reasons are those against components, also where Python states or rows would be held: they say what the
    # query would need to be held as components.
    if combination is None and parts.held is not Held.COMPONENTS:
        yield from _reasons_against(plan, replace(parts, held=Held.COMPONENTS), combinations)

    # The emission, and whether all keys close their windows together. Where results are time-bound, arrays emit only
    # final ones, whatever the combination is capable of.
    emits: tuple[EmitPolicy, ...] = (EmitPolicy.FINAL,)
    if combination is not None and plan.contract is not OutputContract.TIME_BOUND:
        emits = combination.emits
    if plan.early is None and plan.emit not in emits:  # early results have a reason of their own below
        yield why_results_change(plan)
    why_not = why_keys_differ(plan)
    if why_not is not None:
        yield why_not

    # The events and their windows. Ends may move if the combination takes events with ids. In queries of several
    # windows it never does.
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

    # The demands of the combination itself.
    if combination is None:
        yield f"{parts.geometry} of {parts.arrivals} do not hold {parts.held}"
        return
    for demand in combination.demands:
        why_not = demand(plan)
        if why_not is not None:
            yield why_not
