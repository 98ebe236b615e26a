"""A micro-batch of a bucket, evaluated from its events."""

from __future__ import annotations

from collections.abc import Callable

from muntin import EarlyEmission
from muntin_engine.core.changes import OutputChange, OutputKind, Timing
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.general.bucket import BatchResult, Bucket
from muntin_engine.evaluators.general.result_tables import result_tables
from muntin_engine.evaluators.progress_metrics import progress_metrics
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.state.cells import Cells
from muntin_engine.state.measured_cells import MeasuredCells


def process(task: TaskPayload, cells: Cells, batch: BucketBatch) -> Evaluated:
    """Evaluate a micro-batch of a bucket and write its state."""
    measured = MeasuredCells(cells)
    result = Bucket(task.query, measured, task.codec, task.identity, task.tracker).process(
        batch.changes,
        batch.progress,
        observed=batch.observed,
        key_watermarks=batch.key_watermarks,
        signals=batch.signals,
    )
    may_retract, is_early = task.query.emit.may_retract, isinstance(task.query.emit, EarlyEmission)
    metrics = {
        "retractions": _count(result, lambda change: change.kind is not OutputKind.INSERT) if may_retract else 0,
        "early": _count(result, lambda change: change.timing is Timing.EARLY) if is_early else 0,
        "keys": result.keys,
        "windows_closed": result.windows_closed,
        "windows_revisable": result.held.windows,
        "keys_held": result.held.keys,
        "events_held": result.held.events,
        "state_bytes": result.held.bytes,
        "bytes_written": measured.written,
        **progress_metrics(task, result.progress),
    }
    tables = result_tables(task, result.output)
    return Evaluated(tables, result.accepted, result.watermark, metrics, result.rejections)


def _count(result: BatchResult, is_wanted: Callable[[OutputChange], bool]) -> int:
    return sum(is_wanted(change) for _, changes in result.output for change in changes)
