"""The evaluators of windows over the last rows of a key, on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import TimestampPolicy
from muntin.catalog.named_windows import from_dict
from muntin_engine.evaluators.arrays.admission.insertions import LateRows
from muntin_engine.evaluators.arrays.array_evaluator import bucket_state, evaluated
from muntin_engine.evaluators.arrays.arrays_in_memory import (
    ArraysInMemory,
    ResultRow,
    RunsInMemory,
    column_of,
    key_columns,
    rows_of,
    values_of_forms,
)
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, bound_forms
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows, result_tables
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lift_each, rows_to_lift
from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.evaluators.contracts import InMemory, KeepsState, LiftsRows
from muntin_engine.evaluators.declarations.ranked import ranked_windows
from muntin_engine.evaluators.ranked.ranked_machine import RankedQuery, process_ranked, restore
from muntin_engine.evaluators.ranked.ranked_modules import RankedForms, RankedModules, RankedStates
from muntin_engine.evaluators.ranked.row_sequence import RowSequence
from muntin_engine.modules.meter import Meter
from muntin_engine.plan.evaluator_query import EvaluatorQuery, evaluator_query
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow, payload_of
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.time.changes import InputChange, Key
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import ProgressTracker
from muntin_engine.wire.python_values import tuples_of, values_in
from muntin_engine.wire.task_payload import TaskPayload

_ONE_TICK: Final = 1
"""The `gap` of `lift_each` with which the stretch of a row is its tick."""


class RankedEvaluator(KeepsState, LiftsRows):
    """Runs windows that are runs of a key's rows by rank, for all keys at once. Rows wait for the watermark."""

    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Yield the good rows for each bucket that has any, as they are."""
        return lift_each(_ONE_TICK, rows_to_lift(task, rows, side), with_rows=task.plan.keeps_late_rows)

    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Process a micro-batch of a bucket and write its state."""
        query = task.once(_query_of_task)
        result = process_ranked(query, bucket_state(task, bucket, cells), task.trackers, batch)
        tables = (table for windows in result.windows for table in result_tables(task, windows))
        return evaluated(task, batch, result, tables)

    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Open the evaluator of a query in this process, for restart tests, with the state that is in the cells."""
        return ArraysInMemory(RankedInMemory(plan, codec), plan, cells, codec)

    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the rows that wait for the watermark, and those in the window of each key."""
        # Which rows a state has depends on the windows and on the order of rows, but not on the modules. So the state
        # is read by a query without modules.
        identity = bucket.identity
        row_windows: Any = from_dict(identity["window"])
        windows = row_windows.by_rank()
        orders = [identity["order"], *identity.get("then_by", ())]
        modules = RankedStates(bindings=(), windows=windows)
        query = RankedQuery(windows, RowSequence.by_columns(orders), modules)

        store = query.new_store()
        # Without a schema version, an entry is read as it is: rows need no upgrade.
        entries = [dated.entry._replace(schema_version=None) for dated in bucket.entries]
        watermark = InputsProgress.from_data(bucket.progress).least.watermark
        restore(query, store, entries, watermark)
        tables = [("event", table) for table in store.waiting.tables()]
        tables.append(("member", store.in_windows.table()))
        for kind, rows in tables:
            if len(rows):
                keys = keys_in(store.keys.take(rows.keys))
                yield from _rows_of_state(kind, rows, keys, identity)


def _rows_of_state(kind: str, rows: StretchTable, keys: Sequence[Key], identity: QueryIdentity) -> Iterator[StateRow]:
    """Yield rows of a store as rows of a checkpoint.

    Args:
        kind: `event` of rows that wait for the watermark, `member` of rows in windows.
        rows: The rows.
        keys: The key of each row.
        identity: The query that wrote the rows.
    """
    table = rows.parts[ROWS].table
    payloads = tuples_of(table, table.column_names)
    for key, start, payload in zip(keys, rows.low.tolist(), payloads, strict=True):
        yield StateRow(kind, key, start, start + 1, payload_of(identity, payload), events=1)


