"""The stores of a bucket: partial states of a grid, sessions, and the events that snapshots are made of."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome, BucketResult
from muntin_engine.evaluators.arrays.edges import sessions_of
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.held import (
    HeldEvents,
    HeldPartials,
    HeldSessions,
    HeldStretches,
    carried,
    in_windows,
)
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.log import MOST_DEAD, Entry, StoredEntry
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid, output_watermark
from muntin_engine.time.window_grid import NEVER


def grid_query(grids: Sequence[SliceGrid], make_entries: Callable[[], Entries], *, at_end: bool) -> ArrayQuery:
    """Return windows on grids as their buckets see them.

    Args:
        grids: The slices of each specification; they are the same for all.
        make_entries: Makes what reads and writes partial states, for an empty store.
        at_end: True if results are points at the ends of their windows.
    """
    return ArrayQuery(
        lambda: GridStore(grids, make_entries()),
        lambda progress: _first_open(grids, progress),
        partial(grid_watermark, grids, at_end=at_end),
        closed_tables,
    )


def grid_watermark(grids: Sequence[SliceGrid], found: BucketResult, *, at_end: bool) -> int:
    """Return the output watermark of a bucket whose windows lie on grids."""
    return output_watermark(grids, found.now.least.watermark, at_end=at_end)


class StretchStore(ArrayStore):
    """The stretches of a bucket, to which a batch adds its own."""

    def __init__(self, entries: Entries, held: HeldStretches) -> None:
        """Make an empty store.

        Args:
            entries: Reads and writes what it holds.
            held: Holds it.
        """
        self._entries, self._stretches = entries, held

    def restore(self, entries: Iterable[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Merge entries, without what has ended but shares an entry with what lives."""
        del cells
        for entry in entries:
            self._stretches.add(self._entries.read(entry))
        self._forget_before(at)

    @abstractmethod
    def _forget_before(self, now: InputsProgress) -> None:
        """Drop what no open window needs."""

    @abstractmethod
    def _lifted(self, rows: Sequence[StretchTable]) -> StretchTable | None:
        """Return the partial states of the rows of a batch that are not late; None if there are none."""

    def take(
        self, blobs: Iterable[bytes], first_legal: int, watermark: int
    ) -> tuple[StretchTable | None, BatchOutcome]:
        """Add the rows of a batch.

        Args:
            blobs: The rows, as the map side sent them.
            first_legal: The first place that is not late. This is decided before anything is merged.
            watermark: The watermark of the batches before, of which a late row says how far it is behind.

        Returns:
            What is held now and was not before, None if that is nothing; and the numbers of rows and keys.
        """
        self._entries.keys.forget_others(self)
        arrived = self._entries.take_in(blobs)
        legal = [self._entries.in_time(some.batch.where(some.batch.low >= first_legal)) for some in arrived]
        rows, accepted = (
            sum(int(batch.weight.sum()) for batch in some) for some in ([a.batch for a in arrived], legal)
        )
        delta = self._lifted([batch for batch in legal if len(batch)])
        if delta is not None:
            self._stretches.add(delta)
        keys = self._entries.keys.count([some.codes for some in arrived])
        late = rows - accepted
        kept = [
            row
            for some in (arrived if late else ())
            for row in self._entries.late(some.batch.where(some.batch.low < first_legal), watermark)
        ]
        return delta, BatchOutcome(accepted=accepted, keys=keys, late=late - len(kept), rejections=kept)

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory."""
        return self._stretches.nbytes + self._entries.memory_of(len(self._stretches))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return self._stretches.keys()

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._stretches.renumber(places)
        self._entries.renumber(places)


class GridStore(StretchStore):
    """The partial states of the open windows, by key and by slice, or run of slices.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold. Slices that a batch
    does not touch are neither read nor written.
    """

    def __init__(self, grids: Sequence[SliceGrid], entries: Entries) -> None:
        """Make an empty store for the slices of a query."""
        self._grids, self._held = grids, HeldPartials(grids, entries.merge_alike)
        super().__init__(entries, self._held)
        self._grows = any(grid.grows for grid in grids)
        self._opened: Sequence[int] = [-NEVER]
        self._live_bytes = 0

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Merge the partial states of a batch, and return the windows that are complete now."""
        opened, after = _first_open(self._grids, before), _first_open(self._grids, now)
        first_legal = max(grid.first_legal(first) for grid, first in zip(self._grids, opened, strict=True))
        delta, outcome = self.take(blobs, first_legal, min(before.to_the_tick))
        output = list(self._completed(opened, after, now.least.horizon))
        first_live = self._first_live(after)
        state.log.forget(first_live)
        if delta is not None:
            state.log.append(self._entries.write(delta.alive(first_live)))
        if after != opened:
            self._opened = after
            self._held.forget(first_live)
        if after != opened and self._grows:
            self._entries.carry(self._held, after[0])
        if delta is not None and self._grows and state.log.size > 2 * self._live_bytes + MOST_DEAD:
            # no entry dies by itself, so what was merged into others goes when the log is written anew
            state.log.rewrite(self.compact(state.log.read(), first_live))
            self._live_bytes = state.log.size
        elif delta is not None:
            state.log.compact(self, first_live)
        return outcome._replace(output=output, windows_closed=sum(map(Closed.window_count, output)))

    def _lifted(self, rows: Sequence[StretchTable]) -> StretchTable | None:
        """Merge the partial states of a batch; what lies in gaps between windows is accepted, and not held."""
        present = [batch for part in rows if len(batch := part.where(in_windows(self._grids, part.low, part.high)))]
        if len(present) > 1:
            return self._entries.merge_alike(present)
        return present[0] if present else None

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        read = [self._entries.read(entry).alive(first_live) for entry in entries]
        if self._grows:
            read = [carried(piece, self._opened[0]) for piece in read]
        return self._entries.write(self._entries.merge_alike(read))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.unique(np.concatenate([super().keys(), *self._entries.queued()]))

    def _forget_before(self, now: InputsProgress) -> None:
        self._opened = _first_open(self._grids, now)
        self._held.forget(self._first_live(self._opened))
        if self._grows:
            self._held.carry(self._opened[0])
            self._live_bytes = self._entries.size_of(len(self._held))

    def _completed(self, opened: Sequence[int], after: Sequence[int], horizon: int) -> Iterator[Closed]:
        """Yield the windows that were open and are not, of each specification."""
        for place, (grid, first, last) in enumerate(zip(self._grids, opened, after, strict=True)):
            upto = min(last, grid.windows.first_unbegun(horizon))
            if upto > first:
                yield from self._entries.close(self._held, place, first, upto)

    def _first_live(self, opened: Sequence[int]) -> int:
        """Return the first slice that is part of an open window."""
        return min(grid.first_live(first) for grid, first in zip(self._grids, opened, strict=True))


