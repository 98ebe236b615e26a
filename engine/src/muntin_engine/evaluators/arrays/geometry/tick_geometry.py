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
        """Join the stretches of several tables to one table; values of the first table may be changed in place."""

    @abstractmethod
    def ended(self, live_stretches: StretchTable, previous_watermark: int, watermark: int) -> StretchTable:
        """Return the windows that end at the previous watermark or later, and before the present one."""

    @abstractmethod
    def without_ended(self, live_stretches: StretchTable, watermark: int) -> StretchTable:
        """Drop the stretches that no open window needs any more; cut off the parts of others that no open one needs."""

    @abstractmethod
    def are_live(self, stretches: StretchTable, live_stretches: StretchTable, watermark: int) -> BoolArray:
        """Return for each of `stretches`, as the log has them, whether open windows need it.

        Args:
            stretches: The stretches of log entries, which were not joined with others.
            live_stretches: All live stretches of the bucket, joined.
            watermark: The watermark.
        """

    def lift(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield for each bucket the stretches of its rows, one for each row."""
        return self.values.lift_each(rows)

    def stage(self, progress: InputsProgress) -> int:
        """Return the watermark: each tick may end a window."""
        return progress.least.watermark

    def first_in_time(self, previous: InputsProgress) -> int:
        """Return the watermark, before which a row is late."""
        return previous.least.watermark

    def restore(self, store: StretchStore, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Read the stretches of the log that open windows need."""
        del cells
        tables = store.codec.read_stretches(entries)
        if tables:
            # Also if there is only one entry: a stretch of many rows is written in pieces, which may lie in one entry.
            store.stretches.replace(self.join(tables, store.keys))
        # An entry stays in the log until the last of its stretches has ended: others of its stretches may have ended.
        self._drop_ended(store, progress.least.watermark)

    def completed(
        self, store: StretchStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[ResultWindows]:
        """Yield the windows that end at the previous watermark or later, and before the present one."""
        live_stretches = self._joined(store)
        if live_stretches is None:
            return
        windows = self.ended(live_stretches, previous.least.watermark, progress.least.watermark)
        if self._at_end:  # a window without an end has no point there
            windows = windows.where(windows.high < INFINITY)
        if len(windows):
            yield self.window_results(store, place=0, windows=windows)

    def forget(self, store: StretchStore, previous: InputsProgress, progress: InputsProgress) -> None:
        """Drop the stretches that end before the watermark, if it has moved."""
        if previous.least.watermark != progress.least.watermark:
            self._drop_ended(store, progress.least.watermark)

    def write(self, store: StretchStore, state: BucketState, progress: InputsProgress) -> None:
        """Write the stretches of the batch that open windows need; write the log anew if most of it is garbage."""
        log = state.log
        watermark = progress.least.watermark
        unwritten = store.take_unwritten()
        # No open window needs a stretch that ends before the first open window starts.
        log.forget(self.first_start(store))
        if unwritten is not None:
            # By now the store may have joined the stretches of the batch to the live ones. `unwritten` still has their
            # values: `join` changes at most the values of its first table, and `add` puts `unwritten` last.
            log.append(store.codec.write(self._live_part(store, unwritten, watermark)))
        live_bytes = store.codec.size_of(len(store.stretches))
        log.tidy(EntryMerging(self, store, progress), live_bytes, whole=lambda: self._all_entries(store))

    def merge_entries(
        self, store: StretchStore, entries: Sequence[LogEntry], first_live: int, progress: InputsProgress
    ) -> list[Entry]:
        """Merge log entries into as few as possible, upgrading them."""
        del first_live
        stretches = self.join(store.codec.read_stretches(entries), store.keys)
        return store.codec.write(self._live_part(store, stretches, progress.least.watermark))

    def first_start(self, store: StretchStore) -> int:
        """Return the least start of an open window; `INFINITY` if there is none."""
        piece_starts = [int(piece.low.min()) for piece in store.stretches.tables]  # a store has no empty pieces
        return min(piece_starts, default=INFINITY)

    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the output watermark of windows that follow events."""
        return watermark_of_open_windows(progress, first_start, at_end=self._at_end)

    def _joined(self, store: StretchStore) -> StretchTable | None:
        """Join all live stretches to one piece, which the store holds from now on; return None if there are none."""
        tables = store.stretches.tables
        if len(tables) > 1:
            store.stretches.replace(self.join(tables, store.keys))
        return store.stretches.tables[0] if store.stretches.tables else None

    def _drop_ended(self, store: StretchStore, watermark: int) -> None:
        """Drop the stretches of a store that no open window needs."""
        live_stretches = self._joined(store)
        if live_stretches is not None:
            store.stretches.replace(self.without_ended(live_stretches, watermark))

    def _live_part(self, store: StretchStore, stretches: StretchTable, watermark: int) -> StretchTable:
        """Select the stretches that open windows need.

        Args:
            store: The store, with the live stretches.
            stretches: The stretches of the batch, or of log entries.
            watermark: The watermark.
        """
        live_stretches = self._joined(store)
        if live_stretches is None:
            return stretches.take(slice(0, 0))  # an empty table with the parts of other tables
        return stretches.where(self.are_live(stretches, live_stretches, watermark))

    def _all_entries(self, store: StretchStore) -> list[Entry]:
        """Encode all live stretches, to write the log anew."""
        live_stretches = self._joined(store)
        return [] if live_stretches is None else store.codec.write(live_stretches)


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
        stretches = tables[0] if len(tables) == 1 else concat(tables)
        sessions = sessions_of(stretches)
        if len(tables) == 1 and len(sessions.keys) == len(stretches):
            return stretches  # each stretch is a session already
        return self.values.merge(stretches, sessions, keys)

    def ended(self, live_stretches: StretchTable, previous_watermark: int, watermark: int) -> StretchTable:
        """Return the sessions that end at the previous watermark or later, and before the present one."""
        has_ended = ends_before(live_stretches.high, watermark)
        had_ended = ends_before(live_stretches.high, previous_watermark)
        return live_stretches.where(has_ended & ~had_ended)

    def without_ended(self, live_stretches: StretchTable, watermark: int) -> StretchTable:
        """Drop the sessions that end before the watermark."""
        return live_stretches.alive(watermark)

    def are_live(self, stretches: StretchTable, live_stretches: StretchTable, watermark: int) -> BoolArray:
        """Return for each of `stretches` whether it is part of a live session."""
        del watermark
        # Only keys, starts and ends matter. Without their values, tables with different parts can be put together.
        live_ends = replace(live_stretches, parts={})
        ends = replace(stretches, parts={})
        codes = sessions_of(concat([live_ends, ends])).codes

        # A session is live if a live stretch is part of it. The codes of the live stretches come first.
        live_count = len(live_stretches)
        is_live = np.zeros(len(codes), np.bool_)
        is_live[codes[:live_count]] = True
        return is_live[codes[live_count:]]


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
        """Put the events of several tables side by side; events of snapshots are never merged."""
        del keys
        return concat(tables)

    def ended(self, live_stretches: StretchTable, previous_watermark: int, watermark: int) -> StretchTable:
        """Return the snapshots that end at the previous watermark or later, and before the present one."""
        if previous_watermark == watermark:
            return live_stretches.take(slice(0, 0))  # an empty table with the parts of other tables
        return snapshots_of(live_stretches, previous_watermark, watermark)

    def without_ended(self, live_stretches: StretchTable, watermark: int) -> StretchTable:
        """Drop the events that end before the watermark, and cut those that begin before it.

        A cut event begins with the first open snapshot of its key. Events that were cut at an earlier watermark, or at
        this one, may be cut again: the result is the same.
        """
        # Ended events are needed for the cuts: the first open snapshot of a key may begin where one of them ends.
        cut_events = replace(live_stretches, low=cut_starts(live_stretches, watermark))
        has_ended = ends_before(live_stretches.high, watermark)
        return cut_events.where(~has_ended)

    def are_live(self, stretches: StretchTable, live_stretches: StretchTable, watermark: int) -> BoolArray:
        """Return for each of `stretches` whether it is a live event, or one that ended where an open snapshot starts.

        The events of `stretches` are not cut yet.
        """
        is_live: BoolArray = ~are_past(stretches, live_stretches, watermark)
        return is_live


def watermark_of_open_windows(progress: InputsProgress, first_start: int, *, at_end: bool) -> int:
    """Return the output watermark of windows that follow events: none starts before the first open one.

    Args:
        progress: The progress.
        first_start: The least start of an open window; `INFINITY` if there is none.
        at_end: True if results are points at the ends of windows.
    """
    watermark = progress.least.watermark
    # An open window ends at the watermark or later, and so its point is not before it; a closed stream has no windows.
    if at_end or watermark == INFINITY:
        return watermark
    return min(watermark, first_start)
