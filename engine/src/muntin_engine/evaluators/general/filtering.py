"""Events that a filter leaves out.

A row of punctuation or of a revision has no payload, so a filter cannot test it: it tests insertions alone. An event
that it leaves out is admitted as any other, so that its revisions find it, and is a member of no window. It is kept
until it cannot be revised any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from muntin_engine.core.changes import InputChange, Rejection
from muntin_engine.evaluators.general.admission import Admission
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState


class Filter:
    """The filter of a query.

    Cost: a look at each event that a batch touches.
    """

    def __init__(self, keeps: Callable[[object], bool]) -> None:
        """Make a filter of what says whether a payload is kept."""
        self._keeps = keeps

    def leave_out(self, state: KeyState, admission: Admission) -> None:
        """Take the events out of an admission that are left out, and put them into the state as such."""
        gone: list[StoredEvent] = []
        new = [event.filtered() for event in admission.inserted if not self._keeps(event.payload)]
        admission.inserted = [event for event in admission.inserted if self._keeps(event.payload)]
        for name, (before, after) in list(admission.touched.items()):
            left = after if after is None or self._keeps(after.payload) else after.filtered()
            if (before is None or before.is_filtered) and (left is None or left.is_filtered):
                gone += [] if before is None else [before]
                new += [] if left is None else [left]
                del admission.touched[name]
            elif left is not None:
                admission.touched[name] = (before, left)
        if gone or new:
            state.replace(gone, new)

    def count(self, changes: Iterable[InputChange]) -> int:
        """Return the number of rows that are insertions which the filter leaves out."""
        return sum(map(self._is_left_out, changes))

    def shown(self, rejections: Iterable[Rejection]) -> list[Rejection]:
        """Return rejections without those of insertions that are left out anyway."""
        return [rejection for rejection in rejections if not self._is_left_out(rejection.change)]

    def _is_left_out(self, change: InputChange) -> bool:
        return change.new_end is None and not self._keeps(change.payload)
