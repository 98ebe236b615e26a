"""The metrics of progress, which all evaluators report."""

from __future__ import annotations

from muntin_engine.core.changes import Progress
from muntin_engine.core.window_grid import open_windows
from muntin_engine.exchange.job import Job


def progress_metrics(job: Job, now: Progress) -> dict[str, int]:
    """Return how far the input is; what is not known yet is left out."""
    grids = job.steps or [grid for grid in [job.query.window.grid()] if grid is not None]
    metrics = {"punctuation": now.punctuation, "newest": now.newest, "clock": now.clock}
    count = open_windows(grids, now.punctuation, now.horizon)
    return metrics if count is None else {**metrics, "windows_open": count}
