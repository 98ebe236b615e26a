"""The windows at whose ends alone the output of a query changes; or why it may change elsewhere, or key by key.

On such windows rows are merged before the shuffle, and evaluators on arrays work: `choosing_array_parts` asks here too.
"""

from __future__ import annotations

from muntin import EmitPolicy, LatePolicy
from muntin.windows import WindowSpecification
from muntin.windows.regular import RegularWindows
from muntin_engine.plan.plan import Plan


def steps_of(plan: Plan) -> tuple[RegularWindows, ...]:
    """Return a query's regular windows, if its output changes only where one of these windows ends; else none.

    Where the output changes only there, it is enough to know which windows are complete. So a row is late if a window
    that it belongs to, or an earlier window, is complete. It is not late if it merely lies behind the watermark.
    Queries of several inputs have no such windows, as rows of two inputs may meet at any tick.
    """
    if len(plan.inputs) > 1 or why_no_grid(plan) is not None or _why_no_lifting(plan) is not None:
        return ()
    regular_windows = []
    for window in plan.windows:
        regular = window.grid() or window.growing()  # windows of one size, or windows that grow by steps
        if regular is not None:
            regular_windows.append(regular)
    return tuple(regular_windows)


def why_no_grid(plan: Plan) -> str | None:
    """Return the reason why a query's windows do not lie on a grid; None if they do, or if they grow by steps.

    On a grid windows are regular, and the members of a window are the events that overlap it.
    """
    for window in plan.windows:
        if window.waits_for_events:
            return f"{plan.words.spell_window(window)} is cut by each key's own events"
        # With a reach, an event stays a member for that long after its end, of windows that do not overlap it. On a
        # grid `holds_past` is the reach or more. Windows that grow within a period have a reach as well, and their
        # `holds_past` is 0: `_why_not_growing` decides about them.
        members_outlast_overlap = 0 < window.reach <= window.holds_past
        if members_outlast_overlap:
            return "events are members of windows that they do not overlap, by the window's reach"
        if window.grid() is None:
            why_not = _why_not_growing(plan, window)
            if why_not is not None:
                return f"{plan.words.spell_window(window)} {why_not}"
    return None


def _why_not_growing(plan: Plan, window: WindowSpecification) -> str | None:
    """Return the reason why windows do not grow, with one running state per key that each window takes over.

    Returns:
        The reason, as the end of a sentence whose subject is the windows; None if they do grow.
    """
    if window.growing() is None:
        return "is not a regular grid"
    if plan.named_windows:
        return "carries a running state for each key, and other windows share slices"
    if any(input.columns.id is not None for input in plan.inputs):
        return "is not a regular grid, and events have ids, so they may be revised"
    if not all(input.is_point for input in plan.inputs):
        return "keeps a running state of points alone, and events last"
    return None


def _why_no_lifting(plan: Plan) -> str | None:
    """Return the reason why map tasks may not merge rows into partial states before the shuffle; None if they may.

    The windows do not matter here.
    """
    if plan.early is None and plan.emit is not EmitPolicy.FINAL:
        return why_results_change(plan)
    return why_keys_differ(plan) or why_ends_move(plan)


def why_results_change(plan: Plan) -> str:
    """Return the reason why results may be corrected, for a query whose emission is not final."""
    return f"emit={str(plan.emit)!r} emits results that may change"


def why_ends_move(plan: Plan) -> str | None:
    """Return the reason why the end of an event may change after its row came; None if ends never change."""
    if plan.input.columns.id is not None:
        return "events have ids, so they may be revised"
    return "samples last until the next one of their key" if plan.input.has_samples else None


def why_keys_differ(plan: Plan) -> str | None:
    """Return the reason why keys may close the same window at different times; None if all keys close it together."""
    if plan.forget_keys_after is not None:
        return "keys are forgotten, so where a window ends depends on all events of its key"
    if plan.input.progress.by_key:
        return "keys may punctuate themselves, so each closes windows of its own"
    late = plan.input.late
    if late.policy in (LatePolicy.ADJUST, LatePolicy.CORRECT):
        return f"late_policy={plan.words.spell_late(late)} takes late rows in"
    return None
