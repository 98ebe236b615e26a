"""The stores of a bucket: partial states of a grid, sessions, and the events that snapshots are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.core.slice_grid import Grid, SliceGrid, output_watermark
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome, BucketResult
from muntin_engine.evaluators.arrays.edges import sessions_of
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.held import HeldEvents, HeldPartials, HeldSessions, carried, in_windows
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat
from muntin_engine.progress import InputsProgress
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.log import Entry, StoredEntry


def grid_query(grids: Sequence[Grid], make_entries: Callable[[], Entries], *, at_end: bool) -> ArrayQuery:
    """Return windows on grids as their buckets see them.

    Args:
        grids: The slices, or ranges of windows, of each specification; the slices are the same for all.
        make_entries: Makes what reads and writes partial states, for an empty store.
        at_end: True if results are points at the ends of their windows.
    """
    return ArrayQuery(
        lambda: GridStore(grids, make_entries()),
        lambda progress: _first_open(grids, progress),
        lambda found: output_watermark(grids, found.now.least.watermark, at_end=at_end),
        closed_tables,
    )


class GridStore(ArrayStore):
    """The partial states of the open windows, by key and by slice or range of windows.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold. Slices that a batch
    does not touch are neither read nor written.
    """

    def __init__(self, grids: Sequence[Grid], entries: Entries) -> None:
        """Make an empty store for the slices, or ranges, of a query."""
        self._grids, self._entries = grids, entries
        self._held = HeldPartials(grids, entries.merge_alike)
        self._grows = any(isinstance(grid, SliceGrid) and grid.grows for grid in grids)
        self._opened: Sequence[int] = [-NEVER]

    def restore(self, entries: Iterable[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Merge entries, without what has ended but shares an entry with what lives."""
        del cells
        for entry in entries:
            self._held.add(self._entries.read(entry))
        self._opened = _first_open(self._grids, at)
        self._held.forget(self._first_live(self._opened))
        if self._grows:
            self._held.carry(self._opened[0])

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Merge the partial states of a batch, and return the windows that are complete now."""
        opened, after = _first_open(self._grids, before), _first_open(self._grids, now)
        first_legal = max(grid.first_legal(first) for grid, first in zip(self._grids, opened, strict=True))
        delta, outcome = self.take(blobs, first_legal)
        output = list(self._completed(opened, after, now.least.horizon))
        first_live = self._first_live(after)
        state.log.forget(first_live)
        if delta is not None:
            state.log.append(self.write(delta, first_live))
        if after != opened:
            self._opened = after
            self._held.forget(first_live)
        if after != opened and self._grows:
            self._entries.carry(self._held, after[0])
        if delta is not None:
            state.log.compact(self, first_live)
        return outcome._replace(output=output, windows_closed=sum(closed.window_count() for closed in output))

    def take(self, blobs: Iterable[bytes], first_legal: int) -> tuple[StretchTable | None, BatchOutcome]:
        """Merge the partial states of a batch; what lies in gaps between windows is accepted, and not held.

        Args:
            blobs: They, as the map side sent them.
            first_legal: The first slice whose rows are not late.

        Returns:
            What is held now and was not before, None if that is nothing; and the numbers of rows and keys.
        """
        self._entries.keys.forget_others(self)
        arrived = [self._entries.arrived(blob) for blob in blobs]
        keys, some = self._entries.keys.count([decoded.codes for decoded in arrived]), [part.batch for part in arrived]
        legal = [batch.where(batch.low >= first_legal) for batch in some]
        rows, accepted = (sum(int(batch.weight.sum()) for batch in batches) for batches in (some, legal))
        outcome = BatchOutcome(accepted=accepted, keys=keys, late=rows - accepted)
        present = [batch for part in legal if len(batch := part.where(in_windows(self._grids, part.low)))]
        if not present:
            return None, outcome
        delta = present[0] if len(present) == 1 else self._entries.merge_alike(present)
        self._held.add(delta)
        return delta, outcome

    def close(self, place: int, first: int, last: int) -> Iterator[Closed]:
        """Yield the windows from `first` up to but not including `last` that have members.

        Args:
            place: Which of the specifications of the query they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
        """
        return self._entries.close(self._held, place, first, last)

    def write(self, delta: StretchTable, first_live: int) -> list[Entry]:
        """Encode partial states, without slices below a first one, in entries of a few megabytes."""
        return self._entries.write(delta.alive(first_live))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        read = [self._entries.read(entry).alive(first_live) for entry in entries]
        if self._grows:
            read = [carried(piece, self._opened[0]) for piece in read]
        return self._entries.write(self._entries.merge_alike(read))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.unique(np.concatenate([self._held.keys(), *self._entries.queued()]))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._held.renumber(places)
        self._entries.renumber(places)

    def _completed(self, opened: Sequence[int], after: Sequence[int], horizon: int) -> Iterator[Closed]:
        """Yield the windows that were open and are not, of each specification."""
        for place, (grid, first, last) in enumerate(zip(self._grids, opened, after, strict=True)):
            upto = min(last, grid.windows.first_unbegun(horizon))
            if upto > first:
                yield from self.close(place, first, upto)

    def _first_live(self, opened: Sequence[int]) -> int:
        """Return the first slice that is part of an open window."""
        return min(grid.first_live(first) for grid, first in zip(self._grids, opened, strict=True))


def _first_open(grids: Sequence[Grid], progress: InputsProgress) -> tuple[int, ...]:
    """Return the first open window of each specification, which tells open windows from complete ones."""
    return tuple(grid.windows.first_open(progress.least.watermark) for grid in grids)


def session_query(make_entries: Callable[[], Entries], *, at_end: bool, is_cut: bool) -> ArrayQuery:
    """Return sessions, or snapshots, as their buckets see them.

    Args:
        make_entries: Makes what reads and writes partial states, for an empty store.
        at_end: True if results are points at the ends of windows, so that one without an end has none.
        is_cut: True of snapshots.
    """

    def output_watermark(found: BucketResult) -> int:
        watermark = found.now.least.watermark
        return watermark if at_end or watermark == INFINITY else min(watermark, found.first_start)

    return ArrayQuery(
        lambda: SessionStore(make_entries(), at_end=at_end, is_cut=is_cut),
        lambda progress: progress.least.watermark,
        output_watermark,
        closed_tables,
    )


class SessionStore(ArrayStore):
    """The open sessions, or the events that open snapshots are made of, as stretches between ticks.

    A row is late if it lies before the watermark of the batches before its own; that is decided row by row, before
    anything is fused. A window is complete when the watermark is past its end: an event at the end of a session would
    still belong to it.

    Cost: a sort of the open sessions for each batch that brings rows or moves the watermark. What a batch brought stays
    in the log until a log of garbage is written anew, or no window is left that began before its end.
    """

    def __init__(self, entries: Entries, *, at_end: bool, is_cut: bool = False) -> None:
        """Make an empty store.

        Args:
            entries: Reads and writes what it holds.
            at_end: True if results are points at the ends of windows, so that one without an end has none.
            is_cut: True of snapshots: each event stays a stretch of its own. Otherwise those that touch are fused.
        """
        self._entries, self._at_end, self._is_cut = entries, at_end, is_cut
        self._held = HeldEvents() if is_cut else HeldSessions(self._fuse)

    def restore(self, entries: Iterable[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Merge entries, without what has ended but shares an entry with what lives."""
        del cells
        for entry in entries:
            self._held.add(self._entries.read(entry))
        self._held.forget(at.least.watermark)

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Take in the rows of a batch, and return the windows that are complete now."""
        first, last = before.least.watermark, now.least.watermark
        self._entries.keys.forget_others(self)
        arrived = [self._entries.arrived(blob) for blob in blobs]
        legal = [some.batch.where(some.batch.low >= first) for some in arrived]
        accepted = sum(map(len, legal))
        late = sum(len(some.batch) for some in arrived) - accepted
        present = [rows for rows in legal if len(rows)]
        delta = self._lifted(concat(present)) if present else None
        if delta is not None:
            self._held.add(delta)
        keys, output = self._entries.keys.count([some.codes for some in arrived]), self._close(first, last)
        if first != last:
            self._held.forget(last)
        state.log.forget(self.first_start)
        if delta is not None:
            # it was fused after all that was held, so it is as it was: `combine` changes its first state alone
            state.log.append(self._entries.write(delta.where(self._held.hold(delta))))
        state.log.tidy(self, self._entries.size_of(len(self._held)), self._whole)
        return BatchOutcome(output, accepted, keys, late, windows_closed=sum(map(Closed.window_count, output)))

    @property
    def first_start(self) -> int:
        """The least start of an open window; `INFINITY` if there is none."""
        return self._held.first_start

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible."""
        del first_live
        read = [self._entries.read(entry) for entry in entries]
        merged = concat(read) if self._is_cut else self._fuse(read)
        return self._entries.write(merged.where(self._held.hold(merged)))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return self._held.keys()

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._held.renumber(places)
        self._entries.renumber(places)

    def _close(self, first: int, last: int) -> list[Closed]:
        """Return the windows that end at the watermark `first` or later, and before the watermark `last`."""
        ended = self._held.ended(first, last)
        if ended is not None and self._at_end:
            ended = ended.where(ended.high < INFINITY)
        if ended is None or not len(ended):
            return []
        return [Closed(0, ended, self._entries.keys.take(ended.keys), self._entries.results(ended))]

    def _whole(self) -> list[Entry]:
        """Encode all stretches."""
        whole = self._held.whole()
        return [] if whole is None else self._entries.write(whole)

    def _lifted(self, rows: StretchTable) -> StretchTable:
        """Return what becomes of rows: one partial state for each session, or for each event that is cut."""
        if self._is_cut:
            return rows
        return self._entries.lift(rows, sessions_of(rows))

    def _fuse(self, pieces: Sequence[StretchTable]) -> StretchTable:
        """Return one partial state for each session; those of the first piece may be changed."""
        if len(pieces) == 1:
            return pieces[0]
        joined = concat(pieces)
        return self._entries.merge(joined, sessions_of(joined))
