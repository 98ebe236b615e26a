"""Allowed lateness: windows are put out by the punctuation and close some time behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.window_grid import settled


def effective(query: WindowedQuery, progress: Progress) -> Progress:
    """Return the progress by which a query closes windows and takes rows for late.

    Where late rows correct results, windows close the allowed lateness behind the input's punctuation, and come into
    sight as if they did not: by the watermark, or by the punctuation alone if results wait for it. Windows on a grid
    close at their ends and nowhere else, so a row is late if a window that it belongs to, or one before it, has closed.
    """
    if not query.late.corrects:
        return progress
    punctuation = progress.punctuation
    newest = punctuation if query.waits_for_punctuation else progress.watermark
    is_finite = EARLIEST < punctuation < INFINITY
    closed = max(EARLIEST, punctuation - query.late.allowed) if is_finite else punctuation
    grid = query.window.grid()
    if grid is not None and not query.ends_move:
        closed = settled([grid], closed)
    return replace(progress, punctuation=closed, newest=newest)


def for_key(progress: Progress, promise: int) -> Progress:
    """Return the progress of a key that punctuated itself.

    Args:
        progress: The progress of the whole input; its horizon is past the punctuation of every key.
        promise: The key's own punctuation; `EARLIEST` if it has none.
    """
    return replace(progress, punctuation=promise) if promise > progress.punctuation else progress


def seen_to(progress: Progress, promises: Iterable[int]) -> Progress:
    """Return progress whose horizon is past the punctuation of keys: that too says of a tick that it was seen."""
    finite = (promise for promise in promises if promise != INFINITY)
    return replace(progress, horizon=max([progress.horizon, *finite]))
