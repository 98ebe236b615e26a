"""The events with ids of one bucket, as arrays: admission, windows, and the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import InputChange, Key, Progress, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.arrays.coding import encode
from muntin_engine.evaluators.arrays.entries import ENTRY_BYTES
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.lifting import NO_KEYS, Rows, key_rows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.row_lifting import Fusing, row_parts
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.evaluators.keyed.admission import Filter
from muntin_engine.evaluators.revised import rare, records
from muntin_engine.evaluators.revised.brought import NOTHING, Brought, Plain, sort_out
from muntin_engine.evaluators.revised.events import Events, LiveEvents, joined
from muntin_engine.evaluators.revised.live_results import LiveResults, are_results
from muntin_engine.evaluators.revised.records import Records
from muntin_engine.evaluators.revised.speculation import Corrections, corrected
from muntin_engine.evaluators.revised.waiting import WaitingRows
from muntin_engine.evaluators.revised.windows import RevisedWindows
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.exchange.value_flags import flags
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import Entry, StoredEntry

_AS_THEY_LAST: Final = Fusing(1)


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


class _Blobs(NamedTuple):
    """The entries of a log.

    Attributes:
        events: Those of events.
        results: Those of results that were emitted early.
    """

    events: list[bytes]
    results: list[bytes]


def _parted(entries: Sequence[StoredEntry]) -> _Blobs:
    blobs = [entry.data for entry in entries]
    return _Blobs([data for data in blobs if not are_results(data)], [data for data in blobs if are_results(data)])


class RevisedStore:
    """The live events of a bucket, the rows that wait for others, and what the log says of both.

    Attributes:
        stored_waiting: The rows that wait, as they lie in the state; None if none do there.
    """

    def __init__(
        self, query: EvaluatorQuery, forms: Sequence[BoundForm], codec: Codec, windows: RevisedWindows
    ) -> None:
        """Make an empty store.

        Args:
            query: The query.
            forms: Its forms.
            codec: How waiting rows are written.
            windows: Its windows, of this store alone.
        """
        self._query, self._forms, self._codec, self._windows = query, forms, codec, windows
        self._filter = Filter(query.keeps)
        self._keys, self._live, self._waiting = KeyTable(), LiveEvents(), WaitingRows()
        self._results = LiveResults(query, codec)
        self._schema = pa.schema([])
        self._written = self._records = 0
        self.stored_waiting: bytes | None = None

    def __len__(self) -> int:
        """Return the number of events that are kept."""
        return len(self._live) + self._windows.ended_events

    @property
    def keys_held(self) -> int:
        """The number of keys of which anything is kept."""
        return len(self.keys())

    @property
    def nbytes(self) -> int:
        """About how many bytes the events that are kept, and live results, take in the log."""
        return len(self) * self._written // max(self._records, 1) + self._results.nbytes

    @property
    def results_held(self) -> int:
        """The number of results that were emitted and may still change."""
        return len(self._results)

    @property
    def memory(self) -> int:
        """About how many bytes they take in memory."""
        return self._live.nbytes + self._windows.nbytes

    @property
    def first_start(self) -> int:
        """The least start of an open window that events have cut; `INFINITY` if there is none."""
        return self._windows.first_start(self._live)

    def restore(self, entries: Sequence[StoredEntry], waiting: bytes | None, watermark: int) -> None:
        """Take what the log says, and the rows that waited; a watermark of `EARLIEST` cuts nothing."""
        self.stored_waiting = waiting
        if waiting is not None:
            self._schema = self._waiting.restore(waiting, self._keys, self._codec)
        of_events, of_results = _parted(entries)
        self._results.restore(of_results, self._keys, watermark)
        if not of_events:
            return
        found = records.latest(records.from_bytes(of_events, self._keys))
        self._written, self._records = sum(map(len, of_events)), len(found.serials)
        self._schema = found.events.rows.schema
        self._add(self._needed(found.events, watermark))
        self._windows.forget(self._live, watermark)

    def waiting_bytes(self) -> bytes | None:
        """Return the rows that wait as bytes; None if there are none."""
        return self._waiting.to_bytes(self._keys, self._codec, self._schema) if self._waiting.by_key else None

    def take(self, blobs: Sequence[bytes], before: int, now: int) -> TakenRows:
        """Admit the rows of a batch.

        Args:
            blobs: The rows, as tables with key columns, `id`, `start`, `end`, `new_end` and the payload.
            before: The watermark before the batch, by which rows are late.
            now: The watermark after it, by which they stop waiting for others.
        """
        self._keys.forget_others(self)
        rows, left_out, waited, keys = 0, 0, self._filter.count(self._waiting.rows), 0
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
        if changes or self._waiting.by_key:
            admitted = rare.admit(self._query, self._keys, self._live, self._waiting, changes, (before, now))
        if admitted.new:
            inserted.insert(0, admitted.events(self._schema))
        changed = [*self._change(plain, admitted), *inserted]
        total = sum(map(len, changed))
        is_stored = np.arange(total) < total - len(plain.inserted)
        if inserted:
            self._add(joined(inserted))
        rejections = [(key, one) for key, one in admitted.rejections if self._filter.counts(one.change)]
        accepted = waited + rows - left_out - len(rejections) - self._filter.count(self._waiting.rows)
        return TakenRows(joined(changed) if changed else None, is_stored, rejections, accepted, keys)

    def close(self, before: int, now: Progress) -> list[Closed]:
        """Return the windows that are complete now, and were not at the watermark before."""
        closed = self._windows.close(self._live, before, now)
        return [Closed(0, windows, self._keys.take(windows.keys)) for windows in closed]

    def correct(self, taken: TakenRows, before: Progress, now: Progress, serials: tuple[int, int]) -> Corrections:
        """Return the changes from the results that were emitted early to those of now.

        Args:
            taken: The changes that the batch brought.
            before: The progress before the batch.
            now: The progress after it.
            serials: The number of the batch, and the largest id of an output event so far.

        Raises:
            ModuleFailedError: A module raised an exception.
        """
        touched = np.empty(0, np.int64) if taken.changed is None else np.unique(taken.changed.codes)
        are_touched = np.zeros(len(self._keys), np.bool_)
        are_touched[touched] = True
        found = self._windows.visible(self._live, before, now, are_touched)
        return corrected(self._query, self._forms, self._keys, self._results, found, touched, serials)

    def forget(self, watermark: int) -> int:
        """Drop the events that end before a watermark, but for what open windows need of them.

        Returns:
            The number of results that were emitted early, and are final now.
        """
        self._windows.forget(self._live, watermark)
        return self._results.forget(watermark)

    def write(self, taken: TakenRows, serial: int, watermark: int) -> list[Entry]:
        """Encode what a batch changed, after `forget`.

        A new event that has ended is left out, unless an open window needs it.
        """
        if taken.changed is None:
            return []
        changed = taken.changed
        is_over = self._windows.are_over(changed, self._live, watermark)
        kept = changed.take(np.flatnonzero(~is_over | taken.is_stored))
        return self._entries(Records(kept, np.full(len(kept), serial)))

    def write_results(self, emitted: Corrections, watermark: int) -> list[Entry]:
        """Encode what a batch changed in results, without those that are final."""
        return self._results.write(self._keys, emitted.results, watermark)

    def write_whole(self, read: Callable[[], Sequence[StoredEntry]], serial: int, watermark: int) -> list[Entry]:
        """Encode all events that are kept.

        Args:
            read: Returns the entries of the log: of events that have ended, it alone has the payloads.
            serial: The number of the batch.
            watermark: The watermark.
        """
        results = self._results.write_whole(self._keys)
        if not len(self):
            return results
        if self._windows.ended_events:
            stored = records.from_bytes(_parted(read()).events, self._keys)
            events = self._needed(records.latest(stored).events, watermark)
        else:
            events = self._live.take(np.arange(len(self._live)))
        return [*self._entries(Records(events, np.full(len(events), serial))), *results]

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, in as few as possible."""
        del first_live
        of_events, of_results = _parted(entries)
        found = self._results.merged(of_results, self._keys) if of_results else []
        if not of_events:
            return found
        return [*found, *self._entries(records.latest(records.from_bytes(of_events, self._keys)))]

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return reduce(np.union1d, (self._live.codes, self._waiting.codes, self._windows.keys(), self._results.keys()))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._live.renumber(places)
        self._waiting.renumber(places)
        self._windows.renumber(places)
        self._results.renumber(places)

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
        is_kept = np.ones(len(self._live), np.bool_)
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
        parts = row_parts(_AS_THEY_LAST, self._forms, rows, order)
        is_member = self._are_members(events).astype(np.int8)
        partials = StretchTable(events.codes, events.since, events.ends, is_member, parts)
        self._live.add(events, partials)

    def _needed(self, events: Events, watermark: int) -> Events:
        """Return the events of a log that are kept at a watermark."""
        present = events.take(np.flatnonzero(events.ends > events.starts))
        return self._windows.needed(present, self._are_members(present), watermark)

    def _are_members(self, events: Events) -> BoolArray:
        """Return for each event whether the filter of the query lets it in, as its last column says."""
        return np.ones(len(events), np.bool_) if self._query.keeps is None else flags(events.rows.columns[-1])

    def _entries(self, found: Records) -> list[Entry]:
        """Return records as entries, which never die by themselves: a later one may still be about the same event."""
        size = max(1, len(found.serials) * ENTRY_BYTES // max(found.events.rows.nbytes, 1))
        blobs = []
        for start in range(0, len(found.serials), size):
            places = np.arange(start, min(start + size, len(found.serials)))
            blobs.append(records.to_bytes(self._keys, Records(found.events.take(places), found.serials[places])))
        self._written, self._records = self._written + sum(map(len, blobs)), self._records + len(found.serials)
        return [Entry(EARLIEST, INFINITY, blob) for blob in blobs]
