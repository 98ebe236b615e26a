"""A bucket of keys, evaluated over slices: partial states in, results of whole windows out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.slice_grid import Grid, output_watermark
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.slice_store import Delta, SliceStore
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.state.bucket_state import NEVER, BucketState, random_version
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.state.log import StateLog, StoredEntry

_SAID: Final = ProgressTracker()


@dataclass(frozen=True, slots=True)
class SliceResult:
    """The output of a bucket for a batch.

    Attributes:
        output: The results of the windows that are complete now.
        accepted: The number of rows that took effect.
        late: The number of rows that came when a window that they belong to, or one before it, was complete.
        progress: The progress of the input now.
        keys: The number of keys that the batch brought rows of.
        held: The sizes of the bucket's state now, without the number of keys, which it does not know.
        first_open: The least start of an open window, where each key has its own; `INFINITY` if there is none.
        before: The watermark that the input had before the batch, by which rows are late.
    """

    output: Sequence[Closed]
    accepted: int
    late: int
    progress: Progress
    keys: int = 0
    held: HeldState = field(default_factory=HeldState)
    first_open: int = INFINITY
    before: int = EARLIEST


class SliceBucket:
    """Evaluates final results over slices for many keys.

    Cost: two state calls for a batch that brings the bucket nothing and closes none of its windows. Otherwise one
    write for what it brought, one removal per dead entry, and the windows that close. Slices that a batch does not
    touch are neither read nor written as long as the worker has kept the store.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # what a bucket is made of
        self,
        grids: Sequence[Grid],
        make_store: Callable[[], SliceStore[Any]],
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: KeptStores | None,
        name: Hashable,
        tracker: ProgressTracker = _SAID,
        make_version: Callable[[], bytes] = random_version,
    ) -> None:
        """Open a bucket.

        Args:
            grids: Its slices, or ranges of windows; one for each specification of the query, over the same slices.
            make_store: Makes an empty store.
            cells: Its state.
            codec: How the metadata is written.
            compatibility: What the state depends on besides this class, and the modules that go on from older versions.
            kept: Where this process keeps stores between batches; None to keep none.
            name: Names the bucket among all that this process may ever see; of a tuple, the first part names the query.
            tracker: What says how far the input is, besides the progress that arrives.
            make_version: Makes a version that was never used before.
        """
        self._grids = grids
        self._make_store = make_store
        self._tracker = tracker
        self._state = partial(BucketState, cells, codec, compatibility, kept, name, make_version)

    def process(self, blobs: Iterable[bytes], arrived: Progress, observed: Iterable[Observation] = ()) -> SliceResult:
        """Take in a micro-batch.

        Args:
            blobs: Partial states from the map side.
            arrived: What the batch says of the progress of the whole input. It holds after the batch: a row of the
                batch is late only by the progress of earlier batches.
            observed: What the tasks of the batch have seen of each source of the input.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: The state was written by another query.
        """
        state = self._state()
        metadata, brought = state.metadata, list(blobs)
        now, tracked = self._tracker.advance(metadata.progress, metadata.tracked, arrived, observed)
        before, after = map(self._opened, (metadata.progress, now))
        watermark = metadata.progress.watermark
        metadata.progress, metadata.tracked = now, tracked
        if not brought and before == after:
            held, first_open = HeldState(state.write()), metadata.timer.output_watermark
            return SliceResult((), 0, 0, now, held=held, first_open=first_open)
        store = state.open(partial(self._read, first_live=self._first_live(before)))
        taken = store.take(brought, self._first_legal(before))
        output = list(self._close(store, before, after, now.horizon))
        if after != before:
            store.forget(self._first_live(after))
        self._append(state.log, store, taken.delta, after)
        first_open = self._first_open(store)
        metadata.timer = NEVER._replace(output_watermark=first_open)
        state.keep(store, state.log.size)
        held = HeldState(state.write())
        return SliceResult(output, taken.accepted, taken.late, now, taken.keys, held, first_open, watermark)

    def output_watermark(self, result: SliceResult, *, at_end: bool) -> int:
        """Return the tick before which no later result of the bucket has a sync time.

        Args:
            result: What the last micro-batch made of the bucket.
            at_end: True if results are points at the ends of their windows.
        """
        return output_watermark(self._grids, result.progress.watermark, at_end=at_end)

    def _opened(self, progress: Progress) -> list[int]:
        """Return the first open window of each specification, which tells open windows from complete ones."""
        return [grid.windows.first_open(progress.watermark) for grid in self._grids]

    def _first_legal(self, opened: Sequence[int]) -> int:
        """Return the first slice whose rows are not late."""
        return max(grid.first_legal(first) for grid, first in zip(self._grids, opened, strict=True))

    def _first_live(self, opened: Sequence[int]) -> int:
        """Return the first slice that is part of an open window."""
        return min(grid.first_live(first) for grid, first in zip(self._grids, opened, strict=True))

    def _first_open(self, store: SliceStore[Any]) -> int:
        """Return the least start of an open window, where windows are those of single keys."""
        del store
        return INFINITY

    def _close(
        self, store: SliceStore[Delta], before: Sequence[int], after: Sequence[int], horizon: int
    ) -> Iterator[Closed]:
        for place, (grid, first, last) in enumerate(zip(self._grids, before, after, strict=True)):
            upto = min(last, grid.windows.first_unbegun(horizon))
            if upto > first:
                yield from store.close(place, first, upto)

    def _read(self, entries: Sequence[StoredEntry], *, first_live: int) -> SliceStore[Any]:
        """Return the store of some entries as it was, without what has ended but shares an entry with what lives."""
        store = self._make_store()
        for entry in entries:
            store.restore(entry)
        store.forget(first_live)
        return store

    def _append(self, log: StateLog, store: SliceStore[Delta], delta: Delta | None, opened: Sequence[int]) -> None:
        """Drop the entries that are dead, and write what a batch brought."""
        first_live = self._first_live(opened)
        log.forget(first_live)
        if delta is not None:
            log.append(store.write(delta, first_live))
            log.compact(store, first_live)
