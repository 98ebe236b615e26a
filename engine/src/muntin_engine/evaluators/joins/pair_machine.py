"""A micro-batch of a bucket of a join, on arrays: events in, and the pairs that they make with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted
from muntin_engine.evaluators.arrays.admission.insertions import LateRows
from muntin_engine.evaluators.arrays.machine import ArrayResult, unchanged_result
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, ROWS, Part, StretchTable, concat
from muntin_engine.evaluators.batch import BucketBatch, advance_progress
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT
from muntin_engine.evaluators.joins.pair_store import PairStore, side_of
from muntin_engine.plan.join_plan import Condition
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.log import LogEntry
from muntin_engine.time.changes import Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.python_values import tuples_of

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
        in_time: The events of each side that are in time; None of a side without any rows.
        accepted: The number of events in time, of both sides.
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
        """Return what became of the rows; a late row is either kept as a rejection, or only counted.

        The rows in time are not part of it: the caller takes them from `in_time`.
        """
        return Admitted(
            accepted=self.accepted,
            keys=self.keys,
            late=self.late - len(self.rejections),
            rejections=self.rejections,
        )


def process_pairs(
    query: PairQuery, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
) -> ArrayResult:
    """Process a micro-batch of a bucket, and write its state.

    This is not the algorithm of `machine.process`: nothing is merged, and no window completes. A pair is final as soon
    as both of its events are there. So the new events of each side are searched for among the live ones of the other.

    Args:
        query: The join.
        state: The state of the bucket.
        trackers: The tracker of the progress of each input.
        batch: The part of the micro-batch that the bucket gets.
    """
    previous, progress = advance_progress(state.metadata, trackers, batch.reports)
    watermarks = watermarks_of(progress)
    output_watermark = progress.least.watermark
    # Without rows there are no pairs, and without progress of a watermark no event is dropped.
    if not batch.evaluator_blobs and watermarks_of(previous) == watermarks:
        return unchanged_result(state, previous, progress, output_watermark)

    store = _open(query, state, previous)
    store.keys.forget_unused(store)  # before the batch: from here on, its events refer to keys by their codes
    arrived_events = _admit(query, batch.evaluator_blobs, store, previous)

    # New right events are paired with left events of earlier batches, then new left events with all right ones: so a
    # pair of two new events is found once.
    pairs: list[ResultWindows] = []
    for side in (RIGHT, LEFT):
        events = arrived_events.in_time[side]
        if events is not None:
            pairs += _pairs_of(query, store, side, events)
            store.add(side, events)

    # Events are dropped only now: events of the batch may be over already, but they have made their pairs first.
    store.forget(watermarks)
    store.write(state.log, watermarks)
    sizes = store.close(state)
    return ArrayResult(
        windows=pairs,
        admitted=arrived_events.admitted(),
        previous=previous,
        progress=progress,
        output_watermark=output_watermark,
        sizes=sizes,
    )


def watermarks_of(progress: InputsProgress) -> tuple[int, ...]:
    """Return the watermark of each input."""
    return tuple(input_progress.watermark for input_progress in progress.inputs)


def _open(query: PairQuery, state: BucketState, previous: InputsProgress) -> PairStore:
    """Take the store of a bucket from the cache, or rebuild it from the log."""

    def restored(entries: Sequence[LogEntry]) -> PairStore:
        """Return a new store with the events of a log."""
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

    arrived_events = ArrivedEvents(keys=store.keys.count([arrival.codes for arrival in arrivals]))
    for side in (RIGHT, LEFT):
        if not tables[side]:
            continue
        events = concat(tables[side])
        watermark = previous.inputs[side].watermark
        late = events.where(events.low < watermark)
        in_time = events.where(events.low >= watermark)
        if query.late_rows is not None:
            arrived_events.rejections += query.late_rows.rejections(late, store.keys, watermark, side)
            in_time = in_time.without(LISTS)  # the rows that travelled beside the events in case these were late
        arrived_events.in_time[side] = in_time
        arrived_events.accepted += len(in_time)
        arrived_events.late += len(late)
    return arrived_events


def _pairs_of(query: PairQuery, store: PairStore, side: int, events: StretchTable) -> Iterator[ResultWindows]:
    """Yield the pairs of new events of one side with the live events of the other side.

    Args:
        query: The join.
        store: The store, whose live events are searched.
        side: The side of the new events.
        events: The new events.
    """
    opposite = store.sides[1 - side]
    for overlaps in opposite.overlapping(events):
        new_events = events.take(overlaps.new_places)
        live_events = opposite.events.take(overlaps.live_places)
        low = np.maximum(new_events.low, live_events.low)
        high = np.minimum(new_events.high, live_events.high)
        parts = {SIDES[side]: new_events.parts[ROWS], SIDES[1 - side]: live_events.parts[ROWS]}
        pairs = StretchTable(new_events.keys, low, high, new_events.weight, parts)
        if query.condition is not None:
            pairs = _pairs_that_meet(query.condition, pairs)
        yield ResultWindows(place=0, windows=pairs, keys=store.keys.take(pairs.keys))


def _pairs_that_meet(condition: Condition, pairs: StretchTable) -> StretchTable:
    """Select the pairs whose two payloads meet a condition, which is called for each pair."""
    payloads = []
    for part in SIDES:
        table = pairs.parts[part].table
        payloads.append(tuples_of(table, table.column_names))
    left_payloads, right_payloads = payloads
    meets = np.fromiter(map(condition, left_payloads, right_payloads), np.bool_, len(pairs))
    return pairs.where(meets)
