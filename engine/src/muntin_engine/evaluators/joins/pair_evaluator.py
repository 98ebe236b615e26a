"""The evaluator of joins of events whose ends stay, on arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin_engine.evaluators.arrays.admission.insertions import LateRows
from muntin_engine.evaluators.arrays.array_evaluator import bucket_state, evaluated
from muntin_engine.evaluators.arrays.arrays_in_memory import ArraysInMemory, ResultRow, RunsInMemory
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lift_each, rows_to_lift
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.evaluators.joins.pair_machine import SIDES, PairQuery, process_pairs, watermarks_of
from muntin_engine.evaluators.joins.pair_store import PairStore, side_mark
from muntin_engine.evaluators.keyed.output_tables import in_pieces
from muntin_engine.plan.join_plan import JoinPlan
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow, payload_of
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange, Key, canonical
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.python_values import tuples_of, values_in
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import extents

_GAP_OF_A_TICK: Final = 1
"""The `gap` of `lift_each` with which a stretch ends where its event does: an event joins in its lifetime alone."""


class PairEvaluator(KeepsState, LiftsRows):
    """Runs inner joins of events whose ends do not move: pairs are final when both events are there."""

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the good rows of one side for each bucket that has any."""
        with_rows = task.plan.keeps_late_rows
        lifted_rows = rows_to_lift(task, rows, side)
        return lift_each(_GAP_OF_A_TICK, lifted_rows, packed=side_mark(side), with_rows=with_rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Process a micro-batch of a bucket and write its state."""
        plan = task.plan
        late_rows = LateRows(plan.words.axis, values_in) if plan.keeps_late_rows else None
        query = PairQuery(condition=_join(plan).on, late_rows=late_rows)
        result = process_pairs(query, bucket_state(task, bucket, cells), task.trackers, batch)
        tables = chain.from_iterable(pair_tables(task, pairs) for pairs in result.windows)
        return evaluated(task, batch, result, tables)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Open the evaluator of a query as a process does that was just started."""
        return ArraysInMemory(PairsInMemory(_join(plan), codec), plan, cells, codec)

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the live events of both inputs that a bucket of a checkpoint holds."""
        # Without a schema version, an entry is read as it is: events need no upgrade.
        entries = [dated.entry._replace(schema_version=None) for dated in bucket.entries]
        store = PairStore()
        store.restore(entries, watermarks_of(InputsProgress.from_data(bucket.progress)))
        for side_events in store.events_by_side():
            name, identity = bucket.inputs[side_events.side]
            events = side_events.events
            table = events.parts[ROWS].table
            payloads = tuples_of(table, table.column_names)
            columns = (store.keys_of(side_events), events.low.tolist(), events.high.tolist(), payloads)
            for key, start, end, payload in zip(*columns, strict=True):
                yield StateRow("event", key, start, end, payload_of(identity, payload), events=1, input=name)


def pair_tables(task: TaskPayload, pairs: ResultWindows) -> Iterator[pa.Table]:
    """Yield pairs as tables of the query's result schema; the end of a pair that never ends is null.

    Args:
        task: The query.
        pairs: The pairs, with the columns of their left and their right events.
    """
    windows = pairs.windows
    event_tables = [windows.parts[part].table for part in SIDES]

    # The columns are in the order of the schema: the key, the lifetime, then those that the join selects.
    columns = [pairs.keys.column(name) for name in task.key_names]
    ends = arrow_array(windows.high, mask=windows.high == INFINITY)
    columns.append(extents(task, windows.low, ends))
    for column in _join(task.plan).columns:
        columns.append(event_tables[column.side].column(column.place))
    yield from in_pieces(pa.table(columns, schema=task.results))


def _join(plan: Plan) -> JoinPlan:
    """Return the join of a plan."""
    assert plan.join is not None, "the planner chooses this evaluator for joins alone"
    return plan.join


class PairsInMemory(RunsInMemory):
    """Pairs of a join in memory, for restart tests; keys and payloads of any type travel packed."""

    def __init__(self, join: JoinPlan, codec: Codec) -> None:
        """Prepare a join, whose keys and payloads a codec packs."""
        self._join = join
        self._codec = codec
        self._query = PairQuery(condition=None if join.on is None else self._meets)

    def lift(self, key: Key, row: InputChange) -> Iterator[BucketBlob]:
        """Yield a row as map tasks send it."""
        packed_key = arrow_array([self._codec.pack(list(canonical(key)))], pa.binary())
        packed_payload = arrow_array([self._codec.pack(list(row.payload))], pa.binary())
        starts = np.array([row.start], np.int64)
        ends = np.array([INFINITY if row.end is None else row.end], np.int64)
        rows = RowsToLift(bucket_count=1, starts=starts, ends=ends, keys=[packed_key], inputs=[packed_payload])
        # The bucket reads from the blob which side its rows are of.
        return lift_each(_GAP_OF_A_TICK, rows, packed=side_mark(row.side))

    def process(
        self, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
    ) -> Sequence[ResultWindows]:
        """Process a micro-batch, and return its pairs."""
        return process_pairs(self._query, state, trackers, batch).windows

    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Yield the output row of each pair: the columns that the join selects of its two events."""
        unpack = self._codec.unpack
        pairs = windows.windows
        left_events, right_events = [pairs.parts[part].table for part in SIDES]
        keys = map(unpack, windows.keys.column(0).to_pylist())
        pair_extents = map(Window, pairs.low.tolist(), pairs.high.tolist())
        left_payloads = map(unpack, left_events.column(0).to_pylist())
        right_payloads = map(unpack, right_events.column(0).to_pylist())
        payload_pairs = zip(left_payloads, right_payloads, strict=True)
        for key, extent, payloads in zip(keys, pair_extents, payload_pairs, strict=True):
            values = [payloads[column.side][column.place] for column in self._join.columns]
            yield ResultRow(tuple(key), extent, tuple(values))

    def _meets(self, *packed_payloads: tuple[bytes]) -> bool:
        """Return True if a pair meets the condition of the join.

        Args:
            packed_payloads: The packed payload of the left event, and that of the right one, each in a tuple of its own
                because it is the only column.
        """
        left_payload, right_payload = [self._codec.unpack(packed) for (packed,) in packed_payloads]
        assert self._join.on is not None, "there is a condition"
        return self._join.on(left_payload, right_payload)
