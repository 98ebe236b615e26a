"""The metrics of progress, which all evaluators report."""

from __future__ import annotations

from muntin_engine.core.changes import Progress
from muntin_engine.core.window_grid import open_windows
from muntin_engine.exchange.task_payload import TaskPayload


def progress_metrics(task: TaskPayload, now: Progress) -> dict[str, int]:
    """Return the metrics of progress; unknown ones are left out."""
    grids = task.plan.steps or [grid for grid in [task.plan.window.grid()] if grid is not None]
    metrics = {"watermark": now.watermark, "newest": now.newest, "clock": now.clock}
    count = open_windows(grids, now.watermark, now.horizon)
    return metrics if count is None else {**metrics, "windows_open": count}
