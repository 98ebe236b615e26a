"""The events with ids of one bucket, as arrays: admission, snapshots, and the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import InputChange, Key, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.columnar.coding import encode
from muntin_engine.evaluators.columnar.entries import ENTRY_BYTES
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.columnar.lifting import NO_KEYS, Rows, key_rows
from muntin_engine.evaluators.columnar.partials import Partials
from muntin_engine.evaluators.columnar.window_closing import Windows
from muntin_engine.evaluators.edges.held_events import opened_since
from muntin_engine.evaluators.edges.snapshots import lies_before, snapshots_of
from muntin_engine.evaluators.fused.held_sessions import ends_of
from muntin_engine.evaluators.fused.lifting import Fusing, row_parts
from muntin_engine.evaluators.fused.store import ClosedSessions
from muntin_engine.evaluators.general.admission import Filter
from muntin_engine.evaluators.revised import rare, records
from muntin_engine.evaluators.revised.brought import NOTHING, Brought, Plain, sort_out
from muntin_engine.evaluators.revised.events import Events, LiveEvents, joined
from muntin_engine.evaluators.revised.records import Records
from muntin_engine.evaluators.revised.waiting import WaitingRows
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.exchange.value_flags import flags
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import Entry, StoredEntry

_SNAPSHOTS = Fusing(1)


class TakenRows(NamedTuple):
    """The changes that a batch brought.

    Attributes:
        changed: The events that it inserted or changed, as they are now.
        is_stored: For each of them whether the log may have a record of it already.
        rejections: The late and rejected rows, by key.
        accepted: The number of rows that took effect.
        keys: The number of keys with rows.
    """

    changed: Events | None
    is_stored: BoolArray
    rejections: Sequence[tuple[Key, Rejection]]
    accepted: int
    keys: int


class RevisedStore:
    """The live events of a bucket, the rows that wait for others, and what the log says of both.

    Attributes:
        stored_waiting: The rows that wait, as they lie in the state; None if none do there.
    """

    def __init__(self, query: EvaluatorQuery, forms: Sequence[BoundForm], codec: Codec, *, at_end: bool) -> None:
        """Make an empty store.

        Args:
            query: The query.
            forms: Its forms; all that they keep can be subtracted.
            codec: How waiting rows are written.
            at_end: True if results are points at the ends of snapshots, so that one without an end has none.
        """
        self._query, self._forms, self._codec, self._at_end = query, forms, codec, at_end
        self._keys, self._live, self._waiting = KeyTable(), LiveEvents(), WaitingRows()
        self._schema = pa.schema([])
        self._written = self._records = 0
        self.stored_waiting: bytes | None = None

    def __len__(self) -> int:
        """Return the number of live events."""
        return len(self._live)

    @property
    def is_empty(self) -> bool:
        """True if nothing is kept."""
        return not len(self._live) and not len(self._waiting)

    @property
    def keys_held(self) -> int:
        """The number of keys of which anything is kept."""
        return len(self.keys())

    @property
    def nbytes(self) -> int:
        """About how many bytes the live events take in the log."""
        return len(self._live) * self._written // max(self._records, 1)

    @property
    def memory(self) -> int:
        """About how many bytes the live events take in memory."""
        return self._live.nbytes

    @property
    def first_start(self) -> int:
        """The least start of an open snapshot with an event; `INFINITY` if there is none."""
        members = self._live.members
        return INFINITY if members is None else int(members.slices.min())

    def restore(self, entries: Sequence[StoredEntry], waiting: bytes | None, watermark: int) -> None:
        """Take what the log says, and the rows that waited; a watermark of `EARLIEST` cuts nothing."""
        self.stored_waiting = waiting
        if waiting is not None:
            self._schema = self._waiting.restore(waiting, self._keys, self._codec)
        if not entries:
            return
        found = records.latest(records.from_bytes([entry.data for entry in entries], self._keys))
        self._written, self._records = sum(len(entry.data) for entry in entries), len(found.serials)
        events, self._schema = found.events, found.events.rows.schema
        events = events.take(np.flatnonzero(events.ends > events.starts))
        if len(events):
            is_member, since = self._are_members(events), events.since.copy()
            some = events.take(np.flatnonzero(is_member))
            if len(some):
                members = Partials(some.since, some.codes, np.ones(len(some), np.int8), {}, some.ends)
                since[is_member] = opened_since(members, watermark)
            events = replace(events, since=since)
            self._add(events.take(np.flatnonzero(~lies_before(events.ends, watermark))))

    def waiting_bytes(self) -> bytes | None:
        """Return the rows that wait as bytes; None if there are none."""
        return self._waiting.to_bytes(self._keys, self._codec, self._schema) if len(self._waiting) else None

    def take(self, blobs: Sequence[bytes], before: int, now: int) -> TakenRows:
        """Admit the rows of a batch.

        Args:
            blobs: The rows, as tables with key columns, `id`, `start`, `end`, `new_end` and the payload.
            before: The watermark before the batch, by which rows are late.
            now: The watermark after it, by which they stop waiting for others.
        """
        self._keys.forget_others(self)
        rows, left_out, waited, keys = 0, 0, len(self._waiting), 0
        plain, inserted = NOTHING, list[Events]()
        changes = dict[int, list[InputChange]]()
        if blobs:
            table = pa.concat_tables(list(map(shuffle.from_blob, blobs))).combine_chunks()
            rows, (codes, keys) = len(table), self._codes_of(table)
            brought = Brought.of(table, codes)
            hashes = self._waiting.hashes(is_whole=brought.ids.dtype != np.object_)
            plain = sort_out(brought, self._live, hashes, before)
            own = table.select(["id", *brought.payload_names])
            self._schema = own.schema
            changes = brought.changes(plain.others)
            if self._query.keeps is not None:
                left_out = int(np.count_nonzero(brought.is_insertion & ~flags(own.columns[-1])))
            if len(plain.inserted):
                at = plain.inserted
                codes, starts, new = brought.codes[at], brought.starts[at], own.take(pa.array(at))
                inserted.append(Events(codes, starts, starts, plain.ends, new))
        admitted = rare.Admitted()
        if changes or waited:
            admitted = rare.admit(self._query, self._keys, self._live, self._waiting, changes, (before, now))
        if admitted.new:
            inserted.insert(0, admitted.events(self._schema))
        changed = [*self._change(plain, admitted), *inserted]
        total = sum(map(len, changed))
        is_stored = np.arange(total) < total - len(plain.inserted)
        if inserted:
            self._add(joined(inserted))
        rejections = self._shown(admitted.rejections)
        accepted = waited + rows - left_out - len(rejections) - len(self._waiting)
        return TakenRows(joined(changed) if changed else None, is_stored, rejections, accepted, keys)

    def close(self, first: int, last: int) -> list[ClosedSessions]:
        """Return the snapshots that end at the watermark `first` or later, and before the watermark `last`."""
        members = self._live.members
        if members is None or first == last:
            return []
        ended = snapshots_of(members, first, last)
        if self._at_end:
            ended = ended.take(np.flatnonzero(ends_of(ended) < INFINITY))
        if not len(ended):
            return []
        windows = Windows(ended.slices, ended.keys, ended.rows, ended.parts)  # type: ignore[arg-type]  # nothing collects
        return [ClosedSessions(windows, ends_of(ended), self._keys.take(ended.keys))]

    def forget(self, watermark: int) -> None:
        """Drop the events that end before a watermark."""
        self._live.forget(watermark)

    def write(self, taken: TakenRows, serial: int, watermark: int) -> list[Entry]:
        """Encode what a batch changed, after `forget`.

        A new event that has ended is left out, unless an open snapshot starts where it ended.
        """
        if taken.changed is None:
            return []
        changed, live = taken.changed, self._live
        opened = np.full(len(self._keys), EARLIEST)
        if live.members is not None:
            codes, since = live.members.keys, live.members.slices
            is_begun = lies_before(since, watermark)
            opened[codes[is_begun]] = since[is_begun]
        is_over = lies_before(changed.ends, watermark) & (changed.ends != opened[changed.codes])
        kept = changed.take(np.flatnonzero(~is_over | taken.is_stored))
        return self._entries(Records(kept, np.full(len(kept), serial)))

    def write_whole(self, serial: int) -> list[Entry]:
        """Encode all live events."""
        if not len(self):
            return []
        return self._entries(Records(self._live.take(np.arange(len(self))), np.full(len(self), serial)))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, in as few as possible."""
        del first_live
        return self._entries(records.latest(records.from_bytes([entry.data for entry in entries], self._keys)))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.union1d(self._live.codes, self._waiting.codes)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._live.renumber(places)
        self._waiting.renumber(places)

    def _codes_of(self, table: pa.Table) -> tuple[IntArray, int]:
        """Return the code of each row's key, and the number of keys."""
        columns = [table.column(name).combine_chunks() for name in table.column_names if name[0] == "k"]
        coded = encode(columns, len(table))
        keys = key_rows([column.take(pa.array(coded.first)) for column in columns], coded.size)
        codes = self._keys.codes(keys)
        return codes[coded.codes], len(np.unique(codes))

    def _change(self, plain: Plain, admitted: rare.Admitted) -> list[Events]:
        """Change live events, and return those that were: what was deleted ends where it starts."""
        more = np.array(admitted.moved, np.int64).reshape(-1, 2)
        moved = np.concatenate([plain.moved, more[:, 0]])
        deleted = np.concatenate([plain.deleted, np.array(admitted.deleted, np.int64)])
        found = []
        if len(moved):
            self._live.end_at(moved, np.concatenate([plain.new_ends, more[:, 1]]))
            found.append(self._live.take(moved))
        if len(deleted):
            gone = self._live.take(deleted)
            found.append(replace(gone, ends=gone.starts))
        is_kept = np.ones(len(self), np.bool_)
        is_kept[[*deleted, *admitted.replaced]] = False
        self._live.keep(is_kept)
        return found

    def _add(self, events: Events) -> None:
        """Add events to the live ones, as partial states."""
        if not len(events):
            return
        order, inputs = np.arange(len(events)), [column.combine_chunks() for column in events.rows.columns[1:]]
        keys = self._keys.take(events.codes)
        columns = [
            column.combine_chunks()
            for name, column in zip(keys.column_names, keys.columns, strict=True)
            if name != NO_KEYS
        ]
        rows = Rows(order, events.starts, events.ends, columns, inputs)
        parts = row_parts(_SNAPSHOTS, self._forms, rows, order)
        is_member = self._are_members(events).astype(np.int8)
        partials = Partials(events.since, events.codes, is_member, parts, events.ends)
        self._live.add(events, partials)

    def _are_members(self, events: Events) -> BoolArray:
        """Return for each event whether the filter of the query lets it in, as its last column says."""
        return np.ones(len(events), np.bool_) if self._query.keeps is None else flags(events.rows.columns[-1])

    def _shown(self, rejections: Sequence[tuple[Key, Rejection]]) -> Sequence[tuple[Key, Rejection]]:
        """Return rejections without those of insertions that the filter leaves out anyway."""
        if self._query.keeps is None or not rejections:
            return rejections
        own = Filter(self._query.keeps)
        return [(key, rejection) for key, rejection in rejections if own.shown([rejection])]

    def _entries(self, found: Records) -> list[Entry]:
        """Return records as entries, which never die by themselves: a later one may still be about the same event."""
        size = max(1, len(found.serials) * ENTRY_BYTES // max(found.events.rows.nbytes, 1))
        blobs = []
        for start in range(0, len(found.serials), size):
            places = np.arange(start, min(start + size, len(found.serials)))
            blobs.append(records.to_bytes(self._keys, Records(found.events.take(places), found.serials[places])))
        self._written, self._records = self._written + sum(map(len, blobs)), self._records + len(found.serials)
        return [Entry(EARLIEST, INFINITY, blob) for blob in blobs]
