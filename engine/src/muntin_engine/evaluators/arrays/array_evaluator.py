"""The evaluator on arrays: rows become values that are merged, and windows are made of these for all keys at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY, OutputContract
from muntin_engine.evaluators.arrays.array_query import array_query
from muntin_engine.evaluators.arrays.arrays_in_memory import windows_in_memory
from muntin_engine.evaluators.arrays.event_reader import rows_of_events
from muntin_engine.evaluators.arrays.machine import ArrayResult, process
from muntin_engine.evaluators.arrays.stretch_reader import rows_of_components, rows_of_lists, rows_of_states
from muntin_engine.evaluators.arrays.stretches.result_tables import result_tables
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.plan.chosen_evaluator import Arrivals, Held
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_engine.wire.task_payload import TaskPayload


class ArrayEvaluator(KeepsState, LiftsRows):
    """Merges rows into partial states of slices, or of runs of slices, and makes windows of those.

    Sessions and snapshots have no slices: the partial states of sessions are fused, those of snapshots are added and
    subtracted. What a partial state holds is chosen by the plan, too: components of forms, Python states, or rows.
    """

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows. These queries have one input: `side` is always 0."""
        del side
        return task.once(array_query).admission.lift(task, rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Process a micro-batch of a bucket and write its state."""
        state = bucket_state(task, bucket, cells)
        result = process(task.once(array_query), state, task.trackers, batch)
        # Tables are made one at a time, as the caller asks for them.
        tables = (table for windows in result.windows for table in result_tables(task, windows))
        return evaluated(task, batch, result, tables)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Open the evaluator of a query in this process, for restart tests, with the state that is in the cells."""
        return windows_in_memory(plan, cells, codec)

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the partial states of each key and stretch, or rows and events one by one."""
        parts = bucket.identity["arrays"]  # the parts that the plan chose, by name
        if parts["arrivals"] == Arrivals.IDENTIFIED:
            return rows_of_events(bucket)
        return _ROWS_OF_STRETCHES[parts["held"]](bucket)


_ROWS_OF_STRETCHES: Final[Mapping[str, Callable[[BucketReader], Iterator[StateRow]]]] = {
    Held.COMPONENTS: rows_of_components,
    Held.STATES: rows_of_states,
    Held.ROWS: rows_of_lists,
}
"""Reads the stretches of a checkpoint, by what these hold."""


def bucket_state(task: TaskPayload, bucket: int, cells: Cells) -> BucketState:
    """Read the metadata of a bucket's state, and prepare to take its store from the worker's cache.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The cells of the bucket's state.
    """
    # All queries of a worker share the cache. It has the size that the last query asked for.
    STORE_CACHE.most = task.worker.cache_bytes
    # A static input is one micro-batch: no later one would take its store from the cache.
    cache = None if task.is_static else STORE_CACHE
    return BucketState(cells, task.codec, task.compatibility, cache=cache, name=(task.cache_token, bucket))


def evaluated(task: TaskPayload, batch: BucketBatch, result: ArrayResult, tables: Iterator[pa.Table]) -> Evaluated:
    """Return the output of a micro-batch in the form that all evaluators share, with its metrics.

    Args:
        task: The query.
        batch: The micro-batch.
        result: The outcome of the micro-batch, as the machine returned it.
        tables: The results as tables of the query's result schema.
    """
    admitted = result.admitted
    return Evaluated(
        tables=tables,
        accepted=admitted.accepted,
        output_watermark=_output_watermark(task.plan, result),
        progress=result.progress.least,
        metrics=_metrics(task.plan, result),
        rejections=admitted.rejections,
        late=admitted.late,
        late_by=_late_by(batch, result) if admitted.late else 0,
        inputs=result.progress,
    )


def _output_watermark(plan: Plan, result: ArrayResult) -> int:
    """Return the tick before which no later output changes anything.

    If results may have any times, a later one may change any tick: there is no such tick until the input is closed.
    """
    if plan.contract is not OutputContract.UNRESTRICTED:
        return result.output_watermark
    is_closed = result.progress.least.watermark == INFINITY
    return INFINITY if is_closed else EARLIEST


def _metrics(plan: Plan, result: ArrayResult) -> Mapping[str, int]:
    """Return the values of all metrics; those that the plan's evaluator does not report are left out later."""
    metrics = {
        "keys": result.admitted.keys,
        "windows_closed": result.completed,
        "keys_held": result.sizes.keys,
        "events_held": result.sizes.events,
        "state_bytes": result.sizes.bytes,
    }
    if plan.emission.may_retract:
        retractions = 0
        for results in result.windows:
            retractions += int(np.count_nonzero(results.windows.weight < 0))  # a retracted result has the weight -1
        metrics["windows_revisable"] = result.sizes.windows
        metrics["retractions"] = retractions
    return metrics


def _late_by(batch: BucketBatch, result: ArrayResult) -> int:
    """Return how far the oldest row of the batch was behind the watermark of its input, in ticks; 0 if it was not.

    The watermark is that before the batch. An input that was closed before the batch is left out: its watermark is
    infinite, and so would be the distance.
    """
    distances = [0]
    for watermark, report in zip(result.previous.to_the_tick, batch.reports, strict=True):
        if watermark < INFINITY:
            distances.append(watermark - report.oldest)
    return max(distances)
