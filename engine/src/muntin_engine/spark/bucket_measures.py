"""What a bucket reports of a micro-batch, besides the rows that it puts out."""

from __future__ import annotations

from collections.abc import Callable

from muntin import EarlyEmission, HoppingWindows
from muntin_engine.core.bucket import BatchResult
from muntin_engine.core.changes import OutputChange, OutputKind, Progress, Timing
from muntin_engine.core.measured_cells import MeasuredCells
from muntin_engine.core.sliced.bucket import SliceResult
from muntin_engine.core.window_grid import open_windows
from muntin_engine.spark.job import Job


def general_measures(job: Job, cells: MeasuredCells, result: BatchResult) -> dict[str, int]:
    """Return the measures of the general evaluator."""
    may_retract, is_early = job.query.emit.may_retract, isinstance(job.query.emit, EarlyEmission)
    return {
        "retractions": _count(result, lambda change: change.kind is not OutputKind.INSERT) if may_retract else 0,
        "early": _count(result, lambda change: change.timing is Timing.EARLY) if is_early else 0,
        "keys": result.keys,
        "windows_closed": result.windows_closed,
        "windows_revisable": result.held.windows,
        "keys_held": result.held.keys,
        "events_held": result.held.events,
        "state_bytes": result.held.bytes,
        "bytes_written": cells.written,
        **_progress(job, result.progress),
    }


def sliced_measures(job: Job, cells: MeasuredCells, result: SliceResult[object], windows: int) -> dict[str, int]:
    """Return the measures of evaluation over slices.

    Args:
        job: The query.
        cells: The bucket's state.
        result: What it made of the batch.
        windows: How many windows of keys it closed.
    """
    return {
        "keys": result.keys,
        "windows_closed": windows,
        "state_bytes": result.held.bytes,
        "bytes_written": cells.written,
        **_progress(job, result.progress),
    }


def _count(result: BatchResult, is_wanted: Callable[[OutputChange], bool]) -> int:
    return sum(is_wanted(change) for _, changes in result.output for change in changes)


def _progress(job: Job, now: Progress) -> dict[str, int]:
    """Return how far the input is; what is not known yet is left out."""
    windows = [some for some in (job.steps or (job.query.window,)) if isinstance(some, HoppingWindows)]
    measures = {"punctuation": now.punctuation, "newest": now.newest, "clock": now.clock}
    count = open_windows(windows, now.punctuation, now.horizon)
    return measures if count is None else {**measures, "windows_open": count}
