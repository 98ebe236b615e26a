"""Windows of a grid from the stretches that they overlap, for all keys at once.

A stretch is a run of neighbouring windows: those that overlap its event, or the slice of a point (the range tags of
Li's thesis, section 6.1). The values of windows are merged in one of three ways:

- *Sums*: a value that can be subtracted is added at the first window of its run and subtracted after the last one, and
  summed along the axis: a step for each stretch and one for each cell of a table of windows by keys.
- *Scans and trees*, see below, for minimum, maximum and merges of a module's own.
- *Expansion*: a stretch is merged into each of its windows, where the table would be mostly empty, and where each
  stretch has one window.

*Scanning* a table of slices by keys costs a cell of the table three operations at the most, whatever size/hop, by
running merges within blocks as long as a window, forwards and backwards, of which each window takes one of each (M. van
Herk, A fast algorithm for local minimum and maximum filters, Pattern Recognition Letters 13, 1992).

*A tree*: a range of windows is cut into the blocks of a binary tree over the windows, two per level at the most; the
tree is then read from its root down, each block giving what it has to its halves (J. L. Bentley's segment tree).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from muntin import Component, Merge
from muntin.columnar import identities, merge, merger
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.arrays.stretches.coding import (
    compress,
    distinct,
    expanded,
    first_places,
    number,
    product,
    reduce_codes,
    stable_order,
)
from muntin_engine.evaluators.arrays.stretches.stretch_table import Groups, Part, StretchTable
from muntin_engine.time.slice_grid import SliceGrid

MOST_CELLS: Final = 1 << 21
"""A table of windows, or slices, by keys has at most so many cells; more keys make more tables."""

MOST_WINDOWS: Final = 1 << 16
"""So many windows are made at a time."""

_NARROW: Final = 600
"""Tables with fewer cells per slice are scanned cell by cell in one call; wider ones slice by slice, in a call each."""

_EXPANDING: Final = 6
"""The cost of merging a stretch into a window, in cells of a table."""


class _Runs(NamedTuple):
    """Stretches as runs of windows.

    Attributes:
        stretches: The stretches, each from the first to the last window that it is part of.
        slices: The slice of each stretch; None where stretches are more than a slice each, or windows grow.
        grid: The slices and the windows.
    """

    stretches: StretchTable
    slices: IntArray | None
    grid: SliceGrid

    def take(self, places: IntArray) -> _Runs:
        """Select stretches by their places."""
        slices = None if self.slices is None else self.slices[places]
        return _Runs(self.stretches.take(places), slices, self.grid)

    @property
    def window_count(self) -> int:
        """The sum of the numbers of windows of each stretch: a window of two stretches counts twice."""
        return int((self.stretches.high - self.stretches.low + 1).sum())


def close_windows(grid: SliceGrid, slices: StretchTable, first: int, stop: int) -> Iterator[StretchTable]:
    """Yield the windows from `first` up to but not including `stop` that have rows.

    Each window is a stretch from its number to its number. Gaps on the axis, where no rows are, cost nothing.

    Args:
        grid: The slices.
        slices: Stretches of slices, in any order. A stretch without an end is allowed only if `stop` is finite: it
            would be part of infinitely many windows.
        first: The number of a window, or `-NEVER`, which is before all others.
        stop: The number of a window, or `NEVER`, which is after all others.
    """
    # Each stretch of slices becomes the run of windows that it is part of, clipped to the windows asked for.
    low = np.maximum(grid.first_window(slices.low), first)
    high = np.minimum(grid.last_window(slices.high), stop - 1)
    can_be_scanned = slices.are_points and not grid.grows  # each stretch is one slice, and windows have one size
    slice_numbers = slices.low if can_be_scanned else None
    runs = _Runs(stretches=slices.moved(low, high), slices=slice_numbers, grid=grid)
    has_windows = low <= high
    if not has_windows.all():
        runs = runs.take(np.flatnonzero(has_windows))

    if _are_windows(runs.stretches):  # each stretch is a window as it is
        yield runs.stretches.moved(low=runs.stretches.low, high=runs.stretches.low)
    elif len(runs.stretches):
        yield from _close_without_gaps(runs)


def _are_windows(stretches: StretchTable) -> bool:
    """True if nothing has to be merged: each stretch has one window, and no two have the same window and key.

    That is so of most tumbling windows. The stretches must be in the order of their windows and then of their keys.
    """
    low = stretches.low
    keys = stretches.keys
    if not len(low) or not np.array_equal(low, stretches.high):
        return False
    is_later = low[1:] > low[:-1]
    is_of_later_key = (low[1:] == low[:-1]) & (keys[1:] > keys[:-1])
    return bool((is_later | is_of_later_key).all())


def _close_without_gaps(runs: _Runs) -> Iterator[StretchTable]:
    """Yield windows; gaps without data are removed from the axis first."""
    # Windows are numbered anew, from 0 and without the gaps; slices are shifted with them.
    occupied = _OccupiedParts.of(runs.stretches)
    shift = occupied.shift_of(runs.stretches.low)
    low = runs.stretches.low - shift
    high = runs.stretches.high - shift
    if runs.slices is not None:
        # Slices are numbered anew with the windows, so that window 0 begins with slice 0.
        runs = runs._replace(slices=runs.slices - runs.grid.runs.start(shift))

    # Tables stay small by taking a limited number of windows at a time, which again are numbered from 0.
    for begin in range(0, occupied.window_count, MOST_WINDOWS):
        end = min(occupied.window_count, begin + MOST_WINDOWS)
        overlapping = np.flatnonzero((low < end) & (high >= begin))
        part = runs if len(overlapping) == len(low) else runs.take(overlapping)
        part_low = np.maximum(low[overlapping], begin) - begin
        part_high = np.minimum(high[overlapping], end - 1) - begin
        part = part._replace(stretches=part.stretches.moved(part_low, part_high))
        if begin and part.slices is not None:
            part = part._replace(slices=part.slices - begin * runs.grid.stride)
        for windows in _close_by_keys(part, end - begin):
            numbers = occupied.numbers_of(windows.low + begin)
            yield windows.moved(low=numbers, high=numbers)


class _OccupiedParts(NamedTuple):
    """The parts of the axis of windows that stretches cover. Put side by side they are an axis without gaps.

    Attributes:
        starts: The first window of each part.
        places: The place of that window on the axis without gaps.
        window_count: The number of windows of all parts.
    """

    starts: IntArray
    places: IntArray
    window_count: int

    @classmethod
    def of(cls, stretches: StretchTable) -> _OccupiedParts:
        """Find the parts: a gap lies where a stretch begins after all stretches before it have ended."""
        low = stretches.low
        is_ordered = (low[1:] >= low[:-1]).all()
        order: IntArray | slice = slice(None)
        if not is_ordered:
            codes, code_limit = number(low)
            order = stable_order(codes, code_limit)
        ascending = low[order]
        latest_ends = np.maximum.accumulate(stretches.high[order])

        # A part begins at the first stretch and after each gap; it ends before the next gap and at the last stretch.
        gap_places = np.flatnonzero(ascending[1:] > latest_ends[:-1] + 1) + 1
        starts = ascending[[0, *gap_places]]
        ends = latest_ends[[*(gap_places - 1), len(low) - 1]]
        lengths = ends + 1 - starts
        places = np.cumsum(lengths) - lengths
        return cls(starts, places, window_count=int(lengths.sum()))

    def shift_of(self, windows: IntArray) -> IntArray:
        """Return what has to be subtracted from each window to get its place on the axis without gaps.

        If there is no gap, it is one number for all.
        """
        shifts = self.starts - self.places
        shift: IntArray = shifts[0]
        if len(shifts) == 1:
            return shift
        parts = np.searchsorted(self.starts, windows, "right") - 1
        return shifts[parts]

    def numbers_of(self, places: IntArray) -> IntArray:
        """Return the windows at places of the axis without gaps."""
        shifts = self.starts - self.places
        parts = np.searchsorted(self.places, places, "right") - 1
        numbers: IntArray = places + shifts[parts]
        return numbers


def _close_by_keys(runs: _Runs, count: int) -> Iterator[StretchTable]:
    """Yield the windows from 0 up to but not including `count`, a limited number of keys at a time.

    Limiting the keys keeps each table small.

    Args:
        runs: The stretches, which lie between these windows.
        count: The number of windows.
    """
    stretches = runs.stretches
    keys, key_places = distinct(stretches.keys)
    values = stretches.parts.values()

    # There are two ways: a table, and expansion. A table has a row for each window; or, if values are scanned, for each
    # slice of all windows. Values are scanned if each stretch is one slice, and they cannot be subtracted.
    table_rows = count
    if runs.slices is not None and not all(part.is_summed for part in values):
        table_rows = (count - 1) * runs.grid.stride + runs.grid.slices
    cells = table_rows * len(keys)

    # Expansion merges each stretch into each of its windows. It is taken if each stretch has one window, if it is the
    # cheaper way, or if values are lists of rows, which have no cell of a fixed size.
    window_count = runs.window_count
    expands = window_count == len(stretches) or cells > _EXPANDING * window_count
    expands = expands or any(part.is_collected for part in values)

    # So many keys are taken at a time that a table has about `MOST_CELLS` cells, or an expansion so many stretches.
    cost = window_count if expands else cells
    keys_at_a_time = max(1, MOST_CELLS * len(keys) // max(cost, 1))
    for start in range(0, len(keys), keys_at_a_time):
        stop = start + keys_at_a_time
        table_keys = keys[start:stop]
        # In a table, keys are numbered from 0.
        if len(table_keys) == len(keys):
            table_runs = runs._replace(stretches=stretches.with_keys(key_places))
        else:
            is_of_table = (key_places >= start) & (key_places < stop)
            table_runs = runs.take(np.flatnonzero(is_of_table))
            numbered = table_runs.stretches.with_keys(key_places[is_of_table] - start)
            table_runs = table_runs._replace(stretches=numbered)
        if expands:
            yield _expanded(table_runs, table_keys, count)
        else:
            yield _windows_of_table(table_runs, table_keys, count)


def _expanded(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows by merging each stretch into each of its windows.

    Args:
        runs: The stretches, whose keys are numbered from 0.
        keys: The code of each key by that number.
        count: The number of windows, which are numbered from 0.
    """
    # First each stretch is repeated, once for each of its windows.
    stretches = runs.stretches
    windows = stretches.low
    if not np.array_equal(stretches.low, stretches.high):
        owners, within = expanded(stretches.high - stretches.low + 1)
        windows = stretches.low[owners] + within
        stretches = stretches.take(owners)

    # Then the repeated stretches of one window and key, which have one code, are merged.
    codes, size = compress(windows * len(keys) + stretches.keys, product(count, len(keys)))
    # If all codes differ, and are in their order already, nothing is merged or sorted.
    if size == len(codes) and (codes[1:] > codes[:-1]).all():
        return stretches.moved(low=windows, high=windows).with_keys(keys[stretches.keys])
    first = first_places(codes, size)
    numbers = windows[first]
    return stretches.reduce(Groups(codes, keys=keys[stretches.keys[first]], low=numbers, high=numbers))


