"""Windows that follow from stretches between ticks: sessions, and the snapshots of events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray
from muntin_engine.evaluators.arrays.geometry.sessions_and_snapshots import (
    are_past,
    cut_starts,
    sessions_of,
    snapshots_of,
)
from muntin_engine.evaluators.arrays.geometry.window_geometry import EntryMerging, StretchGeometry
from muntin_engine.evaluators.arrays.store.stretch_store import StretchStore
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable, concat, ends_before
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.log import Entry, LogEntry
from muntin_engine.time.inputs_progress import InputsProgress


class TickGeometry(StretchGeometry):
    """Windows whose edges are ticks of rows: stretches are whole events until they arrive in their bucket.

    A row is late if it lies before the watermark of the batches before its own; that is decided row by row, before
    anything is joined. A window is complete when the watermark is past its end: an event at the end of a session would
    still belong to it.

    Cost: a sort of the live stretches for each batch that brings rows or moves the watermark. What a batch brought
    stays in the log until a log of garbage is written anew, or no window is left that began before its end.
    """

    @abstractmethod
    def join(self, tables: Sequence[StretchTable], keys: KeyTable) -> StretchTable:
        """Join the live stretches and those of batches; this may change values of the first table in place."""

    @abstractmethod
    def ended(self, whole: StretchTable, first: int, last: int) -> StretchTable:
        """Return the windows that end at the watermark `first` or later, and before the watermark `last`."""

    @abstractmethod
    def live(self, whole: StretchTable, watermark: int) -> StretchTable:
        """Return the part of all stretches that open windows need."""

    @abstractmethod
    def are_live(self, stretches: StretchTable, whole: StretchTable, watermark: int) -> BoolArray:
        """Return for each stretch of the log whether open windows need it, given all that is live."""

    def lift(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the stretch of each row for each bucket."""
        return self.values.lift_each(rows)

    def stage(self, progress: InputsProgress) -> int:
        """Return the watermark: each tick may end a window."""
        return progress.least.watermark

    def first_in_time(self, previous: InputsProgress) -> int:
        """Return the watermark, before which a row is late."""
        return previous.least.watermark

    def restore(self, store: StretchStore, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Join the entries of the log, without what has ended but shares an entry with what lives."""
        del cells
        store.stretches.replace(*store.codec.read_stretches(entries))
        self._drop_ended(store, progress.least.watermark)

    def completed(
        self, store: StretchStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[ResultWindows]:
        """Yield the windows that ended between two watermarks."""
        whole = self._whole(store)
        if whole is None:
            return
        windows = self.ended(whole, previous.least.watermark, progress.least.watermark)
        if self._at_end:  # a window without an end has no point there
            windows = windows.where(windows.high < INFINITY)
        if len(windows):
            yield self.window_results(store, 0, windows)

    def forget(self, store: StretchStore, previous: InputsProgress, progress: InputsProgress) -> None:
        """Drop what ends before the watermark."""
        if previous.least.watermark != progress.least.watermark:
            self._drop_ended(store, progress.least.watermark)

    def write(self, store: StretchStore, state: BucketState, progress: InputsProgress) -> None:
        """Write what a batch brought of open windows, and the log anew when more than half of it is garbage."""
        log = state.log
        watermark = progress.least.watermark
        unwritten = store.take_unwritten()
        log.forget(self.first_start(store))
        if unwritten is not None:
            # It may have been joined to the live stretches by now. Its values are still those of the batch, because
            # `join` changes only values of the first table, and the batch was the last one.
            log.append(store.codec.write(self._live_part(store, unwritten, watermark)))
        live_bytes = store.codec.size_of(len(store.stretches))
        log.tidy(EntryMerging(self, store, progress), live_bytes, lambda: self._whole_entries(store))

    def merge_entries(
        self, store: StretchStore, entries: Sequence[LogEntry], first_live: int, progress: InputsProgress
    ) -> list[Entry]:
        """Merge log entries into as few as possible, upgrading them."""
        del first_live
        stretches = self.join(store.codec.read_stretches(entries), store.keys)
        return store.codec.write(self._live_part(store, stretches, progress.least.watermark))

    def first_start(self, store: StretchStore) -> int:
        """Return the least start of an open window; `INFINITY` if there is none."""
        return min((int(piece.low.min()) for piece in store.stretches.tables), default=INFINITY)

    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the output watermark of windows that follow events."""
        return watermark_of_open_windows(progress, first_start, at_end=self._at_end)

    def _whole(self, store: StretchStore) -> StretchTable | None:
        """Return all live stretches, joined; None if there are none."""
        tables = store.stretches.tables
        if len(tables) > 1:
            store.stretches.replace(self.join(tables, store.keys))
        return store.stretches.tables[0] if store.stretches.tables else None

    def _drop_ended(self, store: StretchStore, watermark: int) -> None:
        """Drop the stretches that no open window needs."""
        whole = self._whole(store)
        if whole is not None:
            store.stretches.replace(self.live(whole, watermark))

    def _live_part(self, store: StretchStore, stretches: StretchTable, watermark: int) -> StretchTable:
        """Select the stretches of the log that open windows need."""
        whole = self._whole(store)
        if whole is None:
            return stretches.take(slice(0, 0))
        return stretches.where(self.are_live(stretches, whole, watermark))

    def _whole_entries(self, store: StretchStore) -> list[Entry]:
        """Encode all live stretches, to write the log anew."""
        whole = self._whole(store)
        return [] if whole is None else store.codec.write(whole)


class SessionGeometry(TickGeometry):
    """Sessions: stretches of a key that overlap or touch are fused into one."""

    def add(self, store: StretchStore, rows: Sequence[StretchTable]) -> None:
        """Fuse the rows of a batch into sessions, and add these."""
        if rows:
            stretches = concat(rows)
            store.unwritten = self.values.lift_groups(stretches, sessions_of(stretches), store.keys)
            store.stretches.tables.append(store.unwritten)

    def join(self, tables: Sequence[StretchTable], keys: KeyTable) -> StretchTable:
        """Fuse stretches into sessions, one partial state each."""
        if len(tables) == 1:
            return tables[0]
        stretches = concat(tables)
        return self.values.merge(stretches, sessions_of(stretches), keys)

    def ended(self, whole: StretchTable, first: int, last: int) -> StretchTable:
        """Return the sessions that end at the watermark `first` or later, and before the watermark `last`."""
        return whole.where(ends_before(whole.high, last) & ~ends_before(whole.high, first))

    def live(self, whole: StretchTable, watermark: int) -> StretchTable:
        """Return the sessions that do not end before the watermark."""
        return whole.alive(watermark)

    def are_live(self, stretches: StretchTable, whole: StretchTable, watermark: int) -> BoolArray:
        """Return for each stretch whether it is part of a live session."""
        del watermark
        # Only the keys and the edges matter: without their values, tables of different kinds can be put together.
        bare = [replace(table, weight=table.low, parts={}) for table in (whole, stretches)]
        codes = sessions_of(concat(bare)).codes
        is_live = np.zeros(len(codes), np.bool_)
        is_live[codes[: len(whole)]] = True
        return is_live[codes[len(whole) :]]


class SnapshotGeometry(TickGeometry):
    """Snapshots: each event stays a stretch of its own, and windows lie between neighbouring edges of a key.

    The events that began before the watermark are cut: they begin at the last edge of their key before the watermark,
    where its first open snapshot starts. So an event that ended there need not be held.

    Cost: a few passes over the live events for each batch, and a sort of the edges that the watermark passes.
    """

    def add(self, store: StretchStore, rows: Sequence[StretchTable]) -> None:
        """Add the events of a batch."""
        if rows:
            store.unwritten = concat(rows)
            store.stretches.tables.append(store.unwritten)

    def join(self, tables: Sequence[StretchTable], keys: KeyTable) -> StretchTable:
        """Put events side by side."""
        del keys
        return concat(tables)

    def ended(self, whole: StretchTable, first: int, last: int) -> StretchTable:
        """Return the snapshots that end at the watermark `first` or later, and before the watermark `last`."""
        return whole.take(slice(0, 0)) if first == last else snapshots_of(whole, first, last)

    def live(self, whole: StretchTable, watermark: int) -> StretchTable:
        """Return the events that do not end before the watermark; those that begin before it are cut.

        Events that were cut at an earlier watermark, or at this one, may be cut again: the result is the same.
        """
        is_over = ends_before(whole.high, watermark)
        cut = replace(whole, low=cut_starts(whole, watermark))
        return cut.take(np.flatnonzero(~is_over)) if is_over.any() else cut

    def are_live(self, stretches: StretchTable, whole: StretchTable, watermark: int) -> BoolArray:
        """Return for each event, before it is cut, whether it is live, or ended where an open snapshot starts."""
        is_live: BoolArray = ~are_past(stretches, whole, watermark)
        return is_live


def watermark_of_open_windows(progress: InputsProgress, first_start: int, *, at_end: bool) -> int:
    """Return the output watermark of windows that follow events: none starts before the first open one.

    Args:
        progress: The progress.
        first_start: The least start of an open window; `INFINITY` if there is none.
        at_end: True if results are points at the ends of windows, which lie past the watermark of the input.
    """
    watermark = progress.least.watermark
    return watermark if at_end or watermark == INFINITY else min(watermark, first_start)
