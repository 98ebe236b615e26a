"""The metrics of a bucket in one micro-batch: of the evaluator, of progress, and of rows that were not accepted."""

from __future__ import annotations

from muntin import EARLIEST
from muntin_engine.core.window_grid import open_windows
from muntin_engine.evaluators.batch import Evaluated
from muntin_engine.metrics import overflow_metric, skipped_metric
from muntin_engine.tasks.output_blobs import WATERMARK
from muntin_engine.tasks.source_metrics import watermarks_of
from muntin_engine.wire.row_counts import RowCounts
from muntin_engine.wire.task_payload import TaskPayload


def bucket_metrics(task: TaskPayload, evaluated: Evaluated, row_counts: RowCounts) -> dict[str, int]:
    """Return the values of metrics by name, progress as far as it is known.

    Args:
        task: The query.
        evaluated: The output of the evaluator.
        row_counts: The counts of rows that no bucket gets.
    """
    return {
        **evaluated.metrics,
        **_progress_metrics(task, evaluated),
        **skipped_metrics(task, row_counts),
    }


def _progress_metrics(task: TaskPayload, evaluated: Evaluated) -> dict[str, int]:
    """Return the metrics of progress, of lateness and of open windows."""
    progress = evaluated.progress
    metrics = {WATERMARK: progress.watermark, "newest": progress.newest}
    if progress.clock != EARLIEST:
        metrics["clock"] = progress.clock

    late_by = evaluated.late_by
    for _, rejection in evaluated.rejections:
        if rejection.is_late and rejection.late_by is not None:
            late_by = max(late_by, rejection.late_by)
    if late_by:
        metrics["late_by"] = late_by

    if evaluated.inputs is not None:
        metrics |= watermarks_of(task, evaluated.inputs)
    open_count = open_windows(task.window_grids, progress.watermark, progress.horizon)
    if open_count is not None:
        metrics["windows_open"] = open_count
    return metrics


def skipped_metrics(task: TaskPayload, row_counts: RowCounts) -> dict[str, int]:
    """Return the metrics of rows that modules did not accept or the query's filter left out."""
    metrics: dict[str, int] = {}
    for label, count in row_counts.unaccepted_by(task.choosy_labels).items():
        metrics[skipped_metric(label)] = count
    metrics["filtered"] = row_counts.filtered
    return metrics


def overflow_metrics(task: TaskPayload) -> dict[str, int]:
    """Return the metrics of results that their columns cannot hold, and count anew."""
    return {overflow_metric(column): count for column, count in task.overflows.report().items()}
