"""Taking the changes of one micro-batch into an event index, in whatever order they came.

Inside a batch order means nothing: insertions are taken before revisions, and the revisions of one event are
chained by the end they expect. A revision that comes before its event is parked until the event arrives or
legally cannot arrive any more. What cannot be taken is refused with a reason; nothing disappears.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

from muntin import INFINITY, Axis
from muntin_engine.core.chains import in_order
from muntin_engine.core.changes import InputChange, Reason, Refusal
from muntin_engine.core.event_index import StoredEvent
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.samples import Neighbour, Samples

Versions: TypeAlias = tuple[StoredEvent | None, StoredEvent | None]
"""An event before a batch and after it. None: it did not, or does not, exist."""


class Admission:
    """Admits the changes of one batch for one key.

    Cost: constant time for each change, logarithmic for a sample, linear for the chain of an event's revisions.

    Attributes:
        touched: What changed, by id and net: an event revised twice in a batch appears once.
        refusals: What was set aside.
    """

    def __init__(self, state: KeyState, punctuation: int, *, axis: Axis = Axis.TICKS, adjusts: bool = False) -> None:
        """Prepare to admit changes.

        Args:
            state: The key's state; `settle` changes it.
            punctuation: The punctuation of the batches before this one; what lies before it is late.
            axis: What ticks measure, for what refusals say.
            adjusts: Let a late insertion that ends after the punctuation start there (SI-91).
        """
        self.touched: dict[Hashable, Versions] = {}
        self.refusals: list[Refusal] = []
        self._state = state
        self._punctuation = punctuation
        self._is_closed = punctuation == INFINITY
        self._adjusts = adjusts
        self._axis = axis

    def admit(self, changes: Iterable[InputChange]) -> None:
        """Take the changes of the batch; the index itself stays as it is until `settle`."""
        revisions: dict[Hashable, list[InputChange]] = {}
        samples = self._state.samples
        for change in changes:
            if samples is not None:
                self._take_sample(change, samples)
            elif change.new_end is not None:
                revisions.setdefault(change.id, []).append(change)
            else:
                self._insert(change)
        parked = self._state.parked
        for id in [id for id in self.touched if id in parked] if parked else ():
            revisions.setdefault(id, [])
        for id, waiting in revisions.items():
            self._revise(id, parked.pop(id, []) + waiting)

    def expire_parked(self, punctuation: int) -> None:
        """Refuse the parked revisions whose event cannot come any more."""
        for id, waiting in list(self._state.parked.items()):
            expired = [change for change in waiting if change.start < punctuation or punctuation == INFINITY]
            for change in expired:
                message = f"no event {id!r} was ever inserted at {self._axis.spell(change.start)}"
                self._refuse(Reason.UNKNOWN_EVENT, message, change)
            if len(expired) == len(waiting):
                del self._state.parked[id]
            elif expired:
                self._state.parked[id] = [change for change in waiting if change not in expired]

    def settle(self) -> None:
        """Bring the index and the windows up to date with what was admitted."""
        gone = [before for before, _ in self.touched.values() if before is not None]
        new = [after for _, after in self.touched.values() if after is not None]
        self._state.replace(gone, new)

    def _insert(self, change: InputChange) -> None:
        id, start, end, payload, *_ = change
        if end is None:
            end = INFINITY
        if self._adjusts and start < self._punctuation < end:
            start = self._punctuation
        if end <= start:
            message = f"it ends at {self._axis.spell(end)}, not after its start {self._axis.spell(start)}"
            self._refuse(Reason.EMPTY_LIFETIME, message, change)
        elif start < self._punctuation:
            self._refuse_late(change, start)
        elif id is None:
            self._put_new(self._state.anonymous_id(), start, end, payload)
        elif (alive := self._current(id)) is not None:
            message = f"an event {id!r} is alive, {self._axis.spell_interval(alive.start, alive.end)}"
            self._refuse(Reason.DUPLICATE_ID, message, change)
        else:
            self._put_new(id, start, end, payload)

    def _take_sample(self, change: InputChange, samples: Samples) -> None:
        before, after = samples.around(change.start)
        if change.new_end is not None:
            self._refuse(Reason.UNKNOWN_EVENT, "a sample ends with the next one and cannot be revised", change)
        elif change.start < self._punctuation:
            self._refuse_late(change, change.start)
        elif before is not None and before[0] == change.start:
            message = f"a sample at {self._axis.spell(change.start)} was taken already"
            self._refuse(Reason.DUPLICATE_ID, message, change)
        else:
            self._insert_sample(change, samples, before, after)

    def _insert_sample(
        self, change: InputChange, samples: Samples, before: Neighbour | None, after: Neighbour | None
    ) -> None:
        """Insert a sample between its neighbours: it ends the one before and is ended by the one after (SI-16)."""
        id = self._state.anonymous_id()
        samples.add(change.start, id)
        self._put_new(id, change.start, INFINITY if after is None else after[0], change.payload)
        event = self._current(before[1]) if before is not None else None
        if event is not None:
            self._put(event, change.start)

    def _revise(self, id: Hashable, revisions: Sequence[InputChange]) -> None:
        event = self._current(id)
        ordered = revisions if event is None else in_order(revisions, event.end)
        for change in ordered:
            event = self._current(id)
            if event is None:
                self._park(id, change)
            elif change.end not in (None, event.end):
                message = (
                    f"it expects event {id!r} to end at {self._axis.spell(change.end)}, "
                    f"but the event ends at {self._axis.spell(event.end)}"
                )
                self._refuse(Reason.STALE_REVISION, message, change)
            else:
                self._revise_once(event, change, self._new_end(event, change))

    def _new_end(self, event: StoredEvent, change: InputChange) -> int:
        """Return the new end of an event; of an adjusted one nothing is left if it ends before its new start."""
        new_end = INFINITY if change.new_end is None else change.new_end
        return max(new_end, event.start) if self._adjusts and change.start < event.start else new_end

    def _revise_once(self, event: StoredEvent, change: InputChange, new_end: int) -> None:
        sync_time, spell = min(event.end, new_end), self._axis.spell
        if new_end < event.start:
            message = f"event {event.id!r} starts at {spell(event.start)} and cannot end at {spell(new_end)}"
            self._refuse(Reason.EMPTY_LIFETIME, message, change)
        elif sync_time < self._punctuation:
            self._refuse_late(change, sync_time)
        elif new_end != event.end:
            self._put(event, new_end)

    def _park(self, id: Hashable, change: InputChange) -> None:
        sync_time = min(end for end in (change.end, change.new_end) if end is not None)
        if id is not None and change.start >= self._punctuation:
            self._state.parked.setdefault(id, []).append(change)
        elif sync_time < self._punctuation:
            self._refuse_late(change, sync_time)
        else:
            message = f"no event {id!r} that started at {self._axis.spell(change.start)} is alive"
            self._refuse(Reason.UNKNOWN_EVENT, message, change)

    def _current(self, id: Hashable) -> StoredEvent | None:
        return self.touched[id][1] if id in self.touched else self._state.events.get(id)

    def _put_new(self, id: Hashable, start: int, end: int, payload: tuple[object, ...]) -> None:
        event = StoredEvent(id, start, end, payload, *self._state.assigner.membership(start, end))
        self.touched[id] = (None, event)

    def _put(self, event: StoredEvent, new_end: int) -> None:
        """Give an event a new end; one equal to its start deletes it."""
        before = self.touched[event.id][0] if event.id in self.touched else event
        if new_end == (event.start if before is None else before.end):
            del self.touched[event.id]
        elif new_end == event.start:
            self.touched[event.id] = (before, None)
        else:
            since, until = self._state.assigner.membership(event.start, new_end)
            self.touched[event.id] = (before, event._replace(end=new_end, since=since, until=until))

    def _refuse(self, reason: Reason, message: str, change: InputChange) -> None:
        self.refusals.append(Refusal(reason, message, change))

    def _refuse_late(self, change: InputChange, sync_time: int) -> None:
        late_by = None if self._is_closed else self._punctuation - sync_time
        message = f"it changes the axis at {self._axis.spell(sync_time)}, {self._behind(late_by)}"
        self.refusals.append(Refusal(Reason.LATE, message, change, late_by))

    def _behind(self, late_by: int | None) -> str:
        if late_by is None:
            return "after the end of the stream"
        return f"{self._axis.spell_length(late_by)} before the punctuation {self._axis.spell(self._punctuation)}"
