"""Windows on grids, of points and of events that last: what lies on the same slices of a key is merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.geometry.grid_windows import close_windows
from muntin_engine.evaluators.arrays.geometry.window_geometry import EntryMerging, StretchGeometry
from muntin_engine.evaluators.arrays.store.stretch_store import StretchPieces, StretchStore
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.slices import in_ticks, in_windows
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable, concat
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.log import MOST_DEAD, Entry, LogEntry, StateLog
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid, output_watermark
from muntin_engine.time.window_grid import NEVER

MOST_PIECES: Final = 8
"""So many pieces may the partial states of a bucket lie in before some are merged."""


class WindowRange(NamedTuple):
    """Neighbouring windows of one specification.

    Attributes:
        place: The place of the specification among those of the query.
        first: The number of the first window.
        stop: The number after that of the last window.
    """

    place: int
    first: int
    stop: int


class GridGeometry(StretchGeometry):
    """The partial states of the open windows, by key and by slice, or run of slices.

    Cost: adding and writing a batch costs what the batch brings; closing windows, what they hold. Slices that a batch
    does not touch are neither read nor written.
    """

    def __init__(self, grids: Sequence[SliceGrid], values: StretchValues, *, at_end: bool) -> None:
        """Make windows on grids.

        Args:
            grids: The windows of each specification, over slices that all of them share.
            values: The values of stretches.
            at_end: True if results are points at the ends of their windows.
        """
        super().__init__(values, at_end=at_end)
        self._grids = grids

    def lift(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield for each bucket the slices, or runs of slices, that rows are merged into."""
        return self.values.lift_into_slices(rows)

    def stage(self, progress: InputsProgress) -> tuple[int, ...]:
        """Return the first open window of each specification."""
        return first_open_windows(self._grids, progress)

    def first_in_time(self, previous: InputsProgress) -> int:
        """Return the first slice that is in time for all specifications of windows: rows before it are late."""
        first_slices: list[int] = []
        for grid, first_open in zip(self._grids, self.stage(previous), strict=True):
            first_slices.append(grid.first_legal(first_open))  # the first slice that no complete window has
        return max(first_slices)

    def restore(self, store: StretchStore, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Read the slices of the log that open windows need."""
        del cells
        for entry in entries:
            add_piece(store.stretches, store.codec.read(entry).stretches, self.values, store.keys)
        # An entry stays in the log until its last slice is dead: others of its slices may be dead already.
        forget_slices(store.stretches, self._first_live(progress))

    def add(self, store: StretchStore, rows: Sequence[StretchTable]) -> None:
        """Merge the partial states of a batch, and add them."""
        store.unwritten = self._merge_slices(rows, store.keys)
        if store.unwritten is not None:
            add_piece(store.stretches, store.unwritten, self.values, store.keys)

    def completed(
        self, store: StretchStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[ResultWindows]:
        """Yield the windows of each specification that were open before the batch, and are complete after it."""
        for place, first, stop in self._completed_ranges(previous, progress):
            if store.window_makers:  # each specification has a maker of windows, which goes on from window to window
                yield from self._slide(store, store.window_makers[place], first, stop)
                continue
            for windows in windows_of_pieces(self._grids[place], store.stretches.tables, first, stop):
                yield self.window_results(store, place, windows)

    def _slide(self, store: StretchStore, windows: SlidingWindows, first: int, stop: int) -> Iterator[ResultWindows]:
        """Yield the windows from `first` up to but not including `stop`, each made from the window before it.

        Args:
            store: The store, with the slices that enter these windows.
            windows: The maker of the windows, which has the state of the window before `first`.
            first: The number of the first window.
            stop: The number after that of the last window.
        """
        first_slice, slice_stop = windows.entering(first, stop)
        slices = settle(store.stretches, first_slice, slice_stop, self.values, store.keys)
        if slices is not None:
            # Other specifications may have windows over slices that are in a gap of this one.
            is_in_window = in_windows([windows.grid], firsts=slices.low, lasts=slices.low)
            slices = self.values.of_slices(slices.where(is_in_window))
        yield from windows.close(slices, first, stop)

    def forget(self, store: StretchStore, previous: InputsProgress, progress: InputsProgress) -> None:
        """Drop the slices that are part of no open window."""
        if self.stage(previous) != self.stage(progress):
            forget_slices(store.stretches, self._first_live(progress))

    def write(self, store: StretchStore, state: BucketState, progress: InputsProgress) -> None:
        """Write the slices of the batch that open windows need; remove log entries all of whose slices are dead."""
        log = state.log
        first_live = self._first_live(progress)
        unwritten = store.take_unwritten()
        log.forget(first_live)
        if unwritten is not None:
            log.append(store.codec.write(unwritten.alive(first_live)))
            self._compact(store, log, first_live, progress)

    def merge_entries(
        self, store: StretchStore, entries: Sequence[LogEntry], first_live: int, progress: InputsProgress
    ) -> list[Entry]:
        """Merge log entries into as few as possible, upgrading them, without dead slices."""
        del progress
        tables = [stretches.alive(first_live) for stretches in store.codec.read_stretches(entries)]
        return store.codec.write(self.values.merge_alike(tables, store.keys))

    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the tick before which no later output changes anything: a grid says where open windows start."""
        del first_start
        return output_watermark(self._grids, progress.least.watermark, at_end=self._at_end)

    def _merge_slices(self, rows: Sequence[StretchTable], keys: KeyTable) -> StretchTable | None:
        """Merge the stretches of a batch that have one key and the same slices; return None if there are none.

        Rows in gaps between windows were accepted, and are dropped here: no window will have them.
        """
        tables: list[StretchTable] = []
        for stretches in rows:
            is_in_window = in_windows(self._grids, firsts=stretches.low, lasts=stretches.high)
            in_a_window = stretches.where(is_in_window)
            if len(in_a_window):
                tables.append(in_a_window)
        if not tables:
            return None
        if len(tables) == 1:
            return tables[0]  # the stretches of one blob were merged by the map task
        return self.values.merge_alike(tables, keys)

    def _completed_ranges(self, previous: InputsProgress, progress: InputsProgress) -> Iterator[WindowRange]:
        """Yield the range of the windows of each specification that the progress completes.

        A stream that is closed completes all windows. Those that begin at the horizon or later, where no row has been,
        are left out: an event without an end would have a result in each of them, without end.
        """
        horizon = progress.least.horizon
        previous_first_open = self.stage(previous)
        first_open = self.stage(progress)
        for place, grid in enumerate(self._grids):
            first = previous_first_open[place]
            stop = min(first_open[place], grid.windows.first_unbegun(horizon))
            if stop > first:
                yield WindowRange(place, first, stop)

    def _compact(self, store: StretchStore, log: StateLog, first_live: int, progress: InputsProgress) -> None:
        """Merge log entries where there are many."""
        log.compact(EntryMerging(self, store, progress), first_live)

    def _first_live(self, progress: InputsProgress) -> int:
        """Return the first slice that is part of an open window of any specification."""
        first_slices: list[int] = []
        for grid, first_open in zip(self._grids, self.stage(progress), strict=True):
            first_slices.append(grid.first_live(first_open))  # of the first open window
        return min(first_slices)


class GrowingGeometry(GridGeometry):
    """Windows that share a start and grow slice by slice: what closed ones hold is carried on into the next ones.

    No log entry dies by itself, as later windows need it: what was merged into other entries leaves the log when that
    is written anew.
    """

    def restore(self, store: StretchStore, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Read the slices of the log; those of complete windows become one state for each key."""
        super().restore(store, entries, cells, progress)
        carry_slices(store.stretches, self._first_open(progress), self.values, store.keys)
        store.rewritten_bytes = store.codec.size_of(len(store.stretches))

    def forget(self, store: StretchStore, previous: InputsProgress, progress: InputsProgress) -> None:
        """Merge the slices of complete windows into one state for each key: open windows grow out of it.

        Where each window is made from the one before it, the makers of windows hold that state, and the slices are
        dropped.
        """
        super().forget(store, previous, progress)
        if self.stage(previous) == self.stage(progress):
            return  # no window has become complete
        if store.window_makers:
            forget_slices(store.stretches, self._first_open(progress))
        else:
            carry_slices(store.stretches, self._first_open(progress), self.values, store.keys)

    def merge_entries(
        self, store: StretchStore, entries: Sequence[LogEntry], first_live: int, progress: InputsProgress
    ) -> list[Entry]:
        """Merge log entries into as few as possible, upgrading them; a key's slices of complete windows become one."""
        first_open = self._first_open(progress)
        tables: list[StretchTable] = []
        for stretches in store.codec.read_stretches(entries):
            live_slices = stretches.alive(first_live)
            tables.append(carried(live_slices, first_open))
        return store.codec.write(self.values.merge_alike(tables, store.keys))

    def _compact(self, store: StretchStore, log: StateLog, first_live: int, progress: InputsProgress) -> None:
        """Write the log anew once it has doubled since the last time; otherwise merge entries where there are many.

        What was added since then is taken to be garbage: most of it was merged into the states of complete windows.
        """
        # With less than `MOST_DEAD` bytes of garbage, writing anew is not worth it.
        if log.size > 2 * store.rewritten_bytes + MOST_DEAD:
            log.rewrite(self.merge_entries(store, log.read(), first_live, progress))
            store.rewritten_bytes = log.size
        else:
            super()._compact(store, log, first_live, progress)

    def _first_open(self, progress: InputsProgress) -> int:
        """Return the first open window; a query with growing windows has only one specification."""
        return self.stage(progress)[0]


def first_open_windows(grids: Sequence[SliceGrid], progress: InputsProgress) -> tuple[int, ...]:
    """Return the first open window of each specification, which tells open windows from complete ones."""
    return tuple(grid.windows.first_open(progress.least.watermark) for grid in grids)


def windows_of_pieces(
    grid: SliceGrid, pieces: Sequence[StretchTable], first: int, stop: int, key_mask: BoolArray | None = None
) -> Iterator[StretchTable]:
    """Yield the windows from `first` up to but not including `stop` that have rows, from start to end in ticks.

    Args:
        grid: The slices.
        pieces: Runs of slices, each in the order of its first slices.
        first: The number of a window, or `-NEVER`, which is before all others.
        stop: The number of a window, or `NEVER`, which is after all others.
        key_mask: For each code of a key whether its windows are yielded; None if those of all keys are.
    """
    first_slice = grid.start_of(first)
    slice_stop = grid.first_legal(stop)  # the slice after the last one of window `stop - 1`
    overlapping_parts: list[StretchTable] = []
    for piece in pieces:
        overlapping = between(piece, first_slice, slice_stop)
        if key_mask is not None:
            overlapping = overlapping.where(key_mask[overlapping.keys])
        if len(overlapping):
            overlapping_parts.append(overlapping)
    if not overlapping_parts:
        return

    for windows in close_windows(grid, concat(overlapping_parts), first, stop):
        starts, ends = in_ticks(grid.windows, windows.low)
        window_ticks = windows.moved(starts, ends)
        if grid.periods is not None:  # a period of a calendar may have no ticks, and then its window is empty
            window_ticks = window_ticks.where(window_ticks.low < window_ticks.high)
        if len(window_ticks):
            yield window_ticks


def add_piece(pieces: StretchPieces, piece: StretchTable, values: StretchValues, keys: KeyTable) -> None:
    """Add the stretches of a batch as a piece; if there are many, merge the newest pieces that are of like size.

    Cost: amortised, the length of the piece times the logarithm of the number of batches.

    Args:
        pieces: The pieces, from the oldest to the newest.
        piece: The stretches of the batch.
        values: Merges the values of stretches.
        keys: The keys of the bucket, for errors of modules that merge.
    """
    # The last piece is merged with the one before it only if that is at most twice as long. So a row is merged about
    # as often as the logarithm of the number of batches.
    tables = pieces.tables
    tables.append(piece)
    while len(tables) > MOST_PIECES and 2 * len(tables[-1]) >= len(tables[-2]):
        latest = tables.pop()
        tables[-1] = values.merge_alike([tables[-1], latest], keys)


def settle(pieces: StretchPieces, start: int, stop: int, values: StretchValues, keys: KeyTable) -> StretchTable | None:
    """Return the slices from `start` up to but not including `stop`, one partial state per key and slice.

    No batch adds to them any more. So if several pieces have them, they are merged for good, into a piece of their own.

    Args:
        pieces: The pieces of all slices.
        start: The first slice.
        stop: The slice after the last one.
        values: Merges the values of slices.
        keys: The keys of the bucket, for errors of modules that merge.

    Returns:
        The slices, which may be none; None if there are no pieces at all: then it is not known which parts a table of
        no slices would have.
    """
    if not pieces.tables:
        return None
    parts = [part for part in _parts(pieces, start, stop) if len(part)]
    if not parts:
        return pieces.tables[0].take(slice(0, 0))  # an empty table with the parts of other tables
    if len(parts) == 1:
        return parts[0]
    settled = values.merge_alike(parts, keys)
    pieces.replace(*_parts(pieces, -NEVER, start), settled, *_parts(pieces, stop, NEVER))
    return settled


def forget_slices(pieces: StretchPieces, first_live: int) -> None:
    """Drop the stretches that end before the first live slice: no open window needs them."""
    pieces.replace(*(_alive(piece, first_live) for piece in pieces.tables))


def carry_slices(pieces: StretchPieces, first_open: int, values: StretchValues, keys: KeyTable) -> None:
    """Merge the slices before the first open window into one state for each key, where windows grow.

    All these slices are part of the same open windows, as windows share their start: see `GrowingSlices`.

    Args:
        pieces: The pieces of all slices.
        first_open: The first open window. The merged slices get its number, which is also that of its last slice.
        values: Merges the values of slices.
        keys: The keys of the bucket, for errors of modules that merge.
    """
    closed_parts: list[StretchTable] = []
    for part in _parts(pieces, -NEVER, first_open):
        if len(part):
            closed_parts.append(carried(part, first_open))
    if closed_parts:
        open_parts = _parts(pieces, first_open, NEVER)
        pieces.replace(values.merge_alike(closed_parts, keys), *open_parts)


def carried(slices: StretchTable, first_open: int) -> StretchTable:
    """Move the slices before the first open window to the slice with that window's number; later slices stay."""
    low: IntArray = np.maximum(slices.low, first_open)
    return slices.moved(low=low, high=low)


def between(piece: StretchTable, start: int, stop: int) -> StretchTable:
    """Select the stretches of a piece that overlap the slices from `start` up to but not including `stop`.

    Args:
        piece: Stretches, in the order of their first slices.
        start: The first slice.
        stop: The slice after the last one.
    """
    if not piece.are_points:
        return piece.where((piece.high >= start) & (piece.low < stop))

    # Points of a piece are in the order of their slices: the selected ones are neighbours.
    if len(piece) and start <= piece.low[0] and piece.low[-1] < stop:
        return piece
    first_row, row_stop = np.searchsorted(piece.low, [start, stop]).tolist()
    return piece.take(slice(first_row, row_stop))


def _parts(pieces: StretchPieces, start: int, stop: int) -> list[StretchTable]:
    """Return the part of each piece from slice `start` up to but not including `stop`."""
    return [between(piece, start, stop) for piece in pieces.tables]


def _alive(piece: StretchTable, first_live: int) -> StretchTable:
    """Return the stretches of a piece, one table of the store, that do not end before the first live slice."""
    if not piece.are_points:
        return piece.alive(first_live)
    # Points are in the order of their slices, so the live ones are the end of the piece: a view that costs no copy.
    alive = between(piece, first_live, NEVER + 1)  # no slice has a larger number than `NEVER`
    if 2 * len(alive) < len(piece):
        # A view would keep the whole piece in memory, most of which is dead: copy the live part.
        return alive.take(np.arange(len(alive)))
    return alive
