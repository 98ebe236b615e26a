"""The windows of events with ids: snapshots, or windows on a grid, and what these keep of events that have ended.

An event is live until the watermark passes its end: until then a legal row may be about it. Live events are kept by the
caller, and handed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.edges import snapshots_of
from muntin_engine.evaluators.arrays.held import HeldPartials, are_past, opened_since
from muntin_engine.evaluators.arrays.lifting import slices_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, ends_before, merge_alike
from muntin_engine.evaluators.revised.events import LiveEvents
from muntin_engine.time.changes import Progress
from muntin_engine.time.slice_grid import SliceGrid


class RevisedWindows(ABC):
    """The windows of one bucket.

    Attributes:
        ended: The events that have ended, and are members of open windows.
    """

    def __init__(self, grids: Sequence[SliceGrid], *, at_end: bool) -> None:
        """Make windows on grids, or none; `at_end` says that results are points at the ends of windows."""
        self._at_end = at_end
        self.ended = HeldPartials(grids)

    @abstractmethod
    def windows(
        self, live: LiveEvents, before: Progress, now: Progress, are_touched: BoolArray | None
    ) -> Iterator[StretchTable]:
        """Yield the windows with members whose results are to be emitted, from start to end in ticks, before `forget`.

        Args:
            live: The events that were live before, with the rows of the batch.
            before: The progress before the batch.
            now: The progress after it.
            are_touched: None to emit windows when they are complete. Otherwise, for the code of each key whether rows
                of the batch are about it: windows are emitted as soon as an event starts where they end, or later, or
                eagerly when they begin, and again if they may have changed.
        """

    @abstractmethod
    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Drop the events that end before a watermark from the live ones; keep what open windows need of them."""

    @abstractmethod
    def are_over(self, events: StretchTable, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each of some events whether nothing needs it any more, after `forget`."""

    def first_start(self, live: LiveEvents) -> int:
        """Return the least start of an open window that events have cut; `INFINITY` if there is none."""
        del live
        return INFINITY


class RevisedGrid(RevisedWindows):
    """Windows on a grid, of ticks or of a calendar: each event is merged into the run of slices that it overlaps.

    What a legal row may still change is kept event by event; once an event has ended for good, it is merged with the
    others of its key and run, as events are that are never revised.

    Cost: a live event costs a few steps for each batch that completes windows, and so does a run of a key of which
    all events have ended; never one for each window that it overlaps.
    """

    def __init__(self, grid: SliceGrid, *, at_end: bool, is_eager: bool = False) -> None:
        """Make them; `is_eager` says that a window is emitted as soon as it has begun."""
        super().__init__([grid], at_end=at_end)
        self._grid, self._is_eager = grid, is_eager

    def windows(
        self, live: LiveEvents, before: Progress, now: Progress, are_touched: BoolArray | None
    ) -> Iterator[StretchTable]:
        """Yield windows.

        Once the stream is closed, windows that begin at the horizon or later have no end to wait for, and no result.
        """
        windows = self._grid.windows
        first = windows.first_open(before.watermark)
        if are_touched is None:
            yield from self._between(
                live, first, min(windows.first_open(now.watermark), windows.first_unbegun(now.horizon))
            )
            return
        known, last = map(self._unshown, (before, now))
        yield from self._between(live, max(first, known), last)
        if are_touched.any():
            yield from self._between(live, first, min(known, last), are_touched)

    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Merge the events that end before a watermark, and drop what is a member of no open window."""
        first, is_over = self._grid.windows.first_open(watermark), ends_before(live.held.high, watermark)
        if is_over.any():
            ended = self._ranged(live.members(is_over), first, INFINITY)
            if len(ended):
                self.ended.add(merge_alike(replace(ended, low=np.maximum(ended.low, self._grid.first_live(first)))))
            live.keep(~is_over)
        self.ended.forget(self._grid.first_live(first))

    def are_over(self, events: StretchTable, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, and is a member of no open window."""
        del live
        first_open = self._grid.windows.first_open(watermark)
        is_in_open = self._are_in(*slices_of(self._grid, events.low, events.high), first_open, INFINITY)
        found: BoolArray = ends_before(events.high, watermark) & ~(is_in_open & (events.weight > 0))
        return found

    def _unshown(self, at: Progress) -> int:
        """Return the first window that is not emitted yet."""
        unbegun = self._grid.windows.first_unbegun(at.horizon)
        return unbegun if self._is_eager else min(self._grid.windows.first_open(at.max_event_time), unbegun)

    def _between(
        self, live: LiveEvents, first: int, last: int, of_keys: BoolArray | None = None
    ) -> Iterator[StretchTable]:
        """Yield the windows with members from `first` up to but not including `last`."""
        if last > first:
            yield from self.ended.close(0, first, last, [self._ranged(live.members(), first, last)], of_keys)

    def _ranged(self, events: StretchTable, first: int, last: int) -> StretchTable:
        """Return events as runs of slices, without those that are in no window from `first` up to but not `last`."""
        ranged = events.moved(*slices_of(self._grid, events.low, events.high))
        return ranged.where(self._are_in(ranged.low, ranged.high, first, last))

    def _are_in(self, low: IntArray, high: IntArray, first: int, last: int) -> BoolArray:
        """Return for each run of slices whether it is in a window from `first` up to but not including `last`."""
        firsts, lasts = self._grid.first_window(low), self._grid.last_window(high)
        found: BoolArray = (lasts >= np.maximum(firsts, first)) & (firsts < last)
        return found


class RevisedSnapshots(RevisedWindows):
    """Snapshots, for modules all of whose components can be subtracted: running sums from edge to edge.

    A live event that began before the watermark is cut: its partial state begins where the first open snapshot of its
    key starts. So nothing is kept of events that have ended. Where results are points at the ends of snapshots, one
    without an end has none.
    """

    def windows(
        self, live: LiveEvents, before: Progress, now: Progress, are_touched: BoolArray | None
    ) -> Iterator[StretchTable]:
        """Yield the snapshots that end at the watermark before the batch or later, and before the one after it."""
        assert are_touched is None, "results of snapshots are final"
        members = live.members()
        if len(members) and before.watermark < now.watermark:
            ended = snapshots_of(members, before.watermark, now.watermark)
            yield ended.where(ended.high < INFINITY) if self._at_end else ended

    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Drop the events that end before a watermark, and cut those that begin before it."""
        since, is_member = live.held.low.copy(), live.held.weight > 0
        since[is_member] = opened_since(live.members(), watermark)
        live.held = replace(live.held, low=since)
        live.keep(~ends_before(live.held.high, watermark))

    def are_over(self, events: StretchTable, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, unless an open snapshot starts where it ended."""
        return are_past(events, live.members(), watermark)

    def first_start(self, live: LiveEvents) -> int:
        """Return the least start of an open snapshot with an event."""
        members: IntArray = live.members().low
        return int(members.min(initial=INFINITY))
