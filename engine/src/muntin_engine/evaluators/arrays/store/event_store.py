"""The store of events with ids: live events, partial states of ended ones, waiting rows, and live results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

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


class EventStore(ArrayStore):
    """The events of a bucket that rows may still be about, or that windows need.

    Attributes:
        live: The events that a row may still be about.
        ended: The partial states of the events that have ended for good, and are members of open windows.
        waiting: The rows that wait for others of their event.
        results: The results that have been emitted and may change.
        schema: The columns of the rows of events.
        changed: The events that the present batch changed; None if it changed none.
        changed_results: The results that the present batch changed.
    """

    def __init__(self, codec: Codec) -> None:
        """Make an empty store, whose waiting rows are written by a codec."""
        super().__init__(ColumnFormat(parts=dict.fromkeys((START, SERIAL, EVENT_ID), COUNTED)))
        self.live = LiveEvents()
        self.ended = StretchPieces()
        self.waiting = WaitingRows()
        self.results = LiveResults()
        self.schema = pa.schema([])
        self.changed: ChangedEvents | None = None
        self.changed_results = EMPTY
        self._waiting_codec = codec
        self._stored_waiting: bytes | None = None

    def __len__(self) -> int:
        """The number of events."""
        return len(self.live) + self.ended.rows

    @property
    def sizes(self) -> StateSize:
        """The numbers of keys, events and live results, and the bytes of the waiting rows."""
        waiting_bytes = len(self._stored_waiting or b"")
        return StateSize(waiting_bytes, len(self.used_codes()), len(self), len(self.results))

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory."""
        events = self.live.held.nbytes + _INDEX_BYTES * len(self.live)
        return events + self.ended.nbytes + self.results.held.nbytes + self.keys.nbytes

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which it holds something, ascending."""
        codes = (self.live.held.keys, self.waiting.codes, self.ended.used_codes(), self.results.held.keys)
        return reduce(np.union1d, codes)

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.live.renumber(codes)
        self.waiting.renumber(codes)
        self.ended.renumber(codes)
        self.results.renumber(codes)

    def record_changes(self, tables: Sequence[StretchTable], *, new: int) -> None:
        """Remember the events that a batch changed until they are written.

        Args:
            tables: The events as they are now.
            new: The number of events, the last ones, of which the log has no record.
        """
        if tables:
            events = concat(tables)
            are_stored = np.arange(len(events)) < len(events) - new
            self.changed = ChangedEvents(events, are_stored)

    def restore_waiting(self, cells: Cells) -> None:
        """Read the rows that wait."""
        self._stored_waiting = cells.get(WAITING)
        if self._stored_waiting is not None:
            self.schema = self.waiting.restore(self._stored_waiting, self.keys, self._waiting_codec)

    def write_waiting(self, cells: Cells) -> None:
        """Write the rows that wait, if they changed."""
        rows = None
        if self.waiting.by_key:
            rows = self.waiting.to_bytes(self.keys, self._waiting_codec, self.schema)
        if rows == self._stored_waiting:
            return
        if rows is None:
            cells.remove(WAITING)
        else:
            cells.put(WAITING, rows)
        self._stored_waiting = rows

    def read_records(self, entries: Sequence[LogEntry]) -> tuple[StretchTable, StretchTable]:
        """Return the last record of each event in the log, and the last one of each result."""
        event_tables: list[StretchTable] = [EMPTY]
        result_tables: list[StretchTable] = [EMPTY]
        for records in self.codec.read_stretches(entries):
            if EVENT_ID in records.parts:
                result_tables.append(records)
            if START in records.parts:
                event_tables.append(with_relative_starts(records))
        events = concat(event_tables)
        if len(events):
            events = latest_events(events)
        results = concat(result_tables)
        # A batch retracts a result and emits another one under one number, and its entries may come in any order.
        results = results.take(np.argsort(results.weight, kind="stable"))
        if len(results):
            results = latest(results, np.zeros(len(results), np.int64), results.low)
        return events, results

    def write_batch(self, records: StretchTable, serial: int) -> list[Entry]:
        """Encode the records of a batch, of events or of results, as log entries.

        Args:
            records: The records.
            serial: The number of the batch.
        """
        return self._write_records(recorded(records, serial))

    def compact(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible: only the last record of each event and result counts."""
        del first_live
        events, results = self.read_records(entries)
        return [*self._write_records(events), *self._write_records(results)]

    def plain_rows(self, records: StretchTable) -> Iterator[tuple[Key, int, int, tuple[Any, ...]]]:
        """Yield the key, the start, the end and the columns of records as Python values."""
        if len(records):
            table = records.parts[ROWS].table
            keys = keys_in(self.keys.take(records.keys))
            values = tuples_of(table, table.column_names)
            yield from zip(keys, records.low.tolist(), records.high.tolist(), values, strict=True)

    def _write_records(self, records: StretchTable) -> list[Entry]:
        """Encode records; one of an event never dies by itself, as a later one may be about the same event."""
        if START not in records.parts:
            return self.codec.write(records)
        entries = self.codec.write(with_relative_starts(records))
        return [entry._replace(last=INFINITY) for entry in entries]
