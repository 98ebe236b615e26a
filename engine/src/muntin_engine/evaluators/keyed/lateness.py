"""The watermark after allowed lateness, and the rows of a key that are late by it."""

from __future__ import annotations

from typing import NamedTuple

from muntin import EARLIEST, INFINITY, Axis
from muntin.axis import AnyAxis
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Progress, Rejection
from muntin_engine.time.window_grid import grid_of, settled


def with_allowed_lateness(query: EvaluatorQuery, progress: Progress) -> Progress:
    """Return a progress whose watermark is the one after allowed lateness, by which windows close and rows are late.

    It differs from the input's progress only if late rows correct results. Then windows are emitted before they close:
    by the max event time, or by the input's watermark if results wait for it. Windows on a grid close at their ends
    alone, so a row is late if a window that it belongs to, or a window before that, has closed.
    """
    if not query.late.corrects:
        return progress
    newest = progress.watermark if query.waits_for_watermark else progress.max_event_time
    watermark = progress.watermark
    if EARLIEST < watermark < INFINITY:
        watermark = max(EARLIEST, watermark - query.late.allowed)
    grid = query.window.grid()
    if grid is not None and not query.event_ends_move:
        watermark = settled([grid_of(grid)], watermark)  # the last end of a window up to the watermark
    return progress._replace(watermark=watermark, newest=newest)


class LateRule(NamedTuple):
    """The watermark of the batches before this one, and the treatment of rows before it.

    A row is late if its sync time, the earliest tick that it changes, lies before the watermark.

    Attributes:
        watermark: The watermark after allowed lateness; with windows on a grid, it moves from one end of a window to
            the next end.
        watermark_to_the_tick: The watermark of the input, for the message that says how late a row is.
        axis: The axis, for the messages of rejections.
        adjusts: True to let a late insertion that ends after the watermark start there.

    Example:
        >>> strict = LateRule(watermark=10, watermark_to_the_tick=12)
        >>> strict.is_late(9), strict.is_late(10), strict.is_late_insertion(4, 20)
        (True, False, True)
        >>> adjusting = strict._replace(adjusts=True)
        >>> adjusting.is_late_insertion(4, 20), adjusting.legal_start(4, 20), adjusting.is_late_insertion(4, 10)
        (False, 10, True)
    """

    watermark: int
    watermark_to_the_tick: int
    axis: AnyAxis = Axis.TICKS
    adjusts: bool = False

    def is_late(self, sync_time: int) -> bool:
        """Return True if a row that changes ticks from `sync_time` on is late."""
        return sync_time < self.watermark

    def is_late_insertion(self, start: int, end: int) -> bool:
        """Return True if an insertion is late, and is not adjusted."""
        return self.is_late(self.legal_start(start, end))

    def legal_start(self, start: int, end: int) -> int:
        """Return the start of an inserted event: the watermark for a late insertion that is adjusted."""
        return self.watermark if self.adjusts and start < self.watermark < end else start

    def rejection(self, change: InputChange, sync_time: int) -> Rejection:
        """Return the rejection of a late row."""
        return Rejection.late(change, sync_time, self.watermark_to_the_tick, self.axis)
