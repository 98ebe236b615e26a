"""Admit the changes of one micro-batch to an event index, in whatever order they came.

An event is identified by its key, its id and its start. A row that cannot be applied is rejected with a reason; no row
is lost. Which rows are late is decided in `lateness`; how revisions find their events is in `revisions`.

A filter tests insertions alone, because rows of punctuation and revisions have no payload. An event that it leaves out
is admitted, and kept as long as it can be revised, so that its revisions find it; but it is never a member of a window.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from muntin import INFINITY
from muntin.schemas.value_order import comes_after
from muntin_engine.evaluators.keyed.event_index import StoredEvent, stored_event
from muntin_engine.evaluators.keyed.key_events import Identity, Samples
from muntin_engine.evaluators.keyed.revisions import RevisedEvents
from muntin_engine.time.changes import InputChange, Reason


class Admission(RevisedEvents):
    """Admits the changes of one batch for one key; the index itself stays as it is until `apply`.

    Cost: constant time for each change, logarithmic for a sample; linear in the rows of the batch and the waiting ones
    for an event that has several. Insertions that no other row can be about are taken all at once.
    """

    def admit(self, changes: Sequence[InputChange], watermark: int) -> None:
        """Admit the changes of the batch.

        Args:
            changes: The rows, in any order.
            watermark: The watermark after the batch, by which rows stop waiting for other rows of their event.
        """
        samples = self._state.samples
        pending = self._state.pending
        other_changes = self._insert_plain(changes) if samples is None else changes
        if not other_changes and not pending:
            return

        # The first insertion of an event is admitted at once; further rows of the event, and revisions, are gathered.
        first_insertions: dict[Identity, InputChange] = {}
        rows_by_event: dict[Identity, list[InputChange]] = {}
        for change in other_changes:
            if samples is not None:
                self._admit_sample(change, samples)
            elif change.new_end is not None:
                self._gather_revision(change, rows_by_event)
            else:
                self._insert(change, first_insertions, rows_by_event)

        for identity, rows in rows_by_event.items():
            is_only_row = len(rows) == 1 and identity not in pending
            if is_only_row and self.revise(identity, rows[0]):
                continue
            # The insertion was admitted as if it were alone; now it is chained with the other rows of its event.
            if identity in first_insertions:
                rows.append(first_insertions[identity])
                del self.changes_by_id[identity]
            self.chain(identity, rows, watermark)

        # Rows that wait may be rejected as the watermark advances, also where the batch has no row of their event.
        if pending:
            identities = [identity for identity in pending if identity not in rows_by_event]
            for identity in identities:  # not of `pending` itself, which `chain` changes
                self.chain(identity, rows=[], watermark=watermark)

    def _insert_plain(self, changes: Sequence[InputChange]) -> Sequence[InputChange]:
        """Admit the valid insertions that no other row can be about, all at once; return the other rows."""
        state = self._state
        watermark = self._late_rule.watermark
        # A row is plain if it is no revision, is not late, and ends after its start. This runs for every row: so it
        # reads fields by their places (id, start, end, payload, new_end), and decides lateness in place of `LateRule`.
        plain = [
            change
            for change in changes
            if change[4] is None and change[2] is not None and watermark <= change[1] < change[2]
        ]
        ids: Sequence[Hashable] = [(change[0], change[1]) for change in plain if change[0] is not None]
        if ids:
            # Insertions with ids are admitted here only if they are all rows of the batch, no two of one event, and
            # none of an event that the key knows already.
            are_new = len(ids) == len(changes) == len(set(ids)) and not any(map(state.event, ids))
            if not (are_new and state.pending.keys().isdisjoint(ids)):
                ids = ()
                plain = [change for change in plain if change[0] is None]
        if not plain:
            return changes

        _input_ids, starts, ends, payloads, *_ = zip(*plain, strict=True)  # the columns of `InputChange`
        memberships = state.memberships(starts, ends)
        ids = ids or state.anonymous_ids(starts)
        self.inserted = list(map(stored_event, zip(ids, starts, ends, payloads, *memberships, strict=True)))
        if len(plain) == len(changes):
            return ()
        plain_objects = set(map(id, plain))  # by identity: equal rows may be of two events
        return [change for change in changes if id(change) not in plain_objects]

    def _insert(
        self,
        change: InputChange,
        first_insertions: dict[Identity, InputChange],
        rows_by_event: dict[Identity, list[InputChange]],
    ) -> None:
        """Admit an insertion, or gather it if its event has other rows.

        Args:
            change: The insertion.
            first_insertions: The insertions that were admitted, by event; this method adds to them.
            rows_by_event: The rows that are gathered, by event; this method adds to them.
        """
        end = INFINITY if change.end is None else change.end
        start = self._late_rule.legal_start(change.start, end)
        if end <= start:
            axis = self._late_rule.axis
            message = f"it ends at {axis.spell(end)}, not after its start {axis.spell(start)}"
            self.reject(Reason.EMPTY_LIFETIME, message, change)
            return
        if self._late_rule.is_late(start):
            self.reject_late(change, start)
            return
        if change.id is None:
            (id,) = self._state.anonymous_ids([start])
            self.put_new(id, start, end, change.payload)
            return
        identity = (change.id, change.start)
        if identity in first_insertions or identity in self._state.pending or self._state.event(identity):
            rows_by_event.setdefault(identity, []).append(change)
        else:
            first_insertions[identity] = change
            self.put_new(identity, start, end, change.payload)

    def _gather_revision(self, change: InputChange, rows_by_event: dict[Identity, list[InputChange]]) -> None:
        """Gather a revision by its event, or reject one that cannot apply to any event."""
        spell = self._late_rule.axis.spell
        start = change.start
        end = change.end
        new_end = change.new_end
        assert new_end is not None, "a row without a new end is an insertion"
        if new_end < start:
            message = f"event {change.id!r} starts at {spell(start)} and cannot end at {spell(new_end)}"
            self.reject(Reason.EMPTY_LIFETIME, message, change)
        elif end is not None and end <= start:
            message = f"event {change.id!r} starts at {spell(start)} and cannot have ended at {spell(end)}"
            self.reject(Reason.EMPTY_LIFETIME, message, change)
        elif change.id is not None:
            rows_by_event.setdefault((change.id, start), []).append(change)
        elif not self.reject_if_late(change, start):
            self.reject_unknown(change)  # it has no id to find its event by

    def _admit_sample(self, change: InputChange, samples: Samples) -> None:
        """Insert a sample between its neighbours: it ends the previous one and is ended by the next one.

        Of several samples at one time the last one by the query's order holds, whatever the order in which they came.
        """
        start = change.start
        previous, following = samples.around(start)  # the previous one may be at the same time
        if change.new_end is not None:
            self.reject(Reason.UNKNOWN_EVENT, "a sample ends with the next one and cannot be revised", change)
        elif self._late_rule.is_late(start):
            self.reject_late(change, start)
        elif previous is not None and previous.time == start:
            self._choose_sample(change, previous.id, samples)
        else:
            self._put_sample(change, INFINITY if following is None else following.time, samples)
            previous_event = None if previous is None else self.current(previous.id)
            if previous_event is not None:
                self.put_end(previous_event, start)

    def _put_sample(self, change: InputChange, end: int, samples: Samples) -> None:
        """Add a sample that lasts up to an end."""
        (id,) = self._state.anonymous_ids([change.start])
        samples.add(change.start, id)
        self.put_new(id, change.start, end, change.payload)

    def _choose_sample(self, change: InputChange, present_id: Hashable, samples: Samples) -> None:
        """Keep the last by order of two samples of one time, and reject the other one.

        Args:
            change: The new sample.
            present_id: The id of the sample that the key has at that time.
            samples: The samples of the key.
        """
        present: StoredEvent | None = self.current(present_id)
        assert present is not None, "a sample that may still be replaced is not forgotten"
        rejected_row = change
        if comes_after(self._rank_of_sample(change.payload), self._rank_of_sample(present.payload)):
            # The rejection is of the present sample. Only the payload of its row is still known: all else is taken from
            # the new row.
            rejected_row = change._replace(id=None, payload=present.payload, source=None)
            self.delete(present)
            self._put_sample(change, present.end, samples)
        choice = "the last of this time by order"
        if self._state.query.order is None:
            choice = "the greatest of this time by its values, as no order= says which one is the last"
        time = self._late_rule.axis.spell(change.start)
        self.reject(Reason.REPLACED, f"another sample at {time} holds, {choice}", rejected_row)

    def _rank_of_sample(self, payload: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the rank of a sample: of several samples of one time, the one with the greatest rank holds.

        Ranks are compared by `comes_after`. The rank is the query's order of the sample, followed by all of its values,
        or these values alone if the query has no order. So the choice depends neither on the order in which samples
        come nor on micro-batches.
        """
        order = self._state.query.order
        return payload if order is None else (order(payload), payload)
