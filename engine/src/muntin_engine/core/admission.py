"""Taking the changes of one micro-batch into an event index, in whatever order they came.

Inside a batch order means nothing: insertions are taken before revisions, and the revisions of one event are
chained by the end they expect. A revision that comes before its event is parked until the event arrives or
legally cannot arrive any more. What cannot be taken is refused with a reason; nothing disappears.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias

from muntin import INFINITY
from muntin_engine.core.changes import InputChange, Reason, Refusal
from muntin_engine.core.event_index import StoredEvent
from muntin_engine.core.key_state import KeyState

Touched: TypeAlias = dict[Hashable, tuple[StoredEvent | None, StoredEvent | None]]
"""What became of the events of a batch: by id, the event before and after. None: it did not, or does not, exist."""


class Admission:
    """Admits the changes of one batch for one key.

    Attributes:
        touched: What changed, net: an event revised twice in a batch appears once.
        refusals: What was set aside.
    """

    def __init__(self, state: KeyState, punctuation: int, *, is_edge: bool) -> None:
        """Prepare to admit changes.

        Args:
            state: The key's state; `settle` changes it.
            punctuation: The punctuation of the batches before this one; what lies before it is late.
            is_edge: Whether events are samples that last until the next.
        """
        self.touched: Touched = {}
        self.refusals: list[Refusal] = []
        self._state = state
        self._punctuation = punctuation
        self._is_edge = is_edge

    def admit(self, changes: Iterable[InputChange]) -> None:
        """Take the changes of the batch; the index itself stays as it is until `settle`."""
        revisions: dict[Hashable, list[InputChange]] = {}
        inserted: list[InputChange] = []
        for change in changes:
            if change.new_end is None:
                inserted.append(change)
            else:
                revisions.setdefault(change.id, []).append(change)
        insert = self._insert_sample if self._is_edge else self._insert
        for change in inserted:
            insert(change)
        parked = self._state.parked
        for id in [id for id in parked if id in self.touched or id in revisions]:
            revisions[id] = parked.pop(id) + revisions.get(id, [])
        for id, chain in revisions.items():
            self._revise(id, chain)

    def expire_parked(self, punctuation: int) -> None:
        """Refuse the parked revisions whose event cannot come any more."""
        for id, chain in list(self._state.parked.items()):
            if chain[0].start < punctuation or punctuation == INFINITY:
                del self._state.parked[id]
                for change in chain:
                    self._refuse(Reason.UNKNOWN_EVENT, f"no event {id!r} was ever inserted at {change.start}", change)

    def settle(self) -> None:
        """Bring the index and the windows up to date with what was admitted."""
        added = []
        for before, after in self.touched.values():
            if before is not None:
                self._state.events.remove(before)
                self._state.windows.assigner.remove(before)
            if after is not None:
                added.append(after)
                self._state.windows.assigner.add(after)
        self._state.events.add_all(added)

    def _insert(self, change: InputChange) -> None:
        end = change.end if change.end is not None else INFINITY
        if end <= change.start:
            self._refuse(Reason.EMPTY_LIFETIME, f"it ends at {end}, not after its start {change.start}", change)
        elif change.start < self._punctuation:
            self._refuse_late(change, change.start)
        elif change.id is not None and self._current(change.id) is not None:
            self._refuse(Reason.DUPLICATE_ID, f"an event {change.id!r} is alive: {self._current(change.id)}", change)
        else:
            id = change.id if change.id is not None else self._state.next_serial()
            self._put(id, self._stored(id, change.start, end, change.payload))

    def _insert_sample(self, change: InputChange) -> None:
        """Insert a sample between its neighbours: it ends the one before and is ended by the one after (SI-16)."""
        if change.start < self._punctuation:
            self._refuse_late(change, change.start)
            return
        before, after = self._state.samples.around(change.start)
        if before is not None and before[0] == change.start:
            self._refuse(Reason.DUPLICATE_ID, f"a sample at {change.start} was taken already", change)
            return
        id = self._state.next_serial()
        self._state.samples.add(change.start, id)
        self._put(id, self._stored(id, change.start, INFINITY if after is None else after[0], change.payload))
        event = self._current(before[1]) if before is not None else None
        if event is not None:
            self._put(event.id, self._stored(event.id, event.start, change.start, event.payload))

    def _revise(self, id: Hashable, chain: list[InputChange]) -> None:
        waiting = chain
        while waiting:
            event = self._current(id)
            if event is None:
                self._park(id, waiting)
                return
            fitting = next((change for change in waiting if change.end in (None, event.end)), None)
            if fitting is None:
                for change in waiting:
                    message = f"it expects event {id!r} to end at {change.end}, but the event ends at {event.end}"
                    self._refuse(Reason.STALE_REVISION, message, change)
                return
            waiting = [change for change in waiting if change is not fitting]
            self._revise_once(event, fitting)

    def _revise_once(self, event: StoredEvent, change: InputChange) -> None:
        new_end = change.new_end if change.new_end is not None else event.end
        sync_time = min(event.end, new_end)
        if new_end < event.start:
            message = f"event {event.id!r} starts at {event.start} and cannot end at {new_end}"
            self._refuse(Reason.EMPTY_LIFETIME, message, change)
        elif sync_time < self._punctuation:
            self._refuse_late(change, sync_time)
        elif new_end == event.start:
            self._put(event.id, None)
        elif new_end != event.end:
            self._put(event.id, self._stored(event.id, event.start, new_end, event.payload))

    def _park(self, id: Hashable, chain: list[InputChange]) -> None:
        for change in chain:
            sync_time = min(end for end in (change.end, change.new_end) if end is not None)
            if change.start >= self._punctuation:
                self._state.parked.setdefault(id, []).append(change)
            elif sync_time < self._punctuation:
                self._refuse_late(change, sync_time)
            else:
                self._refuse(Reason.UNKNOWN_EVENT, f"no event {id!r} that started at {change.start} is alive", change)

    def _current(self, id: Hashable) -> StoredEvent | None:
        return self.touched[id][1] if id in self.touched else self._state.events.get(id)

    def _put(self, id: Hashable, event: StoredEvent | None) -> None:
        before = self.touched[id][0] if id in self.touched else self._state.events.get(id)
        if before is None and event is None:
            self.touched.pop(id, None)
        else:
            self.touched[id] = (before, event)

    def _stored(self, id: Hashable, start: int, end: int, payload: tuple[object, ...]) -> StoredEvent:
        since, until = self._state.windows.assigner.membership(start, end)
        return StoredEvent(id, start, end, payload, since, until)

    def _refuse(self, reason: Reason, message: str, change: InputChange) -> None:
        self.refusals.append(Refusal(reason, message, change))

    def _refuse_late(self, change: InputChange, sync_time: int) -> None:
        late = self._punctuation - sync_time
        message = f"it changes the axis at {sync_time}, {late} before the punctuation {self._punctuation}"
        self._refuse(Reason.LATE, message, change)

