"""A micro-batch of a bucket, evaluated on merged partial states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from muntin import EARLIEST, INFINITY, OutputContract, TimestampPolicy
from muntin_engine.evaluators.arrays.entries import Entries, FormEntries
from muntin_engine.evaluators.arrays.fused_bucket import FusedBucket
from muntin_engine.evaluators.arrays.grid_store import GridStore
from muntin_engine.evaluators.arrays.result_tables import closed_tables
from muntin_engine.evaluators.arrays.row_entries import RowEntries
from muntin_engine.evaluators.arrays.session_store import SessionStore
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.kept_stores import KEPT


def process_slices(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    batch: BucketBatch,
    entries: Callable[[TaskPayload], Entries],
) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: Its state.
        batch: What the micro-batch brings.
        entries: Returns what reads and writes its partial states.
    """
    KEPT.most = task.worker.kept_bytes
    kept, name = None if task.is_static else KEPT, (task.name, bucket)
    (said,), (given,) = batch.reports, task.inputs
    bucket_type: type[SliceBucket] = SliceBucket if task.plan.gap is None else FusedBucket
    running = bucket_type(
        task.grids, partial(_store_of, task, entries), cells, task.codec, task.compatibility, kept, name, given.tracker
    )
    result = running.process(batch.partials, said.progress, said.observed)
    watermark = running.output_watermark(result, at_end=task.query.timestamps is TimestampPolicy.POINT_AT_END)
    if task.plan.contract is OutputContract.UNRESTRICTED and watermark < INFINITY:
        watermark = EARLIEST  # a later result may lie anywhere
    metrics = {
        "keys": result.keys,
        "windows_closed": sum(output.window_count() for output in result.output),
        "state_bytes": result.held.bytes,
    }
    tables = (table for output in result.output for table in closed_tables(task, output))
    late_by = result.before - said.oldest if result.late and result.before < INFINITY else 0
    return Evaluated(tables, result.accepted, watermark, result.progress, metrics, late=result.late, late_by=late_by)


def state_modules_of(task: TaskPayload) -> StateModules:
    """Return the modules of a query, which keep Python states."""
    return StateModules(task.query.bindings, task.codec, task.query.axis)


def form_entries(task: TaskPayload) -> FormEntries:
    """Return what reads and writes components of forms."""
    return FormEntries(task.forms)


def state_entries(task: TaskPayload) -> StateEntries:
    """Return what reads and writes Python states."""
    return StateEntries(task.once(state_modules_of), task.grids)


def row_entries(task: TaskPayload) -> RowEntries:
    """Return what reads and writes rows."""
    return RowEntries(task.query)


def _store_of(task: TaskPayload, entries: Callable[[TaskPayload], Entries]) -> GridStore | SessionStore:
    """Return an empty store."""
    plan = task.plan
    if plan.gap is None:
        return GridStore(task.grids, entries(task))
    return SessionStore(
        entries(task), at_end=plan.timestamps is TimestampPolicy.POINT_AT_END, is_cut=plan.is_cut_at_edges
    )
