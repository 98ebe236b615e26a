"""The windows at whose ends alone the output of a query changes; or why it may change elsewhere, or key by key.

On such windows rows are merged before the shuffle, and evaluators on arrays work: `choosing_array_parts` asks here too.
"""

from __future__ import annotations

from muntin import EmitPolicy, LatePolicy
from muntin.windows import WindowSpecification
from muntin.windows.regular import RegularWindows
from muntin_engine.plan.plan import Plan


def steps_of(plan: Plan) -> tuple[RegularWindows, ...]:
    """Return the windows at whose ends alone output changes, so that progress need not be known any finer.

    A row is then late if a window that it belongs to, or one before it, is complete; not if it merely lies behind
    the watermark. Empty if output may change elsewhere, and with several inputs: their rows meet at any tick.
    """
    if len(plan.inputs) > 1 or why_no_grid(plan) is not None or _why_no_lifting(plan) is not None:
        return ()
    steps = []
    for window in plan.windows:
        regular = window.grid() or window.growing()
        if regular is not None:
            steps.append(regular)
    return tuple(steps)


def why_no_grid(plan: Plan) -> str | None:
    """Return why windows are not regular ones, with the events that overlap them; None if they are."""
    for window in plan.windows:
        if window.waits_for_events:
            return f"{plan.words.spell_window(window)} is cut by each key's own events"
        if 0 < window.reach <= window.holds_past:
            return "events are members of windows that they do not overlap, by the window's reach"
        if window.grid() is None:
            why_not = _why_not_growing(plan, window)
            if why_not is not None:
                return f"{plan.words.spell_window(window)} {why_not}"
    return None


def _why_not_growing(plan: Plan, window: WindowSpecification) -> str | None:
    """Return why windows are not made by carrying one running state; None if they are."""
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
    """Return why rows may not be made partial states where they are, whatever the windows; None if they may."""
    if plan.early is None and plan.emit is not EmitPolicy.FINAL:
        return why_results_change(plan)
    return why_keys_differ(plan) or why_ends_move(plan)


def why_results_change(plan: Plan) -> str:
    """Return why output is corrected, where results are not final."""
    return f"emit={str(plan.emit)!r} emits results that may change"


def why_ends_move(plan: Plan) -> str | None:
    """Return why events may end elsewhere than their rows say; None if they do not."""
    if plan.input.columns.id is not None:
        return "events have ids, so they may be revised"
    return "samples last until the next one of their key" if plan.input.has_samples else None


def why_keys_differ(plan: Plan) -> str | None:
    """Return why windows of different keys close at different times; None if they close together."""
    if plan.forget_keys_after is not None:
        return "keys are forgotten, so where a window ends depends on all events of its key"
    if plan.input.progress.by_key:
        return "keys may punctuate themselves, so each closes windows of its own"
    late = plan.input.late
    if late.policy in (LatePolicy.ADJUST, LatePolicy.CORRECT):
        return f"late_policy={plan.words.spell_late(late)} takes late rows in"
    return None
