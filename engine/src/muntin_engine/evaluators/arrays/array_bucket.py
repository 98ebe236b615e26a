"""A micro-batch of a bucket: rows in, output out, whatever its store is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.batch import BucketBatch, Evaluated, advance
from muntin_engine.state.bucket_state import NO_TIMER, BucketState, StateSize
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.log import StoredEntry
from muntin_engine.state.store_cache import STORE_CACHE, StoreCache
from muntin_engine.time.changes import Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.input_report import InputReport
from muntin_engine.wire.task_payload import TaskPayload


class BatchOutcome(NamedTuple):
    """The outcome of a batch.

    Attributes:
        output: The results that are final now, and the changes of those that are not.
        accepted: The number of rows that took effect; one that waits for others counts when they came.
        keys: The number of keys with rows.
        late: The number of late rows, where these are not kept.
        rejections: The late and rejected rows, by key, where these are kept.
        windows_closed: The number of windows with members that are complete now.
    """

    output: Sequence[Closed] = ()
    accepted: int = 0
    keys: int = 0
    late: int = 0
    rejections: Sequence[tuple[Key, Rejection]] = ()
    windows_closed: int = 0


class BucketResult(NamedTuple):
    """The result of a micro-batch.

    Attributes:
        outcome: The outcome of its rows.
        before: The progress of the inputs before it, by which rows are late.
        now: The progress after it.
        first_start: The least start of an open window, where each key has its own; `INFINITY` if there is none.
        held: The sizes of the bucket's state.
    """

    outcome: BatchOutcome
    before: InputsProgress
    now: InputsProgress
    first_start: int
    held: StateSize


class ArrayStore(ABC):
    """The state of a bucket, decoded. All of it can be made anew from what it wrote.

    Attributes:
        serial: The largest id of an output event so far.
    """

    serial = 0

    @abstractmethod
    def restore(self, entries: Sequence[StoredEntry], cells: Cells, at: InputsProgress) -> None:
        """Take what was written, without what some progress has completed."""

    @abstractmethod
    def evaluate(
        self, blobs: Sequence[bytes], before: InputsProgress, now: InputsProgress, state: BucketState
    ) -> BatchOutcome:
        """Take the rows of a batch in, return what comes of them, forget what nothing needs, and write the rest.

        Args:
            blobs: The rows, as the map side sent them.
            before: The progress of the batches before, by which rows are late.
            now: The progress with this batch.
            state: Where it writes.
        """

    @property
    def held(self) -> StateSize:
        """The sizes of what is held, where it is counted; its bytes are those that lie beside the log."""
        return StateSize()

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory, where that is more than its log has."""
        return 0

    @property
    def first_start(self) -> int:
        """The least start of an open window that events have cut; `INFINITY` if there is none."""
        return INFINITY

    @abstractmethod
    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""

    @abstractmethod
    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""


class ArrayQuery(NamedTuple):
    """A query as its buckets see it.

    Attributes:
        make_store: Makes an empty store.
        stage: Returns what of the progress matters: as long as it stays the same, nothing becomes complete.
        output_watermark: Returns the tick before which no later output of a bucket changes anything.
        to_tables: Yields output as tables.
    """

    make_store: Callable[[], ArrayStore]
    stage: Callable[[InputsProgress], Hashable]
    output_watermark: Callable[[BucketResult], int]
    to_tables: Callable[[TaskPayload, Closed], Iterator[pa.Table]]


class ArrayBucket:
    """Evaluates a query for many keys.

    Cost: two state calls for a batch that brings nothing and completes nothing. Otherwise what its store costs; the
    state is not read while the worker keeps the store.
    """

    def __init__(  # what a bucket is made of
        self,
        query: ArrayQuery,
        trackers: Sequence[ProgressTracker],
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: StoreCache | None = None,
        name: Hashable = None,
    ) -> None:
        """Open a bucket.

        Args:
            query: The query.
            trackers: What says how far each input is.
            cells: Its state.
            codec: How the metadata is written.
            compatibility: What the state depends on.
            kept: Where this process keeps stores between batches; None to keep none.
            name: Names the bucket among all that this process may ever see; of a tuple, the first part names the query.
        """
        self._query, self._trackers, self._cells = query, trackers, cells
        self._state = partial(BucketState, cells, codec, compatibility, kept, name)

    def run_batch(self, blobs: Sequence[bytes], reports: Sequence[InputReport]) -> BucketResult:
        """Take in a micro-batch.

        Args:
            blobs: Its rows, as the map side sent them.
            reports: What it says of the progress of each input. A row is late by what was said before.

        Raises:
            ModuleFailedError: A module raised an exception. The state stays as it was.
            StateMismatchError: Another query wrote the state.
        """
        state, outcome = self._state(), BatchOutcome()
        metadata = state.metadata
        before, now = advance(metadata, self._trackers, reports)
        if blobs or self._query.stage(before) != self._query.stage(now):
            store = state.open(lambda entries: self._restored(entries, before))
            store.serial = metadata.serial
            outcome = store.evaluate(blobs, before, now, state)
            metadata.serial, metadata.held = store.serial, store.held
            metadata.timer = NO_TIMER._replace(output_watermark=store.first_start)
            state.keep(store, max(store.memory, state.log.size))
        held = metadata.held._replace(bytes=metadata.held.bytes + state.write())
        return BucketResult(outcome, before, now, metadata.timer.output_watermark, held)

    def _restored(self, entries: Sequence[StoredEntry], at: InputsProgress) -> ArrayStore:
        store = self._query.make_store()
        store.restore(entries, self._cells, at)
        return store


def process(query: ArrayQuery, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state.

    Args:
        query: The query as its buckets see it.
        task: The same as it travels.
        bucket: The id of the bucket.
        cells: Its state.
        batch: The part of the micro-batch that the bucket gets.
    """
    STORE_CACHE.most = task.worker.kept_bytes
    kept, name = None if task.is_static else STORE_CACHE, (task.cache_token, bucket)
    trackers = [given.tracker for given in task.inputs]
    running = ArrayBucket(query, trackers, cells, task.codec, task.compatibility, kept, name)
    found = running.run_batch(batch.evaluator_blobs, batch.reports)
    outcome, held = found.outcome, found.held
    metrics = {
        "keys": outcome.keys,
        "windows_closed": outcome.windows_closed,
        "events_held": held.events,
        "state_bytes": held.bytes,
    }
    if task.plan.emission.may_retract:
        retracted = (int(np.count_nonzero(output.windows.weight < 0)) for output in outcome.output)
        metrics |= {"windows_revisable": held.windows, "retractions": sum(retracted)}
    behind = [
        watermark - report.oldest
        for watermark, report in zip(found.before.to_the_tick, batch.reports, strict=True)
        if watermark < INFINITY
    ]
    return Evaluated(
        (table for output in outcome.output for table in query.to_tables(task, output)),
        outcome.accepted,
        query.output_watermark(found),
        found.now.least,
        {name: value for name, value in metrics.items() if name not in task.plan.choice.unreported},
        outcome.rejections,
        outcome.late,
        max([0, *behind]) if outcome.late else 0,
        inputs=found.now,
    )
