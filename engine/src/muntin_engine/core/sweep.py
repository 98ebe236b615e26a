"""Going through windows in order while their members come and go."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from muntin import Window
from muntin_engine.core.computation import Computation
from muntin_engine.core.event_index import StoredEvent


@dataclass(frozen=True, slots=True)
class Step:
    """One window of a sweep.

    Attributes:
        window: The window.
        members: All its members, by id.
        entered: Those the previous window did not have.
        left: Members of the previous window that this one has not.
    """

    window: Window
    members: dict[Hashable, StoredEvent]
    entered: list[StoredEvent]
    left: list[StoredEvent]


def sweep(windows: Iterable[Window], events: Iterable[StoredEvent]) -> Iterator[Step]:
    """Yield the windows that have members, with their members.

    Args:
        windows: Ordered by start and by end.
        events: All that may be members, in any order.

    Cost:
        Each event enters once and leaves once, whatever the overlap of windows; the members of a window are not
        copied.
    """
    waiting = sorted((event for event in events if event.since < event.until), key=_since)
    members: dict[Hashable, StoredEvent] = {}
    leaving: list[tuple[int, int, StoredEvent]] = []
    place = 0
    for window in windows:
        entered: list[StoredEvent] = []
        while place < len(waiting) and waiting[place].since < window.end:
            event = waiting[place]
            if event.until > window.start:
                entered.append(event)
                members[event.id] = event
                heapq.heappush(leaving, (event.until, place, event))
            place += 1
        left: list[StoredEvent] = []
        while leaving and leaving[0][0] <= window.start:
            event = heapq.heappop(leaving)[2]
            left.append(members.pop(event.id))
        if members or left:
            yield Step(window, members, entered, left)


class Slide:
    """The results of one module along a sweep, from whatever is cheapest for it.

    A state that does not depend on the window slides: what left is removed, what entered is added. Otherwise, and
    where more left than stayed, it is built anew from the members.
    """

    def __init__(self, computation: Computation, key: object) -> None:
        self._computation = computation
        self._key = key
        self._state: Any = None

    def result(self, step: Step) -> Any:
        """Return the module's result for a step that has members."""
        if not self._computation.can_slide:
            return self._computation.result_of_members(step.members.values(), self._key, step.window)
        if self._state is None or len(step.left) > len(step.members):
            self._state = self._computation.build(step.members.values(), self._key, step.window)
        else:
            kept = self._computation.remove(self._state, step.left, self._key, step.window)
            self._state = self._computation.add(kept, step.entered, self._key, step.window)
        return self._computation.result_of_state(self._state, self._key, step.window)

    def skip(self) -> None:
        """Pass a window without members."""
        self._state = None


def _since(event: StoredEvent) -> int:
    return event.since
