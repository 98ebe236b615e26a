"""Find the event that revisions are about, and apply them.

A revision finds its event by the id and the start that the event was inserted with (`Identity`). The rows of an event
may come in any order: a single revision of a live event, the common case, is applied at once; several rows are chained
(see `row_chain`), together with those that waited. A row that does not connect to the others waits until the missing
rows would be late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import Identity, KeyEvents
from muntin_engine.evaluators.keyed.lateness import LateRule
from muntin_engine.evaluators.keyed.net_changes import EventChange, NetChanges
from muntin_engine.evaluators.keyed.row_chain import NO_PENDING, EventState, chain_rows, sync_time
from muntin_engine.time.changes import InputChange, Reason, Rejection


class RevisedEvents(NetChanges):
    """The net changes of events that have revisions, and the rows that were rejected.

    Attributes:
        rejections: The late and rejected rows.
    """

    def __init__(self, state: KeyEvents, late_rule: LateRule) -> None:
        """Collect changes of the events of a key, by the rule that says which rows are late."""
        super().__init__(state)
        self.rejections: list[Rejection] = []
        self._late_rule = late_rule

    def revise(self, identity: Identity, change: InputChange) -> bool:
        """Apply the only row of an event at once if it is a legal revision of a live event.

        Returns:
            False if it is not, and has to be chained.
        """
        event = self.current(identity)
        new_end = change.new_end
        if event is None or new_end is None or new_end <= event.start:
            return False
        if change.end is not None and change.end != event.end:
            return False
        if self._late_rule.is_late(min(event.end, new_end)):
            return False
        if new_end != event.end:
            self.put_end(event, new_end)
        return True

    def chain(self, identity: Identity, rows: Sequence[InputChange], watermark: int) -> None:
        """Chain the rows of one event with those that waited, and apply them.

        Args:
            identity: The identity of the event.
            rows: The rows of the batch, in any order.
            watermark: The watermark after the batch, by which rows stop waiting.
        """
        event = self._state.event(identity)

        # The state of the event before the rows that waited may have been kept with them, as `pending.base`. Then the
        # chain starts from that state, and otherwise from the present one.
        pending = self._state.pending.pop(identity, NO_PENDING)
        base = self._base(identity, event, [*pending.rows, *rows], watermark)
        start_of_chain = (pending.base or base).start

        # Only rows that can be about the event are chained, be they new or waited.
        chainable: list[InputChange] = []
        for row in pending.rows:
            if _may_fit(row, start_of_chain):
                chainable.append(row)
            else:
                self.reject_unknown(row)

        has_ended = self._late_rule.is_late(base.end)
        for row in rows:
            if row.new_end is None:
                chainable.append(row)
            elif self.reject_if_late(row, base.start):
                continue
            # No legal row changes an event that has ended, or inserts one that would start that early.
            elif has_ended or not _may_fit(row, start_of_chain):
                self.reject_unknown(row)
            else:
                chainable.append(row)

        event_state, pending, rejected = chain_rows(pending.base or base, chainable, watermark)
        for row in rejected:
            self._reject_misfit(row, event_state)
        if pending.rows:
            self._state.pending[identity] = pending
        self._put_state(identity, event, event_state)

    def reject_if_late(self, change: InputChange, start: int) -> bool:
        """Reject a revision if it is late; return True if it was.

        Args:
            change: The revision.
            start: The start of its event.
        """
        changed_tick = sync_time(start, change)
        if not self._late_rule.is_late(changed_tick):
            return False
        self.reject_late(change, changed_tick)
        return True

    def _base(
        self, identity: Identity, event: StoredEvent | None, rows: Iterable[InputChange], watermark: int
    ) -> EventState:
        """Return the state of an event before the batch; an absent event ends at its start.

        Args:
            identity: The identity of the event.
            event: The event in the index; None if it is absent.
            rows: The rows of the event, both those that waited and those of the batch.
            watermark: The watermark after the batch.
        """
        if event is not None:
            return EventState(event.start, event.end, event.payload)
        start: int = identity[1]
        if self._late_rule.adjusts:
            # A late insertion makes its event start at the watermark before the batch that brings the insertion. If
            # this batch has no insertion, the next one may bring it: its event then starts at the watermark after
            # this batch.
            has_insertion = any(row.new_end is None for row in rows)
            start = max(start, self._late_rule.watermark if has_insertion else watermark)
        return EventState(start, start, ())

    def _put_state(self, identity: Identity, event: StoredEvent | None, event_state: EventState) -> None:
        """Record the change of an event to another state."""
        start, end, payload = event_state
        if event is None:
            if event_state.is_alive:
                self.put_new(identity, start, end, payload)
            return
        if not event_state.is_alive:
            self.changes_by_id[identity] = EventChange(event, present=None)
            return
        # If the payload is equal, the new state keeps the old payload object. Readers of the change compare payloads by
        # `is`, and so see that nothing but the end moved.
        if _is_same(payload, event.payload):
            payload = event.payload
        if end != event.end or payload is not event.payload:
            since, until = self._state.membership(start, end)
            present = StoredEvent(identity, start, end, payload, since, until)
            self.changes_by_id[identity] = EventChange(event, present)

    def reject(self, reason: Reason, message: str, change: InputChange) -> None:
        """Reject a row."""
        self.rejections.append(Rejection(reason, message, change))

    def reject_late(self, change: InputChange, sync_time: int) -> None:
        """Reject a row whose sync time lies before the watermark."""
        self.rejections.append(self._late_rule.rejection(change, sync_time))

    def reject_unknown(self, change: InputChange) -> None:
        """Reject a revision of an event that is not there."""
        started_at = self._late_rule.axis.spell(change.start)
        self.reject(Reason.UNKNOWN_EVENT, f"no event {change.id!r} that started at {started_at} is alive", change)

    def _reject_misfit(self, change: InputChange, event: EventState) -> None:
        """Reject a row that does not fit the others of its event."""
        axis = self._late_rule.axis
        if not event.is_alive:
            self.reject_unknown(change)
        elif change.new_end is None:
            lifetime = axis.spell_interval(event.start, event.end)
            self.reject(Reason.DUPLICATE_ID, f"an event {change.id!r} is alive, {lifetime}", change)
        else:
            assert change.end is not None, "a revision that expects no end fits any event that is alive"
            message = (
                f"it expects event {change.id!r} to end at {axis.spell(change.end)}, "
                f"but the event ends at {axis.spell(event.end)}"
            )
            self.reject(Reason.STALE_REVISION, message, change)


def _may_fit(row: InputChange, start: int) -> bool:
    """Return False if a row revises an end that its event cannot have had: one at the start of the event, or before.

    A row may name such an end if a late event was adjusted: its start was moved to the watermark.

    Args:
        row: The row.
        start: The start of the event, after it was moved.
    """
    return row.new_end is None or row.end is None or row.end > start


def _is_same(payload: tuple[object, ...], previous: tuple[object, ...]) -> bool:
    """Return True if no module can tell two payloads apart; 0.0 and -0.0 are equal, but not the same."""
    return payload is previous or (payload == previous and repr(payload) == repr(previous))
