"""Ticks, slices and windows of a grid: from one to the other, for arrays of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.time.window_grid import NEVER, TickGrid
from muntin_engine.wire.period_numbers import numbers_at, ticks_of


def slices_of(grid: SliceGrid, starts: IntArray, ends: IntArray | None) -> tuple[IntArray, IntArray]:
    """Return the first and the last slices of events, the very same array where all are points.

    Of events that never end the last one lies after all others.
    """
    first = grid.slices_at(numbers_at(grid.periods, starts))
    if ends is None:
        return first, first
    return first, grid.slices_at(numbers_at(grid.periods, np.minimum(ends, NEVER) - 1))


def in_windows(grids: Sequence[SliceGrid], firsts: IntArray, lasts: IntArray) -> BoolArray:
    """Return for each run of slices whether it is in a window."""
    if not all(grid.has_gaps for grid in grids):
        return np.ones(len(firsts), np.bool_)  # the windows of one of them cover the axis
    is_in = np.zeros(len(firsts), np.bool_)
    for grid in grids:
        is_in |= (grid.first_window(firsts) <= grid.last_window(lasts)) & (lasts >= grid.first)
    return is_in


def in_ticks(windows: TickGrid, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of windows by their numbers."""
    starts = windows.unit_grid.start(numbers)
    ends = starts + windows.unit_grid.size
    return ticks_of(windows.periods, windows.unit_grid.extent_start(starts)), ticks_of(windows.periods, ends)
