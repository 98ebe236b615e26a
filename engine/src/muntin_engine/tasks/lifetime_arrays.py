"""Lifetimes as arrays, and each change of lifetimes applied to them.

A change is a function of one event's start and end. A row of a stream names up to two ends of its event, the one so far
and the next, and the function is applied to both; deletions stay deletions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.windows.grid import Grid
from muntin_engine.tasks.batch_rows import INSERT, RETRACT
from muntin_engine.tasks.row_problems import CHANGED_TOO_FAR, NO_OLD_END, NO_PROBLEM
from muntin_engine.time.changes import LATEST
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LifetimeChange,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
    ToEdges,
)
from muntin_engine.wire.period_numbers import numbers_at, ticks_of


@dataclass(frozen=True)
class LifetimeArrays:
    """The lifetimes of events; an end is `INFINITY` if there is none.

    Attributes:
        row: The row of the batch that each lifetime is of; a row may have several, or none.
        kind: The kind of change of the row.
        start: The starts.
        end: The ends so far.
        is_end_known: True where the row says the end so far; an insertion does.
        new_end: The next ends, of all but insertions.
        problem: The first problem that a change met, by its number among `PROBLEMS`; `NO_PROBLEM` where there is none.
    """

    row: IntArray
    kind: IntArray
    start: IntArray
    end: IntArray
    is_end_known: BoolArray
    new_end: IntArray
    problem: IntArray

    @property
    def is_insertion(self) -> BoolArray:
        """True for insertions."""
        is_insertion: BoolArray = self.kind == INSERT
        return is_insertion

    def take(self, places: IntArray | BoolArray) -> LifetimeArrays:
        """Select lifetimes by their places, or by a mask."""
        return LifetimeArrays(*(getattr(self, part.name)[places] for part in fields(self)))

    def with_problem(self, code: int, is_wrong: BoolArray) -> LifetimeArrays:
        """Add a problem to lifetimes that have none yet.

        Args:
            code: The number of the problem among `PROBLEMS`.
            is_wrong: True for each lifetime that has the problem.
        """
        is_first = (self.problem == NO_PROBLEM) & is_wrong
        return replace(self, problem=np.where(is_first, code, self.problem))

    def followed_by(self, other: LifetimeArrays) -> LifetimeArrays:
        """Append other lifetimes."""
        columns = []
        for part in fields(self):
            columns.append(np.concatenate([getattr(self, part.name), getattr(other, part.name)]))
        return LifetimeArrays(*columns)


class ArrayChange(ABC):
    """A change of lifetimes, as arrays see it.

    Attributes:
        change: The change.
        length: The length by which it changes each lifetime, or all of them; 0 if it needs none.
    """

    def __init__(self, change: Any, length: int | IntArray) -> None:
        """Take the change, and the length by which it changes each lifetime or all."""
        self.change = change
        self.length = length

    def starts(self, start: IntArray) -> IntArray:
        """Return starts after the change; by default they stay."""
        return start

    @abstractmethod
    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return ends after the change. Only ends that lie after their start are read; `_moved_ends` treats the others.

        Args:
            start: The starts before the change.
            end: The ends before the change; `INFINITY` for an event without an end.
        """

    def apply(self, lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Return the lifetimes of rows after the change.

        If the change fixes ends, revisions that only move an end are left out, as they no longer say anything.
        """
        start = clipped(self.starts(lifetimes.start))
        new_lifetimes = replace(
            lifetimes,
            start=start,
            end=self._moved_ends(lifetimes, lifetimes.end, start),
            new_end=self._moved_ends(lifetimes, lifetimes.new_end, start),
        )
        is_far = _is_beyond_range(start)
        is_far |= lifetimes.is_end_known & _is_beyond_range(new_lifetimes.end)
        is_far |= ~lifetimes.is_insertion & _is_beyond_range(new_lifetimes.new_end)
        new_lifetimes = new_lifetimes.with_problem(CHANGED_TOO_FAR, is_far)
        if not self.change.fixes_ends:
            return new_lifetimes

        # No revision moves a fixed end. What still counts: insertions, deletions, and revisions of a deleted event that
        # revive it.
        is_deletion = lifetimes.new_end <= lifetimes.start
        revives = lifetimes.is_end_known & (lifetimes.end <= lifetimes.start)
        still_counts = lifetimes.is_insertion | is_deletion | revives
        return self._with_fixed_ends(lifetimes, new_lifetimes).take(still_counts)

    def _moved_ends(self, lifetimes: LifetimeArrays, end: IntArray, new_start: IntArray) -> IntArray:
        """Return ends after the change.

        Args:
            lifetimes: The lifetimes before the change.
            end: The ends to move: those of `lifetimes`, or their new ends.
            new_start: Their starts after the change.
        """
        moved_end = self.ends(lifetimes.start, end)
        moved_end = np.where(moved_end == INFINITY, INFINITY, clipped(moved_end))
        # An end that does not lie after the start keeps its distance from the start. An end at the start deletes the
        # event, and must still do so; an end before the start is a fault of the row, and must still be found.
        end_of_same_distance = new_start + (end - lifetimes.start)
        return np.where(end > lifetimes.start, moved_end, end_of_same_distance)

    def _with_fixed_ends(self, lifetimes: LifetimeArrays, new_lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Fill in the ends so far that rows do not say: a fixed end follows from the start."""
        fixed_end = clipped(self.ends(lifetimes.start, lifetimes.end))
        return replace(
            new_lifetimes,
            end=np.where(lifetimes.is_end_known, new_lifetimes.end, fixed_end),
            is_end_known=np.ones_like(lifetimes.is_end_known),
        )


class _ArrayShift(ArrayChange):
    """Moves events along the axis."""

    def starts(self, start: IntArray) -> IntArray:
        """Move the starts by the distance."""
        return start + self.length

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Move the ends by the distance, of events that have an end."""
        del start
        return np.where(end == INFINITY, INFINITY, end + self.length)


class _ArrayDuration(ArrayChange):
    """Lets events last for a time."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return ends that lie the duration after the starts; the ends before the change do not matter."""
        del end
        return start + self.length


class _ArrayExtension(ArrayChange):
    """Moves ends to the future."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Move the ends to the future, of events that have an end."""
        del start
        return np.where(end == INFINITY, INFINITY, end + self.length)


class _ArrayReduction(ArrayChange):
    """Moves ends to the past."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Move the ends to the past, of events that have an end, and leave each event its first tick."""
        return np.where(end == INFINITY, INFINITY, np.maximum(end - self.length, start + 1))


class _ArrayStartPoints(ArrayChange):
    """Turns events into points at their starts."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return ends one tick after the starts; the ends before the change do not matter."""
        del end
        return start + 1


class _ArrayEdges(ArrayChange):
    """Lets events last until the next one of their key starts; an event alone does not say when that is."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return open ends; the ends before the change do not matter."""
        del end
        return np.full(len(start), INFINITY, np.int64)

    def _with_fixed_ends(self, lifetimes: LifetimeArrays, new_lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Leave the ends so far as they are: they do not follow from the starts."""
        del lifetimes
        return new_lifetimes


class _ArrayAlignment(ArrayChange):
    """Lets events last as long as the windows that they are in."""

    def starts(self, start: IntArray) -> IntArray:
        """Return for each start that of the first window that ends after it."""
        periods = self.change.grid.periods  # calendar windows lie on a grid of numbers of periods such as months
        grid = self._unit_grid()
        windows = grid.first_ending_after(numbers_at(periods, start))
        return ticks_of(periods, grid.start(windows))

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return the ends of the last windows that start before each end."""
        # Open ends stay open. Their starts only stand in for a last tick here, so that all can be computed alike.
        is_open = end == INFINITY
        last_tick = np.where(is_open, start, end - 1)
        periods = self.change.grid.periods
        grid = self._unit_grid()
        # + 1: a window that starts at the last tick (or in its period) has the event too, and must count as before.
        windows = grid.last_starting_before(numbers_at(periods, last_tick) + 1)
        window_end = ticks_of(periods, grid.start(windows) + self._window_length(grid))
        return np.where(is_open, INFINITY, window_end)

    def _window_length(self, grid: Grid) -> int:
        """Return how far after its start a window ends."""
        return grid.size

    def _unit_grid(self) -> Grid:
        """Return the windows as a grid over what they count: ticks, or the numbers of periods such as months."""
        windows = self.change.grid
        return Grid(windows.size, windows.hop, windows.offset)


class _ArraySharing(_ArrayAlignment):
    """Lets events last to the start of the window after the last one that they are in."""

    def _window_length(self, grid: Grid) -> int:
        """Return how far after its start the next window starts."""
        return grid.hop


class _ArrayEndPoints(ArrayChange):
    """Turns events into points at their ends: each end is an event of its own, so a revision may become two rows."""

    def ends(self, start: IntArray, end: IntArray) -> IntArray:
        """Return the ends as they are; `apply` makes points of them."""
        del start
        return end

    def apply(self, lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Return retractions of the points at old ends, and then insertions of those at new ends."""
        old_end = lifetimes.end
        new_end = np.where(lifetimes.is_insertion, lifetimes.end, lifetimes.new_end)
        is_revision = ~lifetimes.is_insertion
        # An event has a point if it is not deleted (by an end at its start) and has an end.
        had_point = is_revision & lifetimes.is_end_known & (old_end > lifetimes.start) & (old_end != INFINITY)
        has_point = (new_end > lifetimes.start) & (new_end != INFINITY)
        is_same_point = had_point & has_point & (old_end == new_end)
        # The point at the old end has to be retracted: a revision that does not say its old end gets a problem. Where
        # revisions repeat the whole event, it gets none: it retracts nothing, and only inserts its new point.
        is_unknown = is_revision & ~lifetimes.is_end_known & (not self.change.is_repeated)

        losing_point = lifetimes.take(np.flatnonzero((had_point & ~is_same_point) | is_unknown))
        gaining_point = lifetimes.take(np.flatnonzero(has_point & ~is_same_point & ~is_unknown))
        return self._retractions(losing_point).followed_by(self._insertions(gaining_point))

    def _retractions(self, lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Return retractions of the points at the old ends; a row gets a problem if its old end is not known."""
        retractions = replace(
            lifetimes,
            kind=np.full(len(lifetimes.kind), RETRACT, lifetimes.kind.dtype),
            start=lifetimes.end,
            end=lifetimes.end + 1,
            new_end=lifetimes.end,  # a new end at the start deletes the point
        )
        retractions = retractions.with_problem(NO_OLD_END, ~lifetimes.is_end_known)
        return retractions.with_problem(CHANGED_TOO_FAR, lifetimes.is_end_known & _is_beyond_range(lifetimes.end + 1))

    def _insertions(self, lifetimes: LifetimeArrays) -> LifetimeArrays:
        """Return insertions of points at the new ends: the end of an insertion, the new end of a revision."""
        point = np.where(lifetimes.is_insertion, lifetimes.end, lifetimes.new_end)
        insertions = replace(
            lifetimes,
            kind=np.full(len(lifetimes.kind), INSERT, lifetimes.kind.dtype),
            start=point,
            end=point + 1,
            is_end_known=np.ones(len(point), np.bool_),
        )
        return insertions.with_problem(CHANGED_TOO_FAR, _is_beyond_range(point + 1))


_ON_ARRAYS: Final[Mapping[type[LifetimeChange], type[ArrayChange]]] = {
    Shift: _ArrayShift,
    SetDuration: _ArrayDuration,
    Extend: _ArrayExtension,
    Shorten: _ArrayReduction,
    PointsAtStart: _ArrayStartPoints,
    PointsAtEnd: _ArrayEndPoints,
    ToEdges: _ArrayEdges,
    Align: _ArrayAlignment,
    ShareWindows: _ArraySharing,
}


def on_arrays(change: LifetimeChange, length: int | IntArray) -> ArrayChange:
    """Return a change as arrays see it, with its length for each lifetime or for all."""
    return _ON_ARRAYS[type(change)](change, length)


def clipped(ticks: IntArray) -> IntArray:
    """Clip ticks to the range of times and one tick more on each side, so that sums do not overflow."""
    return np.clip(ticks, -LATEST, LATEST)


def _is_beyond_range(ticks: IntArray) -> BoolArray:
    """Flag ticks that lie out of the range of times."""
    is_far: BoolArray = (np.abs(ticks) >= LATEST) & (ticks != INFINITY)
    return is_far
