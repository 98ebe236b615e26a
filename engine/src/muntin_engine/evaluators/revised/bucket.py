"""A bucket of events with ids: rows in, results of whole windows out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy
from muntin_engine.core.changes import Key, OutputChange, Progress, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.slice_grid import RangeGrid
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.revised.revised_grid import RevisedGrid
from muntin_engine.evaluators.revised.revised_snapshots import RevisedSnapshots
from muntin_engine.evaluators.revised.speculation import Corrections
from muntin_engine.evaluators.revised.store import RevisedStore
from muntin_engine.evaluators.revised.windows import RevisedWindows
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.state.bucket_state import NEVER, BucketState, random_version
from muntin_engine.state.cells import Cells, HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.state.log import StoredEntry

WAITING: Final = "waiting"
"""The name of the cell of the rows that wait for others of their event."""

_SAID: Final = ProgressTracker()


@dataclass(frozen=True, slots=True)
class RevisedResult:
    """The output of a bucket for a micro-batch.

    Attributes:
        closed: The windows that are complete now; none if results are emitted early.
        changes: What corrects results that are emitted early, by key.
        rejections: The late and rejected rows, by key.
        accepted: The number of rows that took effect; one that waits for others counts when they came.
        keys: The number of keys that the batch brought rows of.
        windows_closed: The number of windows with members whose results are final now.
        progress: The progress of the input now.
        watermark: No later result of the bucket has a sync time before it.
        held: The sizes of the bucket's state now.
    """

    closed: Sequence[Closed] = ()
    changes: Sequence[tuple[Key, OutputChange]] = ()
    rejections: Sequence[tuple[Key, Rejection]] = ()
    accepted: int = 0
    keys: int = 0
    windows_closed: int = 0
    progress: Progress = field(default_factory=Progress)
    watermark: int = EARLIEST
    held: HeldState = field(default_factory=HeldState)


class RevisedBucket:
    """Evaluates results for many keys, whose events may be revised: final ones, or on a grid those emitted early, too.

    Cost: two state calls for a batch that brings nothing and moves no watermark. Otherwise one write for what it
    changed, and a few passes over the live events. The log is written anew when more than half of it is garbage.
    """

    def __init__(  # what a bucket is made of
        self,
        query: EvaluatorQuery,
        forms: Sequence[BoundForm],
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: KeptStores | None = None,
        name: Hashable = None,
        tracker: ProgressTracker = _SAID,
    ) -> None:
        """Open a bucket; see `Bucket` for what it is given.

        Args:
            query: The query.
            forms: Its forms.
            cells: Its state.
            codec: How state is written.
            compatibility: What the state depends on.
            kept: Where this process keeps stores between batches; None to keep none.
            name: Names the bucket there.
            tracker: What says how far the input is.
        """
        self._query, self._forms, self._cells, self._codec = query, forms, cells, codec
        self._tracker = tracker
        self._state = partial(BucketState, cells, codec, compatibility, kept, name, random_version)

    def process(self, blobs: Sequence[bytes], arrived: Progress, observed: Iterable[Observation] = ()) -> RevisedResult:
        """Take in a micro-batch.

        Args:
            blobs: Its rows, as tables.
            arrived: What it says of the progress of the whole input; a row is late by what was said before.
            observed: The observations of the sources of the input.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: Another query wrote the state.
        """
        state = self._state()
        metadata, is_final = state.metadata, self._query.emit is EmitPolicy.FINAL
        now, tracked = self._tracker.advance(metadata.progress, metadata.tracked, arrived, observed)
        progress, before, after = metadata.progress, metadata.progress.watermark, now.watermark
        metadata.progress, metadata.tracked = now, tracked
        if not blobs and before == after and (is_final or progress.max_event_time == now.max_event_time):
            return self._result(state, RevisedResult(progress=now))
        store = state.open(lambda entries: self._restored(entries, before))
        taken = store.take(blobs, before, after)
        serial, closed, emitted = state.log.serial + 1, list[Closed](), Corrections((), {}, metadata.serial)
        if is_final:
            closed = store.close(before, now)
        else:
            emitted = store.correct(taken, progress, now, (serial, metadata.serial))
            metadata.serial = emitted.serial
        settled = store.forget(after)
        state.log.forget(min(after, INFINITY - 1) + 1)  # events never die by themselves, and results with their windows
        state.log.append([*store.write(taken, serial, after), *store.write_results(emitted, after)])
        state.log.tidy(store, store.nbytes, partial(store.write_whole, state.log.read, serial, after))
        still = store.waiting_bytes()
        if still != store.stored_waiting:
            if still is None:
                self._cells.remove(WAITING)
            else:
                self._cells.put(WAITING, still)
            store.stored_waiting = still
        metadata.held = HeldState(len(still or b""), store.keys_held, len(store), store.results_held)
        metadata.timer = NEVER._replace(output_watermark=store.first_start)
        state.keep(store, store.memory)
        count = settled + sum(some.window_count() for some in closed)
        found = RevisedResult(
            closed, emitted.changes, taken.rejections, taken.accepted, taken.keys, windows_closed=count, progress=now
        )
        return self._result(state, found)

    def _result(self, state: BucketState, found: RevisedResult) -> RevisedResult:
        """Write the metadata, and return what was found with how far the output is."""
        held, first_start = state.metadata.held, state.metadata.timer.output_watermark
        watermark = windows_of(self._query).output_watermark(found.progress.watermark, first_start)
        return replace(found, watermark=watermark, held=held._replace(bytes=held.bytes + state.write()))

    def _restored(self, entries: Sequence[StoredEntry], watermark: int) -> RevisedStore:
        store = RevisedStore(self._query, self._forms, self._codec, windows_of(self._query))
        store.restore(entries, self._cells.get(WAITING), watermark)
        return store


def windows_of(query: EvaluatorQuery) -> RevisedWindows:
    """Return the windows of a query, which are snapshots or lie on a grid, for a new store."""
    at_end, grid = query.timestamps is TimestampPolicy.POINT_AT_END, query.window.grid()
    return RevisedSnapshots(at_end=at_end) if grid is None else RevisedGrid(RangeGrid.of(grid), at_end=at_end)
