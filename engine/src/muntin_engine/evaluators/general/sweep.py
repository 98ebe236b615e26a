"""Going through windows in order while their members come and go."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from muntin import Window
from muntin_engine.evaluators.general.computation import ModuleComputation
from muntin_engine.evaluators.general.event_index import StoredEvent, by_since, by_until

_by_id: Final = itemgetter(0)
"""The id of an event."""


class SweptWindow(NamedTuple):
    """One window of a sweep.

    Attributes:
        window: The window.
        members: All its members, by id. The next step changes it.
        entered: Those the previous window did not have.
        left: Members of the previous window that this one has not.
    """

    window: Window
    members: dict[Hashable, StoredEvent]
    entered: list[StoredEvent]
    left: list[StoredEvent]


def sweep(windows: Iterable[Window], events: Iterable[StoredEvent]) -> Iterator[SweptWindow]:
    """Yield the windows that have members, or had some just before, with their members.

    Args:
        windows: Ordered by start and by end.
        events: All that may be members, in any order.

    Cost:
        Sorting the events; then each enters once and leaves once, whatever the overlap of windows. The members of a
        window are not copied.
    """
    entering = sorted([event for event in events if event.since < event.until], key=by_since)
    leaving = sorted(entering, key=by_until)
    members: dict[Hashable, StoredEvent] = {}
    came = went = 0
    for window in windows:
        start, end = window.start, window.end
        place = bisect_left(entering, end, came, key=by_since)
        entered = [event for event in entering[came:place] if event.until > start]
        members.update(zip(map(_by_id, entered), entered, strict=True))
        came, place = place, bisect_right(leaving, start, went, key=by_until)
        left = [members.pop(event.id) for event in leaving[went:place] if event.id in members]
        went = place
        if members or left:
            yield SweptWindow(window, members, entered, left)


class Slide:
    """The results of one module along a sweep, from whatever is cheapest for it.

    A state that does not depend on the window slides: what left is removed, what entered is added. Otherwise, and
    where more left than stayed, it is built anew from the members.
    """

    def __init__(self, computation: ModuleComputation, key: object) -> None:
        self._computation = computation
        self._key = key
        self._state: Any = None
        self._is_at_step = False

    def result(self, step: SweptWindow) -> Any:
        """Return the module's result for a step that has members."""
        if not self._computation.can_slide:
            return self._computation.result_of_members(step.members.values(), self._key, step.window)
        if not self._is_at_step or len(step.left) > len(step.members):
            self._state = self._computation.build(step.members.values(), self._key, step.window)
        else:
            kept = self._computation.remove(self._state, step.left, self._key, step.window)
            self._state = self._computation.add(kept, step.entered, self._key, step.window)
        self._is_at_step = True
        return self._computation.result_of_state(self._state, self._key, step.window)

    def skip(self) -> None:
        """Pass a step whose members it does not need; the next one starts anew."""
        self._state, self._is_at_step = None, False
