"""A micro-batch of a bucket of windows over the last rows of a key, on arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muntin import INFINITY
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted
from muntin_engine.evaluators.arrays.admission.insertions import LateRows, admitted_insertions
from muntin_engine.evaluators.arrays.geometry.tick_geometry import watermark_of_open_windows
from muntin_engine.evaluators.arrays.machine import ArrayResult, unchanged_result
from muntin_engine.evaluators.arrays.stretches.coding import distinct
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, StretchTable
from muntin_engine.evaluators.batch import BucketBatch, advance_progress
from muntin_engine.evaluators.ranked.rank_windows import RowsByRank
from muntin_engine.evaluators.ranked.ranked_modules import RankedModules
from muntin_engine.evaluators.ranked.ranked_store import RankedStore
from muntin_engine.evaluators.ranked.row_sequence import RowSequence
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.log import LogEntry
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker


@dataclass(frozen=True)
class RankedQuery:
    """A query over the last rows of a key, as its buckets see it.

    Attributes:
        windows: The windows.
        sequence: The order of rows.
        modules: Compute the results of windows.
        late_rows: Makes rejections of late rows; None if these are only counted.
        at_end: True if results are points at the ends of their windows.
    """

    windows: RankedWindows
    sequence: RowSequence
    modules: RankedModules
    late_rows: LateRows | None = None
    at_end: bool = False

    def new_store(self) -> RankedStore:
        """Return an empty store."""
        return RankedStore(self.modules.new_states(), with_late_rows=self.late_rows is not None)


def process_ranked(
    query: RankedQuery, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
) -> ArrayResult:
    """Process a micro-batch of a bucket, and write its state.

    This is not the algorithm of `machine.process`: the stretches of the axis are single rows, whose rank is known when
    the watermark has passed them, and windows are runs of ranks.

    Cost: a batch costs the rows that come, the rows that are released, and the rows in the windows of their keys.

    Args:
        query: The query.
        state: The state of the bucket.
        trackers: The tracker of the progress of the input.
        batch: The part of the micro-batch that the bucket gets.

    Raises:
        ModuleFailedError: A module raised an exception. The state stays as it was.
    """
    previous, progress = advance_progress(state.metadata, trackers, batch.reports)
    watermark = progress.least.watermark

    # Without rows, and without progress of the watermark, no row is released. The store stays closed; its first start
    # is in the metadata, where `close` wrote it.
    if not batch.evaluator_blobs and previous.least.watermark == watermark:
        stored_first_start = state.metadata.timer.output_watermark
        output_watermark = watermark_of_open_windows(progress, stored_first_start, at_end=query.at_end)
        return unchanged_result(state, previous, progress, output_watermark)

    store = _open(query, state, previous)
    store.keys.forget_unused(store)  # before the batch: from here on, its rows refer to keys by their codes
    admitted = _admit(query, batch.evaluator_blobs, store, previous)
    store.waiting.add(admitted.rows)
    store.unwritten = admitted.rows

    # A row is released once the watermark has passed it: no row can come before it any more, and its rank is known.
    released = store.waiting.release(watermark)
    windows = list(_computed_windows(query, store, released))
    if watermark == INFINITY:  # the stream is closed
        store.clear()
    store.write(state.log)

    first_start = store.first_start
    sizes = store.close(state, first_start)
    output_watermark = watermark_of_open_windows(progress, first_start, at_end=query.at_end)
    completed = sum(map(len, windows))
    return ArrayResult(
        windows=windows,
        admitted=admitted,
        previous=previous,
        progress=progress,
        output_watermark=output_watermark,
        sizes=sizes,
        completed=completed,
    )


def _open(query: RankedQuery, state: BucketState, previous: InputsProgress) -> RankedStore:
    """Take the store of a bucket from the cache, or rebuild it from the log."""

    def restored(entries: Sequence[LogEntry]) -> RankedStore:
        """Return a new store with the rows of a log."""
        store = query.new_store()
        restore(query, store, entries, previous.least.watermark)
        return store

    return state.open(restored)


def restore(query: RankedQuery, store: RankedStore, entries: Sequence[LogEntry], watermark: int) -> None:
    """Fill an empty store from a log.

    Args:
        query: The query.
        store: The store.
        entries: The log.
        watermark: The watermark when the log was written: the rows that it had passed were released by then.
    """
    # The log has the rows that were in windows when it was last written anew, and all rows that came since then.
    in_windows, came_since = store.read(entries)
    if len(in_windows):
        codes, _ = distinct(in_windows.keys)
        lifted = query.modules.lift(in_windows, store.keys)
        store.in_windows.replace(codes, previous_count=0, rows=lifted)

    # Of the rows that came, those before the watermark are released once more, which leaves the same rows in windows.
    store.waiting.add([came_since])
    released = store.waiting.release(watermark)
    if len(released):
        _release(query, store, released)


def _admit(query: RankedQuery, blobs: Sequence[bytes], store: RankedStore, previous: InputsProgress) -> Admitted:
    """Decode the rows of a batch, and decide which are late: those before the watermark of earlier batches."""

    def without_late_rows(rows: StretchTable) -> StretchTable:
        """Drop the lists of rows that travel beside stretches only in case these are late."""
        return rows if query.late_rows is None else rows.without(LISTS)

    return admitted_insertions(
        store.codec.read_blobs(blobs),
        store.keys,
        first_in_time=previous.least.watermark,
        to_the_tick=min(previous.to_the_tick),  # the watermark as the policy says it, for messages
        late_rows=query.late_rows,
        without_late_rows=without_late_rows,
    )


def _computed_windows(query: RankedQuery, store: RankedStore, released: StretchTable) -> Iterator[ResultWindows]:
    """Release rows, by `_release`, and yield the windows that are computed at them; nothing if no row is released.

    Args:
        query: The query.
        store: The store, whose windows and states of modules move on to the last released rows.
        released: The released rows, in any order.
    """
    if not len(released):
        return
    ranked = _release(query, store, released)
    newest = ranked.newest_rows(query.windows)
    # Modules with states are called even if no window is computed: their states move on to the last row.
    if len(newest) or store.states:
        results = query.modules.results(store, ranked, query.windows, newest)
        if len(newest):
            yield results


def _release(query: RankedQuery, store: RankedStore, released: StretchTable) -> RowsByRank:
    """Add released rows to the windows of their keys, and return these keys' rows by rank.

    Args:
        query: The query.
        store: The store, whose windows then have the last rows of each key.
        released: The released rows, in any order.
    """
    codes, _ = distinct(released.keys)
    held = store.in_windows.of_keys(codes)
    lifted = query.modules.lift(query.sequence.sorted(released), store.keys)
    ranked = RowsByRank.join(codes, held, lifted)
    store.in_windows.replace(codes, previous_count=len(held), rows=ranked.last(query.windows.size))
    return ranked
