"""The watermark after allowed lateness, by which windows close and rows are late."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import Progress
from muntin_engine.time.window_grid import grid_of, settled


def effective(query: EvaluatorQuery, progress: Progress) -> Progress:
    """Return the progress with the watermark after allowed lateness, by which windows close and rows are late.

    It differs from the input's progress only where late rows correct results. Windows are then emitted on time: by the
    max event time, or by the input's watermark if results wait for it. Windows on a grid close at their ends alone, so
    a row is late if a window that it belongs to, or one before it, has closed.
    """
    if not query.late.corrects:
        return progress
    newest = progress.watermark if query.waits_for_watermark else progress.max_event_time
    closed = progress.watermark
    if EARLIEST < closed < INFINITY:
        closed = max(EARLIEST, closed - query.late.allowed)
    grid = query.window.grid()
    if grid is not None and not query.event_ends_move:
        closed = settled([grid_of(grid)], closed)
    return progress._replace(watermark=closed, newest=newest)