def _windows_of_table(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows by way of a table that has a cell for each window and key.

    Args:
        runs: The stretches, whose keys are numbered from 0.
        keys: The code of each key by that number.
        count: The number of windows, which are numbered from 0.
    """
    table = _Table(runs, len(keys), count)
    parts: dict[Part, Any] = {}
    for part, values in runs.stretches.parts.items():
        if values.is_summed:  # added where a stretch begins, and subtracted where it has ended
            parts[part] = values.running(table)
        else:
            parts[part] = values.through(table.merged, table.most_values)

    # The table lies row by row: the place of a cell is that of its window, times the number of keys, plus its key.
    numbers = table.places // len(keys)
    window_keys = keys[table.places % len(keys)]
    return StretchTable(window_keys, low=numbers, high=numbers, weight=table.weight, parts=parts)


class _Table:
    """A table of windows by keys. What it computes, it returns for the cells that have rows, and for no others.

    Attributes:
        most_values: The greatest number of values in a sum.
        places: The places of the cells with rows.
        weight: The number of rows of each of these cells.
    """

    def __init__(self, runs: _Runs, keys: int, count: int) -> None:
        """Prepare a table: find the cells that have rows, and count these.

        Args:
            runs: The stretches, whose keys are numbered from 0.
            keys: The number of keys.
            count: The number of windows.
        """
        stretches = runs.stretches
        self._runs = runs
        self._keys = keys
        self._count = count
        self._first_cells = stretches.low * keys + stretches.keys
        """The cell of the first window of each stretch."""
        self._ended = np.flatnonzero(stretches.high < count - 1)
        """The places of the stretches that end before the last window of the table."""
        self._cells_after = (stretches.high[self._ended] + 1) * keys + stretches.keys[self._ended]
        """The cell after the last window of each of these."""
        self.most_values = int(np.bincount(stretches.keys).max())  # a sum has at most all values of one key
        weight = self._running(stretches.weight.astype(np.int64))
        self.places: IntArray = np.flatnonzero(weight)
        self.weight: IntArray = weight[self.places]

    def sums(self, values: Array) -> Array:
        """Return for each cell with rows the sum of the values of the stretches that include its window.

        Args:
            values: The value of each stretch, a number or an array of numbers.
        """
        return self._running(values)[self.places]

    def merged(self, component: Component, values: Array) -> Array:
        """Return for each cell with rows the merge of the values of the stretches that include its window.

        Nothing is subtracted.

        Args:
            component: The component that the values are of; not `COLLECT`.
            values: The value of each stretch.
        """
        stretches, slices, grid = self._runs
        keys = self._keys
        count = self._count
        if slices is None:  # stretches are runs of windows
            table = cover(
                component,
                lows=stretches.low,
                highs=stretches.high,
                keys=stretches.keys,
                values=values,
                shape=(count, keys),
            )
        else:
            # Stretches are slices. The first window begins with slice 0; each further one begins `stride` slices later.
            slice_count = (count - 1) * grid.stride + grid.slices
            cells = reduce_codes(component, slices * keys + stretches.keys, slice_count * keys, values)
            by_slice = cells.reshape(slice_count, keys, *component.shape)
            table = scan_windows(component, by_slice, slices=grid.slices, stride=grid.stride, count=count)
        return table.reshape(-1, *component.shape)[self.places]

    def _running(self, values: Array) -> Array:
        """Return for each cell of the table the sum of the values of the stretches that include its window.

        A value is added at the first window of its stretch. At the window after the last one of its stretch, if the
        table has one, it is subtracted. Then each window gets the sum of all that was added and subtracted up to it.
        """
        cells = np.zeros((self._count * self._keys, *values.shape[1:]), values.dtype)
        np.add.at(cells, self._first_cells, values)
        np.subtract.at(cells, self._cells_after, values[self._ended])
        table = cells.reshape(self._count, self._keys, *values.shape[1:])
        np.cumsum(table, axis=0, dtype=values.dtype, out=table)
        return cells


def scan_windows(component: Component, table: Array, slices: int, stride: int, count: int) -> Array:
    """Merge the slices of each window, by van Herk's algorithm: a table of slices becomes a table of windows.

    Args:
        component: The component that the table holds; not `COLLECT`.
        table: The values of slices, by slice and key. The first window starts with the first slice, and the last window
            ends within the table.
        slices: The number of slices of a window.
        stride: The number of slices between the starts of neighbouring windows.
        count: The number of windows.
    """
    # The slices are cut into blocks as long as a window; the last block is filled up with values that change nothing.
    block_count = math.ceil(len(table) / slices)
    filler_rows = block_count * slices - len(table)
    if filler_rows:
        filler = identities(component, filler_rows * table.shape[1]).reshape(filler_rows, *table.shape[1:])
        table = np.concatenate([table, filler])

    # Within each block, values are merged from its first slice up to each one, and from each one up to its last slice.
    blocks = table.reshape(block_count, slices, *table.shape[1:])
    forwards = _running(component, blocks).reshape(table.shape)
    backwards = _running(component, blocks[:, ::-1])[:, ::-1].reshape(table.shape)

    # A window that is no block is the end of one block and the beginning of the next.
    starts = np.arange(count) * stride
    windows = forwards[starts + slices - 1]  # up to the last slice of each window, from the start of its block
    is_across = starts % slices != 0
    windows[is_across] = merge_cells(component, backwards[starts[is_across]], windows[is_across])
    return windows


def merge_cells(component: Component, first: Array, second: Array) -> Array:
    """Merge two tables of one shape, cell by cell.

    Args:
        component: The component that the cells hold.
        first: The values that come first, in case the order matters to a module's own function.
        second: The values that are merged into them.
    """
    if component.merge is not Merge.CUSTOM:
        return merger(component)(first, second)
    # A module's own function gets values along one axis: the cells of the table become one row.
    flat = (-1, *component.shape)
    return merge(component, first.reshape(flat), second.reshape(flat)).reshape(first.shape)


def _running(component: Component, blocks: Array) -> Array:
    """Return for each cell of a block the merge of the cells from the first one of the block up to this one.

    Args:
        component: The component that the cells hold.
        blocks: The cells, by block, place in the block, and key.
    """
    with np.errstate(all="ignore"):  # overflows and NaN are values here, as in Spark
        if component.merge is not Merge.CUSTOM and blocks[:, 0].size < _NARROW:
            running: Array = merger(component).accumulate(blocks, axis=1)  # type: ignore[attr-defined]  # a ufunc
            return running

        # Wider blocks, and a module's own function, go place by place, in all blocks at once.
        running = np.array(blocks)
        for place in range(1, running.shape[1]):
            running[:, place] = merge_cells(component, running[:, place - 1], running[:, place])
    return running


def cover(
    component: Component, lows: IntArray, highs: IntArray, keys: IntArray, values: Array, shape: tuple[int, int]
) -> Array:
    """Merge values over ranges of windows by a segment tree: return a table of windows by keys.

    A cell of the table is the merge of all values of its key whose ranges of windows include its window.

    Args:
        component: The component that the values are of; not `COLLECT`.
        lows: The first window of each value.
        highs: The last window of each value.
        keys: The key of each value.
        values: The values.
        shape: The numbers of windows and of keys.
    """
    window_count, key_count = shape

    # From the leaves of the tree up: a value goes into the blocks that its range is cut into, level by level. Blocks of
    # the first level are windows; two neighbours make a block of the next level.
    levels: list[Array] = []  # a table of blocks by keys for each level
    starts = lows.copy()
    stops = highs + 1
    block_count = window_count
    while block_count:
        cut = _cut_blocks(starts, stops)
        cells = identities(component, block_count * key_count)
        if len(cut.blocks):
            codes = cut.blocks * key_count + keys[cut.ranges]
            cells = reduce_codes(component, codes, block_count * key_count, values[cut.ranges])
        levels.append(cells.reshape(block_count, key_count, *component.shape))

        # What is left of a range starts and stops at even blocks, so it is made of whole blocks of the next level. The
        # levels end when no range has anything left.
        starts = (starts + 1) >> 1
        stops = stops >> 1
        has_ranges = (starts < stops).any()
        block_count = (block_count + 1) >> 1 if has_ranges else 0

    # From the root down: each block gives what it has to its halves. The last block of a level may have one half alone.
    table = levels.pop()
    while levels:
        halves = levels.pop()
        table = merge_cells(component, np.repeat(table, 2, axis=0)[: len(halves)], halves)
    return table


class _CutBlocks(NamedTuple):
    """Blocks that are cut off the ends of ranges.

    Attributes:
        blocks: The number of each block in its level.
        ranges: The place of the range that it is cut off.
    """

    blocks: IntArray
    ranges: IntArray


def _cut_blocks(starts: IntArray, stops: IntArray) -> _CutBlocks:
    """Cut off the blocks at the ends of ranges that do not fit into blocks of the next level.

    A block of the next level holds an even block and the odd one after it. So a range that starts at an odd block has
    this one left over, and so has one that stops after an even block.

    Args:
        starts: The first block of each range.
        stops: The block after the last one of each range; a range is empty if it is not above the first one.
    """
    odd_starts = np.flatnonzero((starts < stops) & (starts & 1 == 1))
    odd_stops = np.flatnonzero((starts < stops) & (stops & 1 == 1))
    blocks = np.concatenate([starts[odd_starts], stops[odd_stops] - 1])
    return _CutBlocks(blocks, np.concatenate([odd_starts, odd_stops]))
