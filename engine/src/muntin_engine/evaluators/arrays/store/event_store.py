"""The store of events with ids: live events, partial states of ended ones, waiting rows, and live results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.store.live_events import (
    SERIAL,
    START,
    LiveEvents,
    latest,
    latest_events,
    recorded,
    with_absolute_starts,
    with_relative_starts,
)
from muntin_engine.evaluators.arrays.store.live_results import LiveResults
from muntin_engine.evaluators.arrays.store.stretch_store import ArrayStore, StretchPieces
from muntin_engine.evaluators.arrays.store.waiting_rows import WaitingRows
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.result_tables import EVENT_ID
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ColumnFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.state.bucket_state import StateSize
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import Entry, LogEntry
from muntin_engine.time.changes import Key
from muntin_engine.wire.python_values import tuples_of

WAITING: Final = "waiting"
"""The name of the cell of the rows that wait for others of their event."""

_INDEX_BYTES: Final = 24
"""The memory of a live event besides its columns: an id, a hash of its identity, and a place."""


@dataclass(frozen=True, slots=True)
class ChangedEvents:
    """The events that a batch inserted or changed, as they are now.

    Attributes:
        events: The events; one that was deleted ends where it starts.
        are_stored: For each of them whether the log may have a record of it already.
    """

    events: StretchTable
    are_stored: BoolArray


class LastRecords(NamedTuple):
    """The last record of each event, and of each result, that a log holds.

    Attributes:
        events: The last record of each event.
        results: The last record of each result.
    """

    events: StretchTable
    results: StretchTable


class RecordRow(NamedTuple):
    """A record of an event or of a result, as Python values.

    Attributes:
        key: The key.
        start: Where its stretch starts.
        end: Where its stretch ends.
        columns: The values of its columns.
    """

    key: Key
    start: int
    end: int
    columns: tuple[Any, ...]


class EventStore(ArrayStore):
    """The events of a bucket that rows may still be about, or that windows need.

    Attributes:
        live: The events that a row may still be about.
        ended: The partial states of the events that have ended for good, and are members of open windows.
        waiting: The rows that wait for others of their event.
        results: The results that have been emitted and may change.
        schema: The columns of the rows of events.
        changed_events: The events that the present batch changed; None if it changed none.
        changed_results: The results that the present batch changed.
    """

    def __init__(self, codec: Codec) -> None:
        """Make an empty store, whose waiting rows are written by a codec."""
        numbers = dict.fromkeys((START, SERIAL, EVENT_ID), COUNTED)  # whole numbers, which are never merged
        super().__init__(ColumnFormat(parts=numbers))
        self.live = LiveEvents()
        self.ended = StretchPieces()
        self.waiting = WaitingRows()
        self.results = LiveResults()
        self.schema = pa.schema([])
        self.changed_events: ChangedEvents | None = None
        self.changed_results = EMPTY
        self._waiting_codec = codec
        self._stored_waiting: bytes | None = None

    def __len__(self) -> int:
        """The number of events; a partial state of several ended events counts them all."""
        return len(self.live) + self.ended.rows

    @property
    def sizes(self) -> StateSize:
        """The numbers of keys, events and live results, and the bytes of the waiting rows."""
        waiting_bytes = len(self._stored_waiting or b"")
        key_count = len(self.used_codes())
        return StateSize(bytes=waiting_bytes, keys=key_count, events=len(self), windows=len(self.results))

    @property
    def memory(self) -> int:
        """The bytes that the store takes in memory, roughly."""
        events = self.live.held.nbytes + _INDEX_BYTES * len(self.live)
        return events + self.ended.nbytes + self.results.held.nbytes + self.keys.nbytes

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""
        codes = (self.live.held.keys, self.waiting.codes, self.ended.used_codes(), self.results.held.keys)
        return reduce(np.union1d, codes)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.live.renumber(new_codes)
        self.waiting.renumber(new_codes)
        self.ended.renumber(new_codes)
        self.results.renumber(new_codes)

    def record_changes(self, tables: Sequence[StretchTable], *, new_count: int) -> None:
        """Remember the events that a batch changed until they are written.

        Args:
            tables: The events as they are now; those of which the log has no record yet come last.
            new_count: The number of these last ones.
        """
        if tables:
            events = concat(tables)
            are_stored = np.arange(len(events)) < len(events) - new_count  # all but the last ones
            self.changed_events = ChangedEvents(events, are_stored)

    def restore_waiting(self, cells: Cells) -> None:
        """Read the rows that wait."""
        self._stored_waiting = cells.get(WAITING)
        if self._stored_waiting is not None:
            self.schema = self.waiting.restore(self._stored_waiting, self.keys, self._waiting_codec)

    def write_waiting(self, cells: Cells) -> None:
        """Write the rows that wait, if they changed."""
        waiting_bytes = None
        if self.waiting.by_key:
            waiting_bytes = self.waiting.to_bytes(self.keys, self._waiting_codec, self.schema)
        if waiting_bytes == self._stored_waiting:
            return

        # None stands for no waiting rows, which have no cell.
        if waiting_bytes is None:
            cells.remove(WAITING)
        else:
            cells.put(WAITING, waiting_bytes)
        self._stored_waiting = waiting_bytes

    def read_records(self, entries: Sequence[LogEntry]) -> LastRecords:
        """Return the last record of each event in the log, and the last one of each result."""
        event_tables: list[StretchTable] = [EMPTY]
        result_tables: list[StretchTable] = [EMPTY]
        for records in self.codec.read_stretches(entries):
            if EVENT_ID in records.parts:
                result_tables.append(records)
            if START in records.parts:
                event_tables.append(with_absolute_starts(records))

        events = concat(event_tables)
        if len(events):
            events = latest_events(events)

        results = concat(result_tables)
        # All records of a batch have its number, and its entries may be read in any order. Sorting by weight puts a
        # retraction, of weight -1, before the result that the same batch emitted instead.
        results = results.take(np.argsort(results.weight, kind="stable"))
        if len(results):
            # Each result of a window has an id of its own, but they are records of one thing. So all records get the
            # same id here: only the key and the start of the window tell one thing from another.
            same_id = np.zeros(len(results), np.int64)
            results = latest(results, same_id, results.low)
        return LastRecords(events, results)

    def write_batch(self, records: StretchTable, serial: int) -> list[Entry]:
        """Encode the records of a batch, of events or of results, as log entries.

        Args:
            records: The records.
            serial: The number of the batch.
        """
        return self._write_records(recorded(records, serial))

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible: only the last record of each event and result counts."""
        del first_live
        last_records = self.read_records(entries)
        return [*self._write_records(last_records.events), *self._write_records(last_records.results)]

    def plain_rows(self, records: StretchTable) -> Iterator[RecordRow]:
        """Yield records as Python values."""
        if len(records):
            table = records.parts[ROWS].table
            keys = keys_in(self.keys.take(records.keys))
            values = tuples_of(table, table.column_names)
            yield from map(RecordRow, keys, records.low.tolist(), records.high.tolist(), values)

    def _write_records(self, records: StretchTable) -> list[Entry]:
        """Encode records, all of events or all of results, as log entries."""
        if START not in records.parts:  # only records of events have this part
            return self.codec.write(records)
        # An entry of events never dies by itself: without the last record of an event, an earlier one would count
        # again.
        entries = self.codec.write(with_relative_starts(records))
        return [entry._replace(last=INFINITY) for entry in entries]
