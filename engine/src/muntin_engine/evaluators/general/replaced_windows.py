"""Windows that no longer exist, and the new windows that take over the states of their triggers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import NamedTuple

from muntin import Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_index import TriggerState, WindowEntry
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.sweep import SweptWindow


class ReplacedWindow(NamedTuple):
    """A window that no longer exists, and whose trigger state another one may take over.

    Attributes:
        window: The window.
        entry: Its entry before the batch.
        trigger_state: The state of its trigger.
        members: Its members before the batch, by their ids.
    """

    window: Window
    entry: WindowEntry
    trigger_state: TriggerState
    members: Mapping[Hashable, StoredEvent]

    @classmethod
    def of(cls, state: KeyState, window: Window, entry: WindowEntry, change: Affected) -> ReplacedWindow:
        """Describe a window that no longer exists, by the present events of the key and the changes of the batch."""
        assert entry.trigger_state is not None, "each window with members has one"
        # The members before the batch. Those that changed come from the change, as they were before it; all others are
        # present members that did not change.
        added_ids = {event.id for event in change.added}
        members = {event.id: event for event in change.removed}
        for event in state.events.overlapping(window.start, window.end):
            if event.is_member and event.id not in added_ids:
                members[event.id] = event
        return cls(window, entry, entry.trigger_state, members)

    def is_unchanged_in(self, step: SweptWindow) -> bool:
        """Return True if a new window has the same extent and members: another life of the key has the window now."""
        return self.window == step.window and self.members == step.members


def predecessors(
    step: SweptWindow, replaced: Sequence[ReplacedWindow], is_member: Callable[[Hashable], bool]
) -> list[ReplacedWindow]:
    """Return the windows whose trigger states a new window takes over, in order.

    The main one is the window with which the new window shares the most members; of several, the one that starts
    nearest. So each part of a snapshot that was cut takes over the state of the whole snapshot, and a snapshot of
    several parts takes over the state of the first. The new window takes over the states of further windows if it has
    all their present members, such as sessions that it was fused of. A window that shares members with one taken over
    before is left out: its members would count twice.

    Args:
        step: The new window, with its members.
        replaced: The windows that no longer exist.
        is_member: Returns True for the id of an event that is still a member of windows.
    """
    new_members = step.members.keys()
    shared_members: dict[int, Set[Hashable]] = {}  # by the place of the replaced window
    for place, replaced_window in enumerate(replaced):
        common_ids = new_members & replaced_window.members.keys()
        if common_ids:
            shared_members[place] = common_ids

    def rank(place: int) -> tuple[int, int, int]:
        """Return a sort key: the most shared members first, then the nearest start."""
        distance = abs(replaced[place].window.start - step.window.start)
        return -len(shared_members[place]), distance, place

    predecessor_places: list[int] = []
    inherited_members: set[Hashable] = set()
    for place in sorted(shared_members, key=rank):
        members_elsewhere = filter(is_member, replaced[place].members.keys() - new_members)
        has_all_members = next(members_elsewhere, None) is None
        counts_twice = bool(shared_members[place] & inherited_members)
        is_first = not predecessor_places
        if is_first or (has_all_members and not counts_twice):
            predecessor_places.append(place)
            inherited_members |= shared_members[place]
    return [replaced[place] for place in sorted(predecessor_places)]
