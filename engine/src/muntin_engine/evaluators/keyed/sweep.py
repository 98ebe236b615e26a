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
    """Yield windows in order, each with its members, unless neither it nor the window before it has any.

    Args:
        windows: Ordered by start and by end.
        leaving: The members, in order of the ends of their memberships.

    Cost:
        Sorting the members by start; then each enters once and leaves once, however much the windows overlap. The
        members of a window are not copied.
    """
    entering = sorted(leaving, key=by_since)
    members: dict[Hashable, StoredEvent] = {}
    entered_count = 0
    departed_count = 0
    for window in windows:
        start = window.start
        end = window.end
        place = bisect_left(entering, end, entered_count, key=by_since)
        entered = [event for event in entering[entered_count:place] if event.until > start]
        members.update(zip(map(by_id, entered), entered, strict=True))
        entered_count = place

        place = bisect_right(leaving, start, departed_count, key=by_until)
        departed: list[StoredEvent] = []
        for event in leaving[departed_count:place]:
            was_member = members.pop(event.id, None) is not None  # others have ended between two windows
            if was_member:
                departed.append(event)
        departed_count = place
        if members or departed:
            yield SweptWindow(window, members, entered, departed)
