"""What may be computed with modules, by what they declare: their states slide, replace rows, or wait for ends."""

from __future__ import annotations

from collections.abc import Iterable

from muntin import ClipPolicy, Module, TimestampPolicy
from muntin.rows import RowWindows


def waits_for_ends(
    modules: Iterable[Module], clip: ClipPolicy, timestamps: TimestampPolicy, *, event_ends_move: bool
) -> bool:
    """Return True if a window's result depends on ends that lie after it and may still move.

    It does not where the result at each tick of a window comes from the input up to that tick.
    """
    sees_later_ends = event_ends_move and not clip.clips_right and timestamps is not TimestampPolicy.TIME_BOUND
    return sees_later_ends and any(module.reads_times for module in modules)


def may_slide(module: Module, *, only_grows: bool = False) -> bool:
    """Return True if a module's state may go on from a window to the next one, as events come and go.

    Where windows only grow, none goes.
    """
    keeps_a_state = module.is_incremental and not module.is_time_sensitive and not module.reads_order
    return keeps_a_state and (only_grows or hasattr(module, "remove_events"))


def states_replace_rows(windows: RowWindows, modules: Iterable[Module]) -> bool:
    """Return True if states of modules take the place of rows in windows that follow rows."""
    keep_states = all(module.is_incremental and not module.is_time_sensitive for module in modules)
    return windows.leaves_at_once and keep_states  # rows that leave one by one would have to be taken from a state
