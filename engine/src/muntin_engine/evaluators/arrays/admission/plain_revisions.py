"""The rows of a micro-batch as columns, and which of them need no look at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.live_events import HashArray, Identities, ids_of
from muntin_engine.time.changes import InputChange
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.python_values import changes_of
from muntin_engine.wire.value_flags import flags


@dataclass(frozen=True, slots=True)
class IncomingRows:
    """n rows: insertions, and revisions of events.

    Attributes:
        identities: The identities of their events.
        hashes: The hashes of these.
        ends: Of an insertion the end, of a revision the end that it expects; 0 where it expects none.
        new_ends: Of a revision the new end; 0 for an insertion.
        is_insertion: True for an insertion.
        is_blind: True for a revision that expects no end.
        table: All of their columns.
    """

    identities: Identities
    hashes: HashArray
    ends: IntArray
    new_ends: IntArray
    is_insertion: BoolArray
    is_blind: BoolArray
    table: pa.Table

    @classmethod
    def of(cls, table: pa.Table, codes: IntArray) -> IncomingRows:
        """Read the rows of a table, given the codes of their keys."""
        end_column = table.column("end")
        new_ends = np.zeros(len(table), np.int64)
        is_insertion = np.ones(len(table), np.bool_)
        if "new_end" in table.column_names:
            new_end_column = table.column("new_end")
            is_insertion = flags(new_end_column.is_null())  # only a revision says where the event ends from now on
            new_ends = numpy_array(new_end_column, nulls=0)
        is_blind = flags(end_column.is_null()) & ~is_insertion  # a revision without an end expects none
        identities = Identities(codes, ids_of(table.column("id")), numpy_array(table.column("start")))
        return cls(
            identities=identities,
            hashes=identities.hashes(),
            ends=numpy_array(end_column, nulls=0),
            new_ends=new_ends,
            is_insertion=is_insertion,
            is_blind=is_blind,
            table=table,
        )

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def payload_names(self) -> list[str]:
        """The names of the columns that make the payload."""
        return [name for name in self.table.column_names if name != "id" and name[0] == "i"]  # `i0`, `i1` and so on

    def event_rows(self) -> pa.Table:
        """Return the columns that an event keeps of its row: its id and its payload."""
        return self.table.select(["id", *self.payload_names])

    def changes(self, places: IntArray) -> dict[int, list[InputChange]]:
        """Return rows as Python objects for the general evaluator, by the codes of their keys.

        Args:
            places: The places of the rows.
        """
        changes_by_key: dict[int, list[InputChange]] = {}
        changes = changes_of(self.table.take(arrow_array(places)), self.payload_names)
        for code, change in zip(self.identities.codes[places].tolist(), changes, strict=True):
            changes_by_key.setdefault(code, []).append(change)
        return changes_by_key

    def have_no_payload(self) -> BoolArray:
        """Return for each row whether it has no payload: null in all columns of the payload."""
        have_none = np.ones(len(self), np.bool_)
        for name in self.payload_names:
            have_none &= flags(pc.is_null(self.table.column(name)))
        return have_none


class PlainChanges(NamedTuple):
    """The changes of a batch that need no look at each of their rows, and the other rows.

    Attributes:
        inserting_rows: The rows that insert a new event.
        inserted_ends: The ends of these events; where the batch revises one, that which the revision gives it.
        moved_places: The places of the live events that end elsewhere now.
        moved_ends: The new ends of these.
        deleted_places: The places of the live events that are deleted.
        other_rows: The rows that are not plain.
    """

    inserting_rows: IntArray
    inserted_ends: IntArray
    moved_places: IntArray
    moved_ends: IntArray
    deleted_places: IntArray
    other_rows: IntArray


NO_CHANGES: Final = PlainChanges(*(np.empty(0, np.int64) for _ in range(6)))
"""The changes of a batch without rows."""


class _RowsByEvent(NamedTuple):
    """The rows of a batch by event. Rows with one hash are taken for those of one event, and nearly always are.

    Attributes:
        order: The places of the rows, event by event.
        events: For each row, in that order, the number of its event.
        first_rows: The place of a row of each event.
        insertions: The place of the insertion of each event; -1 if it has none.
        revisions: The place of the revision of each event; -1 if it has none.
        are_simple: For each event whether it has no further rows, and no other event has its hash.
    """

    order: IntArray
    events: IntArray
    first_rows: IntArray
    insertions: IntArray
    revisions: IntArray
    are_simple: BoolArray

    @classmethod
    def of(cls, rows: IncomingRows) -> _RowsByEvent:
        """Find the rows of each event.

        Cost: a sort of the rows, and a few passes.
        """
        # Rows of one event have one hash: sorted by it, they are neighbours. Their order among each other does not
        # matter, as a simple event has at most one row of each kind.
        order = np.argsort(rows.hashes)
        hashes = rows.hashes[order]
        is_insertion = rows.is_insertion[order]
        is_first = np.empty(len(order), np.bool_)
        is_first[:1] = True
        np.not_equal(hashes[1:], hashes[:-1], out=is_first[1:])
        events = np.cumsum(is_first) - 1
        first_rows = order[is_first]

        # Of several insertions, or revisions, of one event the last one is noted; the event is not simple then.
        insertions = np.full(len(first_rows), -1)
        revisions = np.full(len(first_rows), -1)
        insertions[events[is_insertion]] = order[is_insertion]
        revisions[events[~is_insertion]] = order[~is_insertion]
        row_counts = np.bincount(events, minlength=len(first_rows))
        noted_counts = (insertions >= 0).astype(np.int64) + (revisions >= 0)
        are_simple: BoolArray = row_counts == noted_counts

        # Different events may have one hash: then neighbours of one hash are not of the same event.
        followers = np.flatnonzero(~is_first)
        identities = rows.identities.take(order[followers])
        previous_identities = rows.identities.take(order[followers - 1])
        is_same_event = identities.are_same(previous_identities)
        are_simple[events[followers[~is_same_event]]] = False
        return cls(order, events, first_rows, insertions, revisions, are_simple)


def classify(rows: IncomingRows, store: EventStore, watermark: int) -> PlainChanges:
    """Tell the plain changes of a batch from the rows that have to be looked at one by one.

    The rows of an event are plain if they are an insertion, while the event is not live yet, or one revision, or both;
    if they are in time; and if the revision expects the end that the event has, or none. What the rows of an event do
    depends on these rows and on that event alone: so plain events can be changed before the other rows are looked at.

    Cost: a sort of the rows, a search for each event, and a few passes.

    Args:
        rows: The rows.
        store: The store, with the events before the batch and the rows that wait.
        watermark: The watermark of the batches before; a row that changes anything before it is late.
    """
    order, events, first_rows, insertions, revisions, is_plain = _RowsByEvent.of(rows)
    hashes = rows.hashes[first_rows]
    is_new = insertions >= 0  # -1 where an event has no insertion, or no revision, in the batch
    is_revised = revisions >= 0

    # If rows of an event wait already, its incoming rows are looked at one by one, together with these.
    has_whole_ids = rows.identities.ids.dtype != np.object_
    waiting_hashes = store.waiting.hashes(is_whole=has_whole_ids)
    if len(waiting_hashes):
        is_plain &= ~np.isin(hashes, waiting_hashes)

    # An insertion is plain if its event is not live yet, and a revision alone if its event is. The end of an event
    # before its revision is that of its insertion, or that of the live event. (For a new event, whose place is -1, some
    # live event is read, and not used.)
    identities = rows.identities.take(first_rows)
    starts = identities.starts
    places = store.live.find(identities, hashes)
    is_plain &= is_new == (places < 0)
    ends = rows.ends[insertions]
    if len(store.live):
        ends = np.where(is_new, ends, store.live.held.high[places])

    # An insertion is late by its start, a revision by the earlier one of the two ends. What is read at a place of -1 is
    # masked by `is_new` and `is_revised`.
    is_plain &= (ends > starts) & (~is_new | (starts >= watermark))
    new_ends = np.where(is_revised, rows.new_ends[revisions], ends)
    is_expected = rows.is_blind[revisions] | (rows.ends[revisions] == ends)
    is_in_time = np.minimum(ends, new_ends) >= watermark
    is_plain &= ~is_revised | (is_expected & is_in_time & (new_ends >= starts))

    # A deletion is plain if it deletes a live event and brings no payload.
    is_deleted = new_ends == starts
    if (is_plain & is_deleted).any():
        is_plain &= ~is_deleted | (~is_new & rows.have_no_payload()[revisions])

    # Up to here, arrays have a value for each event. The changes name rows of the batch and places of live events.
    is_live_after = is_plain & ~is_deleted
    inserted_events = np.flatnonzero(is_live_after & is_new)
    moved_events = np.flatnonzero(is_live_after & ~is_new & (new_ends != ends))
    return PlainChanges(
        inserting_rows=insertions[inserted_events],
        inserted_ends=new_ends[inserted_events],
        moved_places=places[moved_events],
        moved_ends=new_ends[moved_events],
        deleted_places=places[is_plain & is_deleted],
        other_rows=np.sort(order[~is_plain[events]]),
    )
