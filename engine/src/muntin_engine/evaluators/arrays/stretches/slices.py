"""Ticks, slices and windows of a grid: from one to the other, for arrays of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.time.window_grid import NEVER, TickGrid
from muntin_engine.wire.period_numbers import numbers_at, ticks_of


def slices_of(grid: SliceGrid, starts: IntArray, ends: IntArray | None) -> tuple[IntArray, IntArray]:
    """Return the first and the last slice of each event.

    Args:
        grid: The slices.
        starts: The starts of the events.
        ends: The ends of the events; None if all events are points.

    Returns:
        The first slices, and the last ones: of points, which have one slice each, the very same array. The last slice
        of an event that never ends is after those of all other events.
    """
    first_slices = grid.slices_at(numbers_at(grid.periods, starts))
    if ends is None:
        return first_slices, first_slices
    last_ticks = np.minimum(ends, NEVER) - 1
    return first_slices, grid.slices_at(numbers_at(grid.periods, last_ticks))


def in_windows(grids: Sequence[SliceGrid], firsts: IntArray, lasts: IntArray) -> BoolArray:
    """Return for each run of slices whether a window of any specification overlaps it.

    Args:
        grids: The windows of each specification, over slices that all of them share.
        firsts: The first slice of each run.
        lasts: The last slice of each run.
    """
    if not all(grid.has_gaps for grid in grids):
        return np.ones(len(firsts), np.bool_)  # the windows of one specification cover the axis
    is_in_window = np.zeros(len(firsts), np.bool_)
    for grid in grids:
        # For a run in a gap, the first window is that after the gap, and the last window that before it.
        overlaps_window = grid.first_window(firsts) <= grid.last_window(lasts)
        is_before_all = lasts < grid.first  # before the landmark at which growing windows start
        is_in_window |= overlaps_window & ~is_before_all
    return is_in_window


def in_ticks(windows: TickGrid, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of windows in ticks.

    Args:
        windows: The grid of the windows, which may count periods of a calendar in place of ticks.
        numbers: The numbers of the windows.
    """
    # First in units, which are ticks or periods. The start of a window that grows is that of the first window with its
    # start: `extent_start` finds it.
    unit_starts = windows.unit_grid.start(numbers)
    unit_ends = unit_starts + windows.unit_grid.size
    starts = ticks_of(windows.periods, windows.unit_grid.extent_start(unit_starts))
    return starts, ticks_of(windows.periods, unit_ends)
