"""Abilities of modules, by what they declare: whether a state may slide, replace rows, or has to wait for ends."""

from __future__ import annotations

from collections.abc import Iterable

from muntin import ClipPolicy, Module, TimestampPolicy
from muntin.rows import RowWindows


def waits_for_ends(
    modules: Iterable[Module], clip: ClipPolicy, timestamps: TimestampPolicy, *, event_ends_move: bool
) -> bool:
    """Say whether the result of a window depends on ends of events that lie after the window and may still move.

    With time-bound results it does not, as the result at each tick depends only on the input up to that tick.

    Args:
        modules: The modules of the query.
        clip: The policy that clips lifetimes to the window; a lifetime that is clipped on the right shows no later end.
        timestamps: The policy for the lifetimes of results.
        event_ends_move: True if revisions move ends of events.
    """
    sees_later_ends = event_ends_move and not clip.clips_right and timestamps is not TimestampPolicy.TIME_BOUND
    return sees_later_ends and any(module.reads_times for module in modules)


def may_slide(module: Module, *, only_grows: bool = False) -> bool:
    """Say whether the state of a module may be carried from a window to the next one, as events enter and leave.

    Args:
        module: The module.
        only_grows: True if windows only grow, so that no event leaves and the module need not remove events.
    """
    keeps_a_state = module.is_incremental and not module.is_time_sensitive and not module.reads_order
    return keeps_a_state and (only_grows or hasattr(module, "remove_events"))


def states_replace_rows(windows: RowWindows, modules: Iterable[Module]) -> bool:
    """Say whether states of modules can be stored in the place of rows, in windows that follow rows.

    Args:
        windows: The windows.
        modules: The modules of the query.
    """
    keep_states = all(module.is_incremental and not module.is_time_sensitive for module in modules)
    # Rows that leave one by one are needed to remove them from a state; rows that all leave at once are not.
    return windows.leaves_at_once and keep_states
