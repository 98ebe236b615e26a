"""A micro-batch of a bucket of a join, on arrays: events in, and the pairs that they make with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted
from muntin_engine.evaluators.arrays.admission.insertions import LateRows
from muntin_engine.evaluators.arrays.machine import ArrayResult
from muntin_engine.evaluators.arrays.store.stretch_store import write_metadata
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, ROWS, Part, StretchTable, concat
from muntin_engine.evaluators.batch import BucketBatch, progress_after, progress_in
from muntin_engine.evaluators.joins.pair_store import PairStore, side_of
from muntin_engine.plan.join_plan import Condition
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.log import LogEntry
from muntin_engine.time.changes import Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.python_values import tuples_of

LEFT: Final = 0
RIGHT: Final = 1

SIDES: Final = (Part(LEFT, "rows"), Part(RIGHT, "rows"))
"""The parts of pairs: the columns of the left events, and of the right ones."""


@dataclass(frozen=True)
class PairQuery:
    """A join of events whose ends stay, as its buckets see it.

    Attributes:
        condition: The condition that pairs meet; None if there is none.
        late_rows: Makes rejections of late rows; None if these are only counted.
    """

    condition: Condition | None = None
    late_rows: LateRows | None = None

    def new_store(self) -> PairStore:
        """Return an empty store."""
        return PairStore(with_late_rows=self.late_rows is not None)


@dataclass
class ArrivedEvents:
    """The events that a batch brings.

    Attributes:
        in_time: The events of each side that are in time.
        accepted: Their number.
        keys: The number of keys with rows.
        late: The number of late rows.
        rejections: The late rows that are kept, by key.
    """

    in_time: list[StretchTable | None] = field(default_factory=lambda: [None, None])
    accepted: int = 0
    keys: int = 0
    late: int = 0
    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)

    def admitted(self) -> Admitted:
        """Return the counts of the batch."""
        return Admitted((), self.accepted, self.keys, self.late - len(self.rejections), self.rejections)


def process_pairs(
    query: PairQuery, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
) -> ArrayResult:
    """Process a micro-batch of a bucket, and write its state.

    This is not the algorithm of `machine.process`: nothing is merged and no window completes. A pair is final as soon
    as both events are there, so each side is searched by the rows of the other one, and before these are added.

    Args:
        query: The join.
        state: The state of the bucket.
        trackers: The tracker of the progress of each input.
        batch: The part of the micro-batch that the bucket gets.
    """
    previous = progress_in(state.metadata, trackers)
    progress = progress_after(previous, trackers, batch.reports)
    state.metadata.tracked = progress.to_data()
    watermarks = watermarks_of(progress)
    if not batch.evaluator_blobs and watermarks_of(previous) == watermarks:
        sizes = write_metadata(state)
        return ArrayResult((), Admitted(), previous, progress, progress.least.watermark, sizes)

    store = _open(query, state, previous)
    store.keys.forget_unused(store)
    arrived = _admit(query, batch.evaluator_blobs, store, previous)
    pairs: list[ResultWindows] = []
    for side in (RIGHT, LEFT):  # the right events meet the old left ones, then the left events meet all
        events = arrived.in_time[side]
        if events is not None:
            pairs += _matches(query, store, side, events)
            store.add(side, events)
    store.forget(watermarks)
    store.write(state.log, watermarks)
    sizes = store.close(state)
    return ArrayResult(pairs, arrived.admitted(), previous, progress, progress.least.watermark, sizes)


def watermarks_of(progress: InputsProgress) -> tuple[int, ...]:
    """Return the watermark of each input."""
    return tuple(input_progress.watermark for input_progress in progress.inputs)


def _open(query: PairQuery, state: BucketState, previous: InputsProgress) -> PairStore:
    """Take the store of a bucket from the cache, or rebuild it from the log."""

    def restored(entries: Sequence[LogEntry]) -> PairStore:
        store = query.new_store()
        store.restore(entries, watermarks_of(previous))
        return store

    return state.open(restored)


def _admit(query: PairQuery, blobs: Sequence[bytes], store: PairStore, previous: InputsProgress) -> ArrivedEvents:
    """Decide which events are late: those that begin before the watermark of their own input."""
    arrivals = store.codec.read_blobs(blobs)
    tables: list[list[StretchTable]] = [[], []]
    for arrival in arrivals:
        tables[side_of(arrival.packed)].append(arrival.stretches)
    arrived = ArrivedEvents(keys=store.keys.count([arrival.codes for arrival in arrivals]))
    for side in (RIGHT, LEFT):
        if not tables[side]:
            continue
        events = concat(tables[side])
        watermark = previous.inputs[side].watermark
        late = events.where(events.low < watermark)
        in_time = events.where(events.low >= watermark)
        if query.late_rows is not None:
            arrived.rejections += query.late_rows.rejections(late, store.keys, watermark, side)
            in_time = in_time.without(LISTS)
        arrived.in_time[side] = in_time
        arrived.accepted += len(in_time)
        arrived.late += len(late)
    return arrived


def _matches(query: PairQuery, store: PairStore, side: int, rows: StretchTable) -> Iterator[ResultWindows]:
    """Yield the pairs of new rows of one side with the live events of the other side."""
    other_side = store.sides[1 - side]
    for probes, matches in other_side.overlapping(rows):
        events = rows.take(probes)
        others = other_side.events.take(matches)
        low = np.maximum(events.low, others.low)
        high = np.minimum(events.high, others.high)
        parts = {SIDES[side]: events.parts[ROWS], SIDES[1 - side]: others.parts[ROWS]}
        pairs = StretchTable(events.keys, low, high, events.weight, parts)
        if query.condition is not None:
            pairs = _meeting(query.condition, pairs)
        yield ResultWindows(0, pairs, store.keys.take(pairs.keys))


def _meeting(condition: Condition, pairs: StretchTable) -> StretchTable:
    """Select the pairs that meet a condition."""
    payloads = []
    for part in SIDES:
        table = pairs.parts[part].table
        payloads.append(tuples_of(table, table.column_names))
    return pairs.where(np.fromiter(map(condition, *payloads), np.bool_, len(pairs)))
