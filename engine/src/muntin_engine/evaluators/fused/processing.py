"""A micro-batch of a bucket of sessions, on arrays or with Python states, or of snapshots on arrays."""

from __future__ import annotations

from muntin import TimestampPolicy
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.edges.store import EdgeStore
from muntin_engine.evaluators.fused.bucket import FusedBucket
from muntin_engine.evaluators.fused.result_tables import session_tables, state_session_tables
from muntin_engine.evaluators.fused.state_store import ClosedStates, StateSessionStore
from muntin_engine.evaluators.fused.store import ClosedSessions, FusedStore
from muntin_engine.evaluators.over_slices.processing import process_slices
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells


def process(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket on arrays, and write its state."""
    store = EdgeStore if task.plan.is_cut_at_edges else FusedStore

    def make_store() -> FusedStore:
        return store(task.forms, at_end=_at_end(task))

    return process_slices(
        task, bucket, cells, batch, make_store, session_tables, ClosedSessions.window_count, FusedBucket
    )


def process_states(task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket with Python states, and write its state."""

    def make_store() -> StateSessionStore:
        return StateSessionStore(task.query.bindings, task.codec, task.query.axis, at_end=_at_end(task))

    return process_slices(
        task, bucket, cells, batch, make_store, state_session_tables, ClosedStates.window_count, FusedBucket
    )


def _at_end(task: TaskPayload) -> bool:
    return task.query.timestamps is TimestampPolicy.POINT_AT_END
