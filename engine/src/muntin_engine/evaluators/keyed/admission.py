"""Admit the changes of one micro-batch to an event index, in whatever order they came.

An event is identified by its key, its id and its start. Rows are grouped by event and chained, whatever their order
(see `row_chain`). A row that does not connect to the others waits until the missing rows would be late. A row that
cannot be applied is rejected with a reason; no row is lost.

A filter tests insertions alone, because rows of punctuation and revisions have no payload. An event that it leaves out
is admitted, and kept as long as it can be revised, so that its revisions find it; but it is never a member of a window.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from muntin import INFINITY, Axis
from muntin.axis import AnyAxis
from muntin.schemas.value_order import comes_after
from muntin_engine.evaluators.keyed.event_index import StoredEvent, stored_event
from muntin_engine.evaluators.keyed.key_events import Identity, KeyEvents, Samples
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows, chain_rows, sync_time
from muntin_engine.time.changes import InputChange, Reason, Rejection

_NOTHING: Final = PendingRows()


Versions: TypeAlias = tuple[StoredEvent | None, StoredEvent | None]
"""An event before a batch and after it. None: it did not, or does not, exist."""


class NetChanges:
    """The net changes of some events.

    Attributes:
        inserted: New events that no other row can be about.
        touched: The other net changes by event: an event revised twice in a batch appears once.
        recut: The stretch of the axis in which windows are cut elsewhere than before; None if they are not.
    """

    recut: tuple[int, int] | None = None

    def __init__(self, state: KeyEvents) -> None:
        self.inserted: list[StoredEvent] = []
        self.touched: dict[Hashable, Versions] = {}
        self._state = state

    def apply(self) -> None:
        """Bring the index and the windows up to date."""
        gone, new = list[StoredEvent](), self.inserted
        if touched := self.touched.values():
            gone = [before for before, _ in touched if before is not None]
            new = new + [after for _, after in touched if after is not None]
        if gone or new:
            self._state.replace(gone, new)


class Admission(NetChanges):
    """Admits the changes of one batch for one key.

    Cost: constant time for each change, logarithmic for a sample; linear in the rows of the batch and the waiting ones
    for an event that has several. Insertions that no other row can be about are taken all at once.

    Attributes:
        rejections: The late and rejected rows.
    """

    def __init__(
        self,
        state: KeyEvents,
        watermark: int,
        watermark_to_the_tick: int | None = None,
        *,
        axis: AnyAxis = Axis.TICKS,
        adjusts: bool = False,
    ) -> None:
        """Prepare to admit changes.

        Args:
            state: The key's state; `apply` changes it.
            watermark: The watermark of the batches before this one, after allowed lateness and in steps; a row with a
                sync time before it is late.
            watermark_to_the_tick: The watermark of these batches as it is, of which a late row says how far it is
                behind; by default the same.
            axis: The axis, for the messages of rejections.
            adjusts: Let a late insertion that ends after the watermark start there.
        """
        super().__init__(state)
        self.rejections: list[Rejection] = []
        self._watermark = watermark
        self._watermark_to_the_tick = watermark if watermark_to_the_tick is None else watermark_to_the_tick
        self._adjusts = adjusts
        self._axis = axis

    def admit(self, changes: Sequence[InputChange], now: int) -> None:
        """Admit the changes of the batch; the index itself stays as it is until `apply`.

        Args:
            changes: In any order.
            now: The watermark after the batch, by which rows stop waiting.
        """
        samples, known = self._state.samples, self._state.pending
        rest = self._insert_plain(changes) if samples is None else changes
        if not rest and not known:
            return
        fresh: dict[Identity, InputChange] = {}
        others: dict[Identity, list[InputChange]] = {}
        for change in rest:
            if samples is not None:
                self._take_sample(change, samples)
            elif change.new_end is not None:
                self._gather(change, others)
            else:
                self._insert(change, fresh, others)
        for identity, rows in others.items():
            if identity in known or len(rows) > 1 or not self._revise(identity, rows[0]):
                if identity in fresh:
                    rows.append(fresh[identity])
                    del self.touched[identity]
                self._follow(identity, rows, now)
        if known:
            for identity in [identity for identity in known if identity not in others]:
                self._follow(identity, [], now)

    def _insert_plain(self, changes: Sequence[InputChange]) -> Sequence[InputChange]:
        """Admit the valid insertions that no other row can be about, all at once; return the other rows."""
        least, state = self._watermark, self._state
        plain = [
            change
            for change in changes
            if change[4] is None and change[2] is not None and least <= change[1] < change[2]
        ]
        ids: Sequence[Hashable] = [(change[0], change[1]) for change in plain if change[0] is not None]
        if ids:
            are_new = len(ids) == len(changes) == len(set(ids)) and not any(map(state.event, ids))
            if not (are_new and state.pending.keys().isdisjoint(ids)):
                ids, plain = (), [change for change in plain if change[0] is None]
        if not plain:
            return changes
        _, starts, ends, payloads, *_ = zip(*plain, strict=True)
        memberships = state.memberships(starts, ends)
        ids = ids or state.anonymous_ids(starts)
        self.inserted = list(map(stored_event, zip(ids, starts, ends, payloads, *memberships, strict=True)))
        if len(plain) == len(changes):
            return ()
        taken = set(map(id, plain))
        return [change for change in changes if id(change) not in taken]

    def _insert(
        self, change: InputChange, fresh: dict[Identity, InputChange], others: dict[Identity, list[InputChange]]
    ) -> None:
        """Admit an insertion, or gather it if its event has other rows."""
        id, start, end, payload, *_ = change
        if end is None:
            end = INFINITY
        if self._adjusts and start < self._watermark < end:
            start = self._watermark
        if end <= start:
            message = f"it ends at {self._axis.spell(end)}, not after its start {self._axis.spell(start)}"
            self._reject(Reason.EMPTY_LIFETIME, message, change)
        elif start < self._watermark:
            self._reject_late(change, start)
        elif id is None:
            self._put_new(self._state.anonymous_ids([start])[0], start, end, payload)
        else:
            identity, count, known = (id, change.start), len(fresh), self._state.pending
            fresh.setdefault(identity, change)
            if len(fresh) > count and (self._state.event(identity) or (known and identity in known)):
                del fresh[identity]
                count = len(fresh)
            if len(fresh) > count:
                self._put_new(identity, start, end, payload)
            else:
                others.setdefault(identity, []).append(change)

    def _take_sample(self, change: InputChange, samples: Samples) -> None:
        """Insert a sample between its neighbours: it ends the one before and is ended by the one after.

        Of several samples at one time the last one by the query's order holds, whatever the order in which they came.
        """
        start = change.start
        before, after = samples.around(start)
        if change.new_end is not None:
            self._reject(Reason.UNKNOWN_EVENT, "a sample ends with the next one and cannot be revised", change)
        elif start < self._watermark:
            self._reject_late(change, start)
        elif before is not None and before[0] == start:
            self._choose_sample(change, before[1], samples)
        else:
            self._put_sample(change, INFINITY if after is None else after[0], samples)
            if before is not None and (event := self._current(before[1])) is not None:
                self._put(event, start)

    def _put_sample(self, change: InputChange, end: int, samples: Samples) -> None:
        id = self._state.anonymous_ids([change.start])[0]
        samples.add(change.start, id)
        self._put_new(id, change.start, end, change.payload)

    def _choose_sample(self, change: InputChange, held_id: Hashable, samples: Samples) -> None:
        """Let a sample take the place of the one that is held of its time, if it comes after that; report the other."""
        held = self._current(held_id)
        assert held is not None, "a sample that may still be replaced is not forgotten"
        replaced = change
        if comes_after(self._rank_of_sample(change.payload), self._rank_of_sample(held.payload)):
            # what the input said of the held sample besides its payload is not kept
            replaced = change._replace(id=None, payload=held.payload, source=None)
            self._delete(held)
            self._put_sample(change, held.end, samples)
        choice = "the last of this time by order"
        if self._state.query.order is None:
            choice = "the greatest of this time by its values, as no order= says which one is the last"
        self._reject(Reason.REPLACED, f"another sample at {self._axis.spell(change.start)} holds, {choice}", replaced)

    def _rank_of_sample(self, payload: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what ranks a sample among those of its time, as a value: its order, then all of its values.

        The values decide between samples that are alike in order, or all where the query has none. So the choice
        depends neither on the order in which samples come nor on micro-batches.
        """
        order = self._state.query.order
        return payload if order is None else (order(payload), payload)

    def _gather(self, change: InputChange, others: dict[Identity, list[InputChange]]) -> None:
        """Reject a revision that cannot apply to any event, and gather the others by event."""
        start, end, new_end, spell = change.start, change.end, change.new_end, self._axis.spell
        assert new_end is not None
        if new_end < start:
            message = f"event {change.id!r} starts at {spell(start)} and cannot end at {spell(new_end)}"
            self._reject(Reason.EMPTY_LIFETIME, message, change)
        elif end is not None and end <= start:
            message = f"event {change.id!r} starts at {spell(start)} and cannot have ended at {spell(end)}"
            self._reject(Reason.EMPTY_LIFETIME, message, change)
        elif change.id is not None:
            others.setdefault((change.id, start), []).append(change)
        elif self._is_in_time(change, start):
            self._reject_unknown(change)

    def _revise(self, identity: Identity, change: InputChange) -> bool:
        """Apply the only revision of a live event, the common case; return True if it could be applied."""
        event, new_end = self._current(identity), change.new_end
        if event is None or new_end is None or new_end <= event.start or change.end not in (None, event.end):
            return False
        if min(event.end, new_end) < self._watermark:
            return False
        if new_end != event.end:
            self._put(event, new_end)
        return True

    def _follow(self, identity: Identity, rows: Iterable[InputChange], now: int) -> None:
        """Chain the rows of one event, with those that waited, and apply them."""
        event, pending = self._state.event(identity), self._state.pending.pop(identity, _NOTHING)
        base = self._before(identity, event, [*pending.rows, *rows], now)
        end = base.end if event is None else event.end
        start = (pending.base or base).start
        taken: list[InputChange] = []
        for row in pending.rows:
            if self._may_fit(row, start):
                taken.append(row)
            else:
                self._reject_unknown(row)
        for row in rows:
            if row.new_end is not None and not self._is_in_time(row, base.start):
                continue
            if row.new_end is not None and (end < self._watermark or not self._may_fit(row, start)):
                self._reject_unknown(row)
            else:
                taken.append(row)
        after, pending, rejected = chain_rows(pending.base or base, taken, now)
        for row in rejected:
            self._reject_misfit(row, after)
        if pending.rows:
            self._state.pending[identity] = pending
        self._note(identity, event, after)

    def _before(
        self, identity: Identity, event: StoredEvent | None, rows: Iterable[InputChange], now: int
    ) -> EventState:
        """Return the state of an event before the batch; an absent one may be inserted late if that is adjusted."""
        if event is not None:
            return EventState(event.start, event.end, event.payload)
        start: int = identity[1]
        if self._adjusts:
            start = max(start, self._watermark if any(row.new_end is None for row in rows) else now)
        return EventState(start, start, ())

    def _note(self, identity: Identity, event: StoredEvent | None, after: EventState) -> None:
        start, end, payload = after
        if event is None:
            if after.is_alive:
                self._put_new(identity, start, end, payload)
        elif not after.is_alive:
            self.touched[identity] = (event, None)
        else:
            kept = event.payload if _is_same(payload, event.payload) else payload
            if end != event.end or kept is not event.payload:
                since, until = self._state.membership(start, end)
                self.touched[identity] = (event, StoredEvent(identity, start, end, kept, since, until))

    def _is_in_time(self, change: InputChange, start: int) -> bool:
        """Return True if a revision is not late, and reject it if it is, by the sync time of the row alone."""
        alters = sync_time(start, change)
        if alters < self._watermark:
            self._reject_late(change, alters)
        return alters >= self._watermark

    @staticmethod
    def _may_fit(row: InputChange, start: int) -> bool:
        """Return False for a revision from an end at which nothing is left of an event whose start was adjusted."""
        return row.new_end is None or row.end is None or row.end > start

    def _current(self, id: Hashable) -> StoredEvent | None:
        return self.touched[id][1] if id in self.touched else self._state.event(id)

    def _put_new(self, id: Hashable, start: int, end: int, payload: tuple[object, ...]) -> None:
        event = StoredEvent(id, start, end, payload, *self._state.membership(start, end))
        self.touched[id] = (None, event)

    def _put(self, event: StoredEvent, new_end: int) -> None:
        """Give an event another end."""
        before = self.touched[event.id][0] if event.id in self.touched else event
        since, until = self._state.membership(event.start, new_end)
        self.touched[event.id] = (before, event._replace(end=new_end, since=since, until=until))

    def _delete(self, event: StoredEvent) -> None:
        before = self.touched[event.id][0] if event.id in self.touched else event
        if before is None:  # it came in this batch
            del self.touched[event.id]
        else:
            self.touched[event.id] = (before, None)

    def _reject(self, reason: Reason, message: str, change: InputChange) -> None:
        self.rejections.append(Rejection(reason, message, change))

    def _reject_unknown(self, change: InputChange) -> None:
        message = f"no event {change.id!r} that started at {self._axis.spell(change.start)} is alive"
        self._reject(Reason.UNKNOWN_EVENT, message, change)

    def _reject_misfit(self, change: InputChange, event: EventState) -> None:
        """Reject a row that does not fit the others of its event."""
        spell = self._axis.spell
        if not event.is_alive:
            self._reject_unknown(change)
        elif change.new_end is None:
            message = f"an event {change.id!r} is alive, {self._axis.spell_interval(event.start, event.end)}"
            self._reject(Reason.DUPLICATE_ID, message, change)
        else:
            assert change.end is not None, "a revision that expects no end fits any event that is alive"
            message = (
                f"it expects event {change.id!r} to end at {spell(change.end)}, "
                f"but the event ends at {spell(event.end)}"
            )
            self._reject(Reason.STALE_REVISION, message, change)

    def _reject_late(self, change: InputChange, sync_time: int) -> None:
        self.rejections.append(Rejection.late(change, sync_time, self._watermark_to_the_tick, self._axis))


def _is_same(payload: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """True if no module can tell two payloads apart; 0.0 and -0.0 are equal, but not the same."""
    return payload is other or (payload == other and repr(payload) == repr(other))