def _first_open(grids: Sequence[SliceGrid], progress: InputsProgress) -> tuple[int, ...]:
    """Return the first open window of each specification, which tells open windows from complete ones."""
    return tuple(grid.windows.first_open(progress.least.watermark) for grid in grids)


def session_query(make_entries: Callable[[], Entries], *, at_end: bool, is_cut: bool) -> ArrayQuery:
    """Return sessions, or snapshots, as their buckets see them.

    Args:
        make_entries: Makes what reads and writes partial states, for an empty store.
        at_end: True if results are points at the ends of windows, so that one without an end has none.
        is_cut: True of snapshots.
    """
    return ArrayQuery(
        lambda: SessionStore(make_entries(), at_end=at_end, is_cut=is_cut),
        lambda progress: progress.least.watermark,
        partial(session_watermark, at_end=at_end),
        closed_tables,
    )


def session_watermark(found: BucketResult, *, at_end: bool) -> int:
    """Return the output watermark of a bucket whose windows follow events: none starts before the first open one.

    Points at the ends of windows lie past the input's watermark.
    """
    watermark = found.now.least.watermark
    return watermark if at_end or watermark == INFINITY else min(watermark, found.first_start)


class SessionStore(StretchStore):
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
        self._at_end, self._is_cut = at_end, is_cut
        self._held = HeldEvents() if is_cut else HeldSessions(self._fuse)
        super().__init__(entries, self._held)

    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Take in the rows of a batch, and return the windows that are complete now."""
        first, last = before.least.watermark, now.least.watermark
        delta, outcome = self.take(blobs, first, first)
        output = self._close(first, last)
        if first != last:
            self._held.forget(last)
        state.log.forget(self.first_start)
        if delta is not None:
            # it was fused after all that was held, so it is as it was: `combine` changes its first state alone
            state.log.append(self._entries.write(delta.where(self._held.is_held(delta))))
        state.log.tidy(self, self._entries.size_of(len(self._held)), self._whole)
        return outcome._replace(output=output, windows_closed=sum(map(Closed.window_count, output)))

    @property
    def first_start(self) -> int:
        """The least start of an open window; `INFINITY` if there is none."""
        return self._held.first_start

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible."""
        del first_live
        read = [self._entries.read(entry) for entry in entries]
        merged = concat(read) if self._is_cut else self._fuse(read)
        return self._entries.write(merged.where(self._held.is_held(merged)))

    def _forget_before(self, now: InputsProgress) -> None:
        self._held.forget(now.least.watermark)

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

    def _lifted(self, rows: Sequence[StretchTable]) -> StretchTable | None:
        """Return one partial state for each session, or for each event that is cut."""
        if not rows:
            return None
        joined = concat(rows)
        return joined if self._is_cut else self._entries.lift(joined, sessions_of(joined))

    def _fuse(self, pieces: Sequence[StretchTable]) -> StretchTable:
        """Return one partial state for each session; those of the first piece may be changed."""
        if len(pieces) == 1:
            return pieces[0]
        joined = concat(pieces)
        return self._entries.merge(joined, sessions_of(joined))
