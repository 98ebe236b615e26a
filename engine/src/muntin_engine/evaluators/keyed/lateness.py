"""Decide which rows of a key are late."""

from __future__ import annotations

from typing import NamedTuple

from muntin import Axis
from muntin.axis import AnyAxis
from muntin_engine.time.changes import InputChange, Rejection


class LateRule(NamedTuple):
    """The watermark of the batches before this one, and what becomes of rows before it.

    A row is late if its sync time, the earliest tick that it changes, lies before the watermark.

    Attributes:
        watermark: The watermark, after allowed lateness and in steps.
        watermark_to_the_tick: The watermark as it is, of which a late row says how far it is behind.
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