def _query_of_task(task: TaskPayload) -> RankedQuery:
    """Return the query of a task; `TaskPayload.once` calls this once for a task."""
    return _ranked_query(task.plan, task.query, task.meters, values_of=values_in)


def _ranked_query(
    plan: Plan, query: EvaluatorQuery, meters: Sequence[Meter], values_of: Callable[[pa.ChunkedArray], list[Any]]
) -> RankedQuery:
    """Return a query over the last rows of a key.

    Args:
        plan: The plan.
        query: The plan in the terms of evaluators.
        meters: The meter of each module's calls.
        values_of: Returns the values of an input column.
    """
    windows = ranked_windows(plan)
    assert plan.input.order is not None, "windows that follow rows have an order"
    orders = (plan.input.order, *plan.input.then_by)
    modules: RankedModules
    if plan.choice.lifts_in_buckets:  # all modules have columnar forms
        modules = RankedForms(bound_forms(plan, meters))
    else:
        modules = RankedStates(query.bindings, windows, values_of)
    late_rows = LateRows(query.axis, values_of) if plan.keeps_late_rows else None
    return RankedQuery(
        windows=windows,
        sequence=RowSequence.by_columns(orders, values_of),
        modules=modules,
        late_rows=late_rows,
        at_end=plan.timestamps is TimestampPolicy.POINT_AT_END,
    )


class RankedInMemory(RunsInMemory):
    """Windows over the last rows in memory, for restart tests; columns of forms have types, others travel packed."""

    def __init__(self, plan: Plan, codec: Codec) -> None:
        """Prepare a query, whose payloads a codec packs."""
        meters = [Meter() for _ in plan.modules]
        self._plan = plan
        self._codec = codec
        self._query = _ranked_query(plan, evaluator_query(plan, meters), meters, self._values_of)
        self._forms: Sequence[BoundForm] = ()
        if plan.choice.lifts_in_buckets:  # all modules have columnar forms
            self._forms = bound_forms(plan, meters)

    def lift(self, key: Key, row: InputChange) -> Iterator[BucketBlob]:
        """Yield a row as map tasks send it."""
        starts = np.array([row.start], np.int64)
        inputs = [self._column(place, value) for place, value in enumerate(row.payload)]
        rows = RowsToLift(bucket_count=1, starts=starts, ends=None, keys=key_columns(key), inputs=inputs)
        return lift_each(_ONE_TICK, rows)

    def process(
        self, state: BucketState, trackers: Sequence[ProgressTracker], batch: BucketBatch
    ) -> Sequence[ResultWindows]:
        """Process a micro-batch, and return its windows."""
        return process_ranked(self._query, state, trackers, batch).windows

    def result_rows(self, windows: ResultWindows) -> Iterable[ResultRow]:
        """Return the rows of windows: a result of each module, or the rows of an operator."""
        values: Sequence[Sequence[Any]] | None = windows.values
        if values is None:  # forms compute their results only here
            values = values_of_forms(self._forms, windows)
        return rows_of(windows, zip(*values, strict=True), is_operator=self._plan.is_operator)

    def _column(self, place: int, value: Any) -> pa.Array:
        """Return a value of a payload as a column of one row.

        Args:
            place: The place of the value in the payload.
            value: The value.
        """
        if place == self._plan.input.order:  # rows are sorted by this column: it must have its own type
            return pa.array([value])
        if self._forms and place < len(self._plan.modules):  # a form reads the column in the type of its module
            return column_of(self._plan.modules[place].bound_reads[0], [value])
        return pa.array([self._codec.pack(value)], pa.binary())

    def _values_of(self, column: pa.ChunkedArray) -> list[Any]:
        """Return the Python values of a column that `_column` made: columns of bytes hold packed values."""
        if not pa.types.is_binary(column.type):
            return values_in(column)
        return list(map(self._codec.unpack, column.to_pylist()))
