"""Allowed lateness: windows are emitted by the watermark and close some time behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.window_grid import settled


def effective(query: EvaluatorQuery, progress: Progress) -> Progress:
    """Return the progress by which a query closes windows and takes rows for late.

    Where late rows correct results, windows close the allowed lateness behind the input's watermark, and come into
    sight as if they did not: by the max event time, or by the watermark alone if results wait for it. Windows on a grid
    close at their ends and nowhere else, so a row is late if a window that it belongs to, or one before it, has closed.
    """
    if not query.late.corrects:
        return progress
    watermark = progress.watermark
    newest = watermark if query.waits_for_watermark else progress.max_event_time
    is_finite = EARLIEST < watermark < INFINITY
    closed = max(EARLIEST, watermark - query.late.allowed) if is_finite else watermark
    grid = query.window.grid()
    if grid is not None and not query.ends_move:
        closed = settled([grid], closed)
    return replace(progress, watermark=closed, newest=newest)


def for_key(progress: Progress, key_watermark: int) -> Progress:
    """Return the progress of a key that punctuated itself.

    Args:
        progress: The progress of the whole input; its horizon is past the watermark of every key.
        key_watermark: The key's own watermark; `EARLIEST` if it has none.
    """
    return replace(progress, watermark=key_watermark) if key_watermark > progress.watermark else progress


def seen_to(progress: Progress, key_watermarks: Iterable[int]) -> Progress:
    """Return progress whose horizon is past the watermark of keys: that too says of a tick that it was seen."""
    finite = (key_watermark for key_watermark in key_watermarks if key_watermark != INFINITY)
    return replace(progress, horizon=max([progress.horizon, *finite]))
