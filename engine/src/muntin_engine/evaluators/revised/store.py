"""The events with ids of one bucket, as arrays: admission, windows, and the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY, EmitPolicy, TimestampPolicy
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome
from muntin_engine.evaluators.arrays.bound_form import BoundForm
from muntin_engine.evaluators.arrays.coding import encode
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.key_table import key_columns, keys_in, named_keys
from muntin_engine.evaluators.arrays.lifting import Rows, row_parts
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.arrays.results import EVENT_ID, Closed
from muntin_engine.evaluators.arrays.rows import RowValues
from muntin_engine.evaluators.arrays.stores import grid_watermark, session_watermark
from muntin_engine.evaluators.arrays.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.evaluators.arrays.values import COUNTED, Dense
from muntin_engine.evaluators.keyed.intake import Filter
from muntin_engine.evaluators.revised.events import SERIAL, START, LiveEvents, latest, latest_events, recorded
from muntin_engine.evaluators.revised.incoming import NOTHING, IncomingRows, PlainChanges, classify
from muntin_engine.evaluators.revised.live_results import LiveResults
from muntin_engine.evaluators.revised.slow_path import Admitted, WaitingRows, admit
from muntin_engine.evaluators.revised.windows import RevisedGrid, RevisedSnapshots
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import BucketState, StateSize
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.state.stored_bucket import HeldRow, payload_of, waiting_row
from muntin_engine.time.changes import InputChange, Key, Progress, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.python_values import tuples_of
from muntin_engine.wire.value_flags import flags

WAITING: Final = "waiting"
"""The name of the cell of the rows that wait for others of their event."""

ResultsOf = Callable[[Closed], pa.Table]
"""Returns the results of windows as columns `i0`, `i1` and so on."""


class _AdmittedBatch(NamedTuple):
    """The changes that a batch brought.

    Attributes:
        changed: The events that it inserted or changed, as they are now.
        is_stored: For each of them whether the log may have a record of it already.
        rejections: The late and rejected rows, by key.
        accepted: The number of rows that took effect.
        keys: The number of keys with rows.
    """

    changed: StretchTable | None
    is_stored: BoolArray
    rejections: Sequence[tuple[Key, Rejection]]
    accepted: int
    keys: int


def revised_query(
    query: EvaluatorQuery, forms: Sequence[BoundForm], codec: Codec, results_of: ResultsOf | None = None
) -> ArrayQuery:
    """Return windows of events with ids as their buckets see them.

    Args:
        query: The query.
        forms: Its forms.
        codec: How waiting rows are written.
        results_of: Returns results as columns that can be stored; only those that are emitted early need it.
    """
    grid, is_final = query.window.grid(), query.emit is EmitPolicy.FINAL
    at_end = query.timestamps is TimestampPolicy.POINT_AT_END
    if grid is None:
        output_watermark = partial(session_watermark, at_end=at_end)
    else:
        output_watermark = partial(grid_watermark, [SliceGrid.of(grid)], at_end=at_end)

    def stage(progress: InputsProgress) -> tuple[int, ...]:
        (now,) = progress.inputs
        return (now.watermark,) if is_final else (now.watermark, now.max_event_time, now.horizon)

    return ArrayQuery(
        partial(RevisedStore, query, forms, codec, None if is_final else results_of),
        stage,
        output_watermark,
        closed_tables,
    )


def windows_of(query: EvaluatorQuery) -> RevisedGrid | RevisedSnapshots:
    """Return the windows of a query, which are snapshots or lie on a grid, for a new store."""
    at_end, grid = query.timestamps is TimestampPolicy.POINT_AT_END, query.window.grid()
    if grid is None:
        return RevisedSnapshots((), at_end=at_end)
    return RevisedGrid(SliceGrid.of(grid), at_end=at_end, is_eager=query.emit is EmitPolicy.EAGER)


class RevisedStore(ArrayStore):
    """The live events of a bucket, the rows that wait for others, the results that may change, and the log of all.

    Cost: one write for what a batch changed, and a few passes over the live events. The log is written anew when more
    than half of it is garbage.
    """

    def __init__(
        self, query: EvaluatorQuery, forms: Sequence[BoundForm], codec: Codec, results_of: ResultsOf | None
    ) -> None:
        """Make an empty store; see `revised_query`. Without a function for results, these are final."""
        self._query, self._forms, self._codec, self._results_of = query, forms, codec, results_of
        self._filter, self._windows = Filter(query.keeps), windows_of(query)
        self._entries = FormEntries((), dict.fromkeys((START, SERIAL, EVENT_ID), COUNTED))
        self._keys = self._entries.keys
        self._live, self._waiting, self._output = LiveEvents(), WaitingRows(), LiveResults()
        self._schema = pa.schema([])
        self._stored_waiting: bytes | None = None

    def restore(self, entries: Sequence[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Take what the log says, and the rows that waited."""
        watermark, self._stored_waiting = at.least.watermark, cells.get(WAITING)
        if self._stored_waiting is not None:
            self._schema = self._waiting.restore(self._stored_waiting, self._keys, self._codec)
        events, self._output.held = self._read(entries)
        self._output.held = self._output.held.where(self._output.held.weight > 0)
        self._output.forget(watermark)
        if len(events):
            self._schema = events.parts[ROWS].whole.schema
            self._add(events.where(events.high > events.parts[START].array))
            self._windows.forget(self._live, watermark)

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Admit the rows of a batch, emit windows, and write what changed.

        Args:
            blobs: The rows, as tables with key columns, `id`, `start`, `end`, `new_end` and the payload.
            before: The progress before the batch, by which rows are late.
            now: The progress after it, by which they stop waiting for others.
            state: Where it writes.
        """
        self._keys.forget_others(self)
        at, until, log = before.least.watermark, now.least.watermark, state.log
        taken = self._admit(blobs, at, until)
        output = list(self._emitted(taken.changed, before.least, now.least))
        self._windows.forget(self._live, until)
        closed = self._output.forget(until)
        serial, entries = log.serial + 1, list[Entry]()
        if taken.changed is not None:
            is_over = self._windows.are_over(taken.changed, self._live, until)
            entries += self._written(taken.changed.where(~is_over | taken.is_stored), serial)
        if self._results_of is not None:
            for _, changes, *_ in output:
                entries += self._written(changes.where(changes.high > until), serial)
        else:
            closed = sum(map(Closed.window_count, output))
        log.forget(min(until, INFINITY - 1) + 1)  # events never die by themselves, and results with their windows
        log.append(entries)
        size = self._entries.size_of(len(self) + len(self._output))
        log.tidy(self, size, lambda: self._whole(log.read(), serial, until))
        self._write_waiting(state.cells)
        return BatchOutcome(output, taken.accepted, taken.keys, 0, taken.rejections, closed)

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, in as few as possible."""
        del first_live
        return [entry for records in self._read(entries) for entry in self._lasting(records)]

    def __len__(self) -> int:
        """Return the number of events that are kept."""
        return len(self._live) + self._windows.ended.rows

    @property
    def held(self) -> StateSize:
        """The sizes of what is held."""
        return StateSize(len(self._stored_waiting or b""), len(self.keys()), len(self), len(self._output))

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory."""
        events = self._live.held.nbytes + 24 * len(self._live)  # an id, a number for it, and a place each
        return events + self._windows.ended.nbytes + self._output.held.nbytes + self._keys.nbytes

    @property
    def first_start(self) -> int:
        """The least start of an open window that events have cut; `INFINITY` if there is none."""
        return self._windows.first_start(self._live)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        ended = self._windows.ended.keys()
        return reduce(np.union1d, (self._live.held.keys, self._waiting.codes, ended, self._output.held.keys))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._live.renumber(places)
        self._waiting.renumber(places)
        self._windows.ended.renumber(places)
        self._output.held = self._output.held.with_keys(places[self._output.held.keys])

    def held_rows(self, given: QueryIdentity, entries: Sequence[StoredEntry], watermark: int) -> Iterator[HeldRow]:
        """Yield what is held, once it is restored.

        Args:
            given: The properties of the input.
            entries: The log: events that have ended lie there alone.
            watermark: The watermark, by which these are over.
        """
        events, _ = self._read(entries)
        if len(events):
            is_present = events.high > events.parts[START].array
            events = events.where(is_present & ~self._windows.are_over(events, self._live, watermark))
        for (key, start, end, (id, *payload)), weight in zip(self._plain(events), events.weight.tolist(), strict=True):
            kind = "event" if weight else "filtered"
            yield HeldRow(kind, key, start, end, payload_of(given, payload), id=id, events=1)
        for key, start, end, values in self._plain(self._output.held):
            yield HeldRow("result", key, start, end, values)
        for code, of_key in self._waiting.by_key.items():
            (key,) = keys_in(self._keys.take(np.array([code])))
            for row in (row for some in of_key.values() for row in some.rows):
                yield waiting_row(given, row)._replace(key=key)

    def _plain(self, some: StretchTable) -> Iterator[tuple[Key, int, int, tuple[Any, ...]]]:
        if len(some):
            table, keys = some.parts[ROWS].table, keys_in(self._keys.take(some.keys))
            values = tuples_of(table, table.column_names)
            yield from zip(keys, some.low.tolist(), some.high.tolist(), values, strict=True)

    def _admit(self, blobs: Sequence[bytes], before: int, now: int) -> _AdmittedBatch:
        """Change the live events as the rows of a batch say."""
        rows, left_out, waited, keys = 0, 0, self._filter.count(self._waiting.rows), 0
        plain, inserted = NOTHING, list[StretchTable]()
        changes = dict[int, list[InputChange]]()
        if blobs:
            table = pa.concat_tables(list(map(from_blob, blobs))).combine_chunks()
            rows, (codes, keys) = len(table), self._codes_of(table)
            incoming = IncomingRows.of(table, codes)
            hashes = self._waiting.hashes(is_whole=incoming.ids.dtype != np.object_)
            plain = classify(incoming, self._live, hashes, before)
            own = table.select(["id", *incoming.payload_names])
            self._schema = own.schema
            changes = incoming.changes(plain.others)
            if self._query.keeps is not None:
                left_out = int(np.count_nonzero(incoming.is_insertion & ~flags(own.columns[-1])))
            if len(at := plain.inserted):
                new = own.take(pa.array(at))
                inserted.append(self._events(incoming.codes[at], incoming.starts[at], plain.ends, new))
        admitted = Admitted()
        if changes or self._waiting.by_key:
            admitted = admit(self._query, self._keys, self._live, self._waiting, changes, (before, now))
        if admitted.new:
            times = [(code, event.start, event.end) for code, event in admitted.new]
            codes, starts, ends = np.array(times, np.int64).T
            inserted.insert(0, self._events(codes, starts, ends, admitted.rows(self._schema)))
        changed = [*self._changed(plain, admitted), *inserted]
        total = sum(map(len, changed))
        is_stored = np.arange(total) < total - len(plain.inserted)
        if inserted:
            self._add(concat(inserted))
        rejections = [(key, one) for key, one in admitted.rejections if self._filter.counts(one.change)]
        accepted = waited + rows - left_out - len(rejections) - self._filter.count(self._waiting.rows)
        return _AdmittedBatch(concat(changed) if changed else None, is_stored, rejections, accepted, keys)

    def _emitted(self, changed: StretchTable | None, before: Progress, now: Progress) -> Iterable[Closed]:
        """Yield windows that are complete, or the changes of results that are not final."""
        are_touched = None
        if self._results_of is not None:
            are_touched = np.zeros(len(self._keys), np.bool_)
            are_touched[[] if changed is None else changed.keys] = True
        windows = self._windows.windows(self._live, before, now, are_touched)
        closed = [Closed(0, some, self._keys.take(some.keys)) for some in windows if len(some)]
        if self._results_of is None or are_touched is None:
            return closed
        found = [replace(some.windows, parts={ROWS: RowValues.of(self._results_of(some))}) for some in closed]
        changes = self._output.replace(concat([EMPTY, *found]), are_touched, self.serial)
        self.serial += int(np.count_nonzero(changes.weight > 0))
        return [Closed(0, changes, self._keys.take(changes.keys))] if len(changes) else []

    def _codes_of(self, table: pa.Table) -> tuple[IntArray, int]:
        """Return the code of each row's key, and the number of keys."""
        columns = [table.column(name).combine_chunks() for name in table.column_names if name[0] == "k"]
        coded = encode(columns, len(table))
        keys = named_keys([column.take(pa.array(coded.first)) for column in columns], coded.size)
        codes = self._keys.codes(keys)
        return codes[coded.codes], len(np.unique(codes))

    def _events(self, codes: IntArray, starts: IntArray, ends: IntArray, rows: pa.Table) -> StretchTable:
        """Return events as a batch; the last column says whether the filter of the query lets each in."""
        is_member = np.ones(len(codes), np.bool_) if self._query.keeps is None else flags(rows.columns[-1])
        parts = {START: Dense(COUNTED, starts), ROWS: RowValues.of(rows)}
        return StretchTable(codes, starts, ends, is_member.astype(np.int8), parts)

    def _changed(self, plain: PlainChanges, admitted: Admitted) -> list[StretchTable]:
        """Change live events, and return those that were: what was deleted ends where it starts."""
        more = np.array(admitted.moved, np.int64).reshape(-1, 2)
        moved = np.concatenate([plain.moved, more[:, 0]])
        deleted = np.concatenate([plain.deleted, np.array(admitted.deleted, np.int64)])
        found = []
        if len(moved):
            self._live.end_at(moved, np.concatenate([plain.new_ends, more[:, 1]]))
            found.append(self._live.bare(moved))
        if len(deleted):
            gone = self._live.bare(deleted)
            found.append(replace(gone, high=gone.parts[START].array))
        is_kept = np.ones(len(self._live), np.bool_)
        is_kept[[*deleted, *admitted.replaced]] = False
        self._live.keep(is_kept)
        return found

    def _add(self, events: StretchTable) -> None:
        """Add events to the live ones, as partial states."""
        if not len(events):
            return
        order, table, keys = np.arange(len(events)), events.parts[ROWS].table, self._keys.take(events.keys)
        inputs = [column.combine_chunks() for column in table.columns[1:]]
        rows = Rows(1, events.parts[START].array, events.high, key_columns(keys), inputs)
        parts = row_parts(self._forms, rows, events.high, order)
        self._live.add(replace(events, parts={**events.parts, **parts}))

    def _read(self, entries: Sequence[StoredEntry]) -> tuple[StretchTable, StretchTable]:
        """Return the last records of events, and of results."""
        found = [self._entries.decoded(entry).batch for entry in entries]
        results = concat([EMPTY, *(batch for batch in found if EVENT_ID in batch.parts)])
        # a batch takes a result back and emits another one under one number, and its entries may come in any order
        results = results.take(np.argsort(results.weight, kind="stable"))
        events = concat([EMPTY, *(_with_starts(batch) for batch in found if START in batch.parts)])
        return (
            latest_events(events) if len(events) else events,
            latest(results, np.zeros(len(results), np.int64), results.low) if len(results) else results,
        )

    def _written(self, records: StretchTable, serial: int) -> list[Entry]:
        """Return the records of a batch, of events or of results, as entries."""
        return self._lasting(recorded(records, serial))

    def _lasting(self, records: StretchTable) -> list[Entry]:
        """Return records as entries; one of events never dies by itself, as a later one may be about the same event."""
        if START not in records.parts:
            return self._entries.write(records)
        return [entry._replace(last=INFINITY) for entry in self._entries.write(_with_starts(records))]

    def _whole(self, entries: Sequence[StoredEntry], serial: int, watermark: int) -> list[Entry]:
        """Encode all that is kept; of events that have ended, the log alone has the rows."""
        if self._windows.ended.rows:
            events, _ = self._read(entries)
            is_present = events.high > events.parts[START].array
            events = events.where(is_present & ~self._windows.are_over(events, self._live, watermark))
        else:
            events = self._live.bare(np.arange(len(self._live)))
        return [*self._written(events, serial), *self._written(self._output.held, serial)]

    def _write_waiting(self, cells: Cells) -> None:
        rows = self._waiting.to_bytes(self._keys, self._codec, self._schema) if self._waiting.by_key else None
        if rows == self._stored_waiting:
            return
        if rows is None:
            cells.remove(WAITING)
        else:
            cells.put(WAITING, rows)
        self._stored_waiting = rows


def _with_starts(records: StretchTable) -> StretchTable:
    """Count the starts of events back from where their stretches begin, as they lie in the log, or undo that."""
    starts = Dense(COUNTED, records.low - records.parts[START].array)
    return replace(records, parts={**records.parts, START: starts})
