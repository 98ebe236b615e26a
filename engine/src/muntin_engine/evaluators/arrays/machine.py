"""A micro-batch of a bucket on arrays: the whole algorithm, whatever its parts are.

A *batch* is a table of stretches of a key's axis with mergeable *values*. The *admission* says which rows count, the
*geometry* how their stretches become windows, and the *emission* which of these are results. A *store* holds the
stretches of a bucket, and its *log* their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted, RowAdmission
from muntin_engine.evaluators.arrays.geometry.window_geometry import WindowGeometry
from muntin_engine.evaluators.arrays.result_emission import ResultEmission
from muntin_engine.evaluators.arrays.store.stretch_store import StoreT, write_metadata
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.batch import BucketBatch, advance_progress
from muntin_engine.state.bucket_state import BucketState, StateSize
from muntin_engine.state.log import LogEntry
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker


@dataclass(frozen=True)
class ArrayQuery(Generic[StoreT]):
    """A query on arrays, as its map tasks and its buckets see it.

    Attributes:
        admission: Decides which rows count.
        geometry: Makes windows of stretches.
        emission: Decides which windows are emitted.
    """

    admission: RowAdmission[StoreT]
    geometry: WindowGeometry[StoreT]
    emission: ResultEmission[StoreT]


@dataclass(frozen=True, slots=True)
class ArrayResult:
    """The outcome of a micro-batch of a bucket, before it becomes tables of the query's result schema.

    Attributes:
        windows: The results, or their changes.
        admitted: The rows that counted, and those that did not.
        previous: The progress before the batch, by which rows are late.
        progress: The progress after it.
        output_watermark: The tick before which no later output changes anything.
        sizes: The sizes of the bucket's state.
        completed: The number of windows with members that are complete now.
    """

    windows: Sequence[ResultWindows]
    admitted: Admitted
    previous: InputsProgress
    progress: InputsProgress
    output_watermark: int
    sizes: StateSize
    completed: int = 0


def process(
    query: ArrayQuery[StoreT], state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
) -> ArrayResult:
    """Process a micro-batch of a bucket, and write its state.

    Cost: a batch without rows that completes no window reads and writes the metadata alone. Any other batch costs what
    its parts cost; the log is read only if the worker no longer has the store in its cache.

    Args:
        query: The query.
        state: The state of the bucket.
        trackers: The tracker of the progress of each input.
        batch: The part of the micro-batch that the bucket gets.

    Raises:
        ModuleFailedError: A module raised an exception. The state stays as it was.
    """
    previous, progress = advance_progress(state.metadata, trackers, batch.reports)

    # A batch without rows has results only if the progress reaches another stage: then windows become complete.
    completes_windows = query.emission.stage(previous) != query.emission.stage(progress)
    if not batch.evaluator_blobs and not completes_windows:
        # The store stays closed. The start of its first open window is in the metadata, where `store.close`, below, has
        # put it in an earlier batch: in the field of the timer for the output watermark, which arrays use for this.
        stored_first_start = state.metadata.timer.output_watermark
        output_watermark = query.geometry.output_watermark(progress, stored_first_start)
        return unchanged_result(state, previous, progress, output_watermark)

    store = _open(query, state, previous)
    store.keys.forget_unused(store)  # before the batch: from here on, its rows refer to keys by their codes

    # Results need all rows of the batch, so they come after `add`; and the state that `forget` drops, so they come
    # before it. What is left after `forget` is written.
    admitted = query.admission.admit(batch.evaluator_blobs, store, previous, progress)
    query.geometry.add(store, admitted.rows)
    windows = query.emission.results(store, admitted, previous, progress)
    query.geometry.forget(store, previous, progress)
    completed_count = query.emission.finish(store, windows, progress)
    query.geometry.write(store, state, progress)

    # No later output changes a session or a snapshot that starts before the first open one.
    first_start = query.geometry.first_start(store)
    sizes = store.close(state, first_start)
    output_watermark = query.geometry.output_watermark(progress, first_start)
    return ArrayResult(
        windows=windows,
        admitted=admitted,
        previous=previous,
        progress=progress,
        output_watermark=output_watermark,
        sizes=sizes,
        completed=completed_count,
    )


def _open(query: ArrayQuery[StoreT], state: BucketState, previous: InputsProgress) -> StoreT:
    """Take the store of a bucket from the cache, or rebuild it from the log."""

    def restored(entries: Sequence[LogEntry]) -> StoreT:
        """Return a new store with the state that a log holds."""
        store = query.geometry.new_store()
        query.geometry.restore(store, entries, state.cells, previous)
        store.last_event_id = state.metadata.serial  # where `close` wrote it
        return store

    return state.open(restored)


def unchanged_result(
    state: BucketState, previous: InputsProgress, progress: InputsProgress, output_watermark: int
) -> ArrayResult:
    """Write the progress of a batch that has no rows and completes no window; return its result, without windows.

    Args:
        state: The state of the bucket.
        previous: The progress before the batch.
        progress: The progress after it.
        output_watermark: The tick before which no later output changes anything.
    """
    sizes = write_metadata(state)  # `advance_progress` has put the progress into the metadata
    return ArrayResult(
        windows=(),
        admitted=Admitted(),
        previous=previous,
        progress=progress,
        output_watermark=output_watermark,
        sizes=sizes,
    )
