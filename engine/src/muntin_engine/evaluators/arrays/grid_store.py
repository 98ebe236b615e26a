"""The partial states of a bucket whose windows lie on a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from muntin.columnar.arrays import IntArray
from muntin_engine.core.slice_grid import Grid, SliceGrid, output_watermark
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, ArrayStore, BatchOutcome
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.held_partials import HeldPartials, carried, in_windows
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
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
        self._forget(_first_open(self._grids, at))

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
            self._forget(after)
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
        return self._held.keys()

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._held.renumber(places)
        self._entries.renumber(places)

    def _forget(self, opened: Sequence[int]) -> None:
        """Drop what no open window needs, and carry what lies before the first one where windows grow."""
        self._opened = opened
        self._held.forget(self._first_live(opened))
        if self._grows:
            self._held.carry(opened[0])

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
