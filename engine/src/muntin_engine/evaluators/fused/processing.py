"""A micro-batch of a bucket of sessions, evaluated on arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from muntin import INFINITY, TimestampPolicy, Window
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.columnar.result_tables import form_columns
from muntin_engine.evaluators.fused.bucket import FusedBucket
from muntin_engine.evaluators.fused.store import ClosedSessions, FusedStore
from muntin_engine.evaluators.over_slices.processing import process_slices
from muntin_engine.evaluators.over_slices.slice_bucket import Complete
from muntin_engine.evaluators.over_slices.window_tables import extent_tables
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells


def process(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""

    def count(closed: ClosedSessions) -> int:
        return len(closed.ends)

    at_end = task.query.timestamps is TimestampPolicy.POINT_AT_END

    def make_store() -> FusedStore:
        return FusedStore(task.forms, at_end=at_end)

    return process_slices(task, bucket, cells, batch, make_store, session_tables, count, FusedBucket)


def session_tables(task: TaskPayload, complete: Complete[ClosedSessions]) -> Iterator[pa.Table]:
    """Yield sessions as tables of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    closed = complete.output
    keys = [closed.keys.column(name) for name in task.key_names]
    starts, ends = closed.windows.windows, closed.ends

    def at(row: int) -> tuple[Key, Window]:
        return tuple(column[row].as_py() for column in keys), Window(int(starts[row]), int(ends[row]))

    masked = np.ma.masked_equal(ends, INFINITY)
    yield from extent_tables(task, starts, masked, keys, form_columns(task, closed.windows, at))
