"""Sweep over windows in order: each with its members, and with the events that entered and left since the last one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from muntin import Window
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_id, by_since, by_until


class SweptWindow(NamedTuple):
    """One window of a sweep.

    Attributes:
        window: The window.
        members: All its members, by id. The next step changes it.
        entered: The members that the previous window did not have.
        departed: The members of the previous window that this one does not have.
    """

    window: Window
    members: dict[Hashable, StoredEvent]
    entered: list[StoredEvent]
    departed: list[StoredEvent]


def sweep(windows: Iterable[Window], leaving: Sequence[StoredEvent]) -> Iterator[SweptWindow]:
    """Yield windows in order, each with its members.

    A window without members is left out, unless the window before it has some, which then depart.

    Args:
        windows: The windows, ordered by start and by end.
        leaving: The members of all windows, in order of the ends of their memberships.

    Cost:
        Sorting the members by start; then each enters once and leaves once, however much the windows overlap. The
        members of a window are not copied.
    """
    # Windows start and end later and later: so members enter in order of start, and leave in order of end.
    entering = sorted(leaving, key=by_since)
    members: dict[Hashable, StoredEvent] = {}
    entered_count = 0
    departed_count = 0
    for window in windows:
        start = window.start
        end = window.end
        first_entering = entered_count
        entered_count = bisect_left(entering, end, first_entering, key=by_since)
        entered = [event for event in entering[first_entering:entered_count] if event.until > start]
        members.update(zip(map(by_id, entered), entered, strict=True))

        first_leaving = departed_count
        departed_count = bisect_right(leaving, start, first_leaving, key=by_until)
        departed: list[StoredEvent] = []
        for event in leaving[first_leaving:departed_count]:
            # An event that lies between two windows was a member of neither.
            was_member = members.pop(event.id, None) is not None
            if was_member:
                departed.append(event)
        if members or departed:
            yield SweptWindow(window, members, entered, departed)
