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
        stretches: The stretches, from the first window to the last one.
        slices: The slice of each; None where they are no points, or windows grow.
        grid: The slices that they lie on.
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
        """The number of windows of all stretches, each counted for itself."""
        return int((self.stretches.high - self.stretches.low + 1).sum())


def close_windows(grid: SliceGrid, slices: StretchTable, first: int, last: int) -> Iterator[StretchTable]:
    """Yield the windows from `first` up to but not including `last` that have rows, by number.

    A stretch is clipped to these windows here. Stretches of the axis without rows cost nothing.

    Args:
        grid: The slices.
        slices: Stretches of slices, in any order; all end before the last window unless `last` is finite.
        first: A window, or `-NEVER`.
        last: A window, or `NEVER`.
    """
    low = np.maximum(grid.first_window(slices.low), first)
    high = np.minimum(grid.last_window(slices.high), last - 1)
    are_scanned = slices.are_points and not grid.grows
    runs = _Runs(slices.moved(low, high), slices.low if are_scanned else None, grid)
    is_in = low <= high
    if not is_in.all():
        runs = runs.take(np.flatnonzero(is_in))
    if _are_windows(runs.stretches):
        yield runs.stretches.moved(runs.stretches.low, runs.stretches.low)
    elif len(runs.stretches):
        yield from _close_without_gaps(runs)


def _are_windows(stretches: StretchTable) -> bool:
    """True if each stretch is all that a window of a key has, and windows are in their order, as of tumbling ones."""
    low = stretches.low
    keys = stretches.keys
    if not len(low) or not np.array_equal(low, stretches.high):
        return False
    is_later = low[1:] > low[:-1]
    is_of_later_key = (low[1:] == low[:-1]) & (keys[1:] > keys[:-1])
    return bool((is_later | is_of_later_key).all())


def _close_without_gaps(runs: _Runs) -> Iterator[StretchTable]:
    """Yield windows; gaps without data are removed from the axis first."""
    occupied = _OccupiedParts.of(runs.stretches)
    shift = occupied.shift_of(runs.stretches.low)
    low = runs.stretches.low - shift
    high = runs.stretches.high - shift
    if runs.slices is not None:
        runs = runs._replace(slices=runs.slices - runs.grid.runs.start(shift))

    # So many windows are made at a time that tables stay small.
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
            yield windows.moved(numbers, numbers)


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
        """Find the parts; a gap lies where a stretch begins after all before it have ended."""
        low = stretches.low
        is_ordered = (low[1:] >= low[:-1]).all()
        order = slice(None) if is_ordered else stable_order(*number(low))
        ascending = low[order]
        reach = np.maximum.accumulate(stretches.high[order])
        cuts = np.flatnonzero(ascending[1:] > reach[:-1] + 1) + 1
        starts = ascending[[0, *cuts]]
        lengths = reach[[*(cuts - 1), len(low) - 1]] + 1 - starts
        return cls(starts, np.cumsum(lengths) - lengths, int(lengths.sum()))

    def shift_of(self, windows: IntArray) -> IntArray:
        """Return the distance from windows to their places on the axis without gaps; one number if all have it."""
        shifts = self.starts - self.places
        return shifts[np.searchsorted(self.starts, windows, "right") - 1] if len(shifts) > 1 else shifts[0]

    def numbers_of(self, places: IntArray) -> IntArray:
        """Return the windows at places of the axis without gaps."""
        numbers: IntArray = places + (self.starts - self.places)[np.searchsorted(self.places, places, "right") - 1]
        return numbers


def _close_by_keys(runs: _Runs, count: int) -> Iterator[StretchTable]:
    """Yield the windows from 0 up to a count, so many keys at a time that tables stay small."""
    stretches = runs.stretches
    keys, key_places = distinct(stretches.keys)
    values = stretches.parts.values()

    # Which of the two ways costs less: a table, of windows or of slices, or expansion.
    rows = count
    if runs.slices is not None and not all(part.is_summed for part in values):
        rows = (count - 1) * runs.grid.stride + runs.grid.slices  # the table is one of slices, which is scanned
    cells = rows * len(keys)
    window_count = runs.window_count
    expands = window_count == len(stretches) or cells > _EXPANDING * window_count
    expands = expands or any(part.is_collected for part in values)  # lists of rows have no cell of a fixed size

    cost = window_count if expands else cells
    width = max(1, MOST_CELLS * len(keys) // max(cost, 1))
    for start in range(0, len(keys), width):
        table_keys = keys[start : start + width]
        if len(table_keys) == len(keys):
            table_runs = runs._replace(stretches=stretches.with_keys(key_places))
        else:
            is_of_table = (key_places >= start) & (key_places < start + width)
            table_runs = runs.take(np.flatnonzero(is_of_table))
            numbered = table_runs.stretches.with_keys(key_places[is_of_table] - start)
            table_runs = table_runs._replace(stretches=numbered)
        yield _expanded(table_runs, table_keys, count) if expands else _summed(table_runs, table_keys, count)


def _expanded(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows by merging each stretch into each of its windows."""
    stretches = runs.stretches
    windows = stretches.low
    if not np.array_equal(stretches.low, stretches.high):
        owners, within = expanded(stretches.high - stretches.low + 1)
        windows = stretches.low[owners] + within
        stretches = stretches.take(owners)
    codes, size = compress(windows * len(keys) + stretches.keys, product(count, len(keys)))
    if size == len(codes) and (codes[1:] > codes[:-1]).all():  # each is a window, and nothing is merged
        return stretches.moved(windows, windows).with_keys(keys[stretches.keys])
    first = first_places(codes, size)
    numbers = windows[first]
    return stretches.reduce(Groups(codes, keys[stretches.keys[first]], numbers, numbers))


def _summed(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows from a table of all of them by keys."""
    table = _Table(runs, len(keys), count)
    parts: dict[Part, Any] = {}
    for part, values in runs.stretches.parts.items():
        if values.is_summed:
            parts[part] = values.running(table)
        else:
            parts[part] = values.through(table.merged, table.most)
    numbers = table.places // len(keys)
    return StretchTable(keys[table.places % len(keys)], numbers, numbers, table.weight, parts)


class _Table:
    """A table of windows by keys, of which the cells with rows are read.

    Attributes:
        most: The greatest number of values in a sum.
        places: The places of the cells with rows.
        weight: The numbers of rows of these.
    """

    def __init__(self, runs: _Runs, keys: int, count: int) -> None:
        """Prepare a table.

        Args:
            runs: The stretches, whose keys are numbered from 0.
            keys: The number of keys.
            count: The number of windows.
        """
        stretches = runs.stretches
        self._runs = runs
        self._keys = keys
        self._count = count
        self._first = stretches.low * keys + stretches.keys
        self._ended = np.flatnonzero(stretches.high < count - 1)
        self._after = (stretches.high[self._ended] + 1) * keys + stretches.keys[self._ended]
        self.most = int(np.bincount(stretches.keys).max())
        weight = self._running(stretches.weight.astype(np.int64))
        self.places: IntArray = np.flatnonzero(weight)
        self.weight: IntArray = weight[self.places]

    def sums(self, values: Array) -> Array:
        """Return for each cell with rows the sum of the values whose stretches hold it."""
        return self._running(values)[self.places]

    def merged(self, component: Component, values: Array) -> Array:
        """Return for each cell with rows the merge of the values whose stretches hold it; nothing is subtracted."""
        stretches, slices, grid = self._runs
        keys = self._keys
        count = self._count
        if slices is None:
            table = cover(component, stretches.low, stretches.high, stretches.keys, values, (count, keys))
        else:
            rows = (count - 1) * grid.stride + grid.slices
            cells = reduce_codes(component, slices * keys + stretches.keys, rows * keys, values)
            by_slice = cells.reshape(rows, keys, *component.shape)
            table = scan_windows(component, by_slice, grid.slices, grid.stride, count)
        return table.reshape(-1, *component.shape)[self.places]

    def _running(self, values: Array) -> Array:
        """Return the sum in each cell: a value is added where its run begins, and subtracted after its end."""
        cells = np.zeros((self._count * self._keys, *values.shape[1:]), values.dtype)
        np.add.at(cells, self._first, values)
        np.subtract.at(cells, self._after, values[self._ended])
        table = cells.reshape(self._count, self._keys, *values.shape[1:])
        np.cumsum(table, axis=0, dtype=values.dtype, out=table)
        return cells


def scan_windows(component: Component, table: Array, slices: int, stride: int, count: int) -> Array:
    """Return the windows of a table of slices, as a table of windows by keys.

    Args:
        component: The component that the table holds; not `COLLECT`.
        table: Of slices by keys; the first window starts with its first slice, and the last one ends in it.
        slices: The number of slices of a window.
        stride: The number of slices between the starts of neighbours.
        count: The number of windows.
    """
    starts = np.arange(count) * stride
    blocks = -(-len(table) // slices)
    filler_rows = blocks * slices - len(table)
    if filler_rows:
        filler = identities(component, filler_rows * table.shape[1]).reshape(filler_rows, *table.shape[1:])
        table = np.concatenate([table, filler])
    shape = (blocks, slices, *table.shape[1:])
    forwards = _running(component, table.reshape(shape)).reshape(table.shape)
    backwards = _running(component, table.reshape(shape)[:, ::-1])[:, ::-1].reshape(table.shape)

    # A window that is no block is the end of one block and the beginning of the next.
    windows = forwards[starts + slices - 1]
    is_across = starts % slices != 0
    windows[is_across] = merge_cells(component, backwards[starts[is_across]], windows[is_across])
    return windows


def merge_cells(component: Component, first: Array, second: Array) -> Array:
    """Return the merged cells of two tables of any shape."""
    if component.merge is not Merge.CUSTOM:
        return merger(component)(first, second)
    flat = (-1, *component.shape)
    return merge(component, first.reshape(flat), second.reshape(flat)).reshape(first.shape)


def _running(component: Component, blocks: Array) -> Array:
    """Return for each cell of a block the merge of all cells up to this cell, along the second axis."""
    with np.errstate(all="ignore"):
        if component.merge is not Merge.CUSTOM and blocks[:, 0].size < _NARROW:
            running: Array = merger(component).accumulate(blocks, axis=1)  # type: ignore[attr-defined]  # a ufunc
            return running
        running = np.array(blocks)
        for place in range(1, running.shape[1]):
            running[:, place] = merge_cells(component, running[:, place - 1], running[:, place])
    return running


def cover(
    component: Component, lows: IntArray, highs: IntArray, keys: IntArray, values: Array, shape: tuple[int, int]
) -> Array:
    """Return for each window and key the merge of the values whose ranges hold it.

    Args:
        component: The component that the values are of; not `COLLECT`.
        lows: The first window of each value.
        highs: The last window of each value.
        keys: The key of each value.
        values: The values.
        shape: The numbers of windows and of keys.
    """
    count, width = shape

    # From the leaves of the tree up: a value goes into the blocks that its range is cut into, level by level.
    levels = []
    starts = lows.copy()
    stops = highs + 1
    while count:
        cut = _cut_blocks(starts, stops)
        cells = identities(component, count * width)
        if len(cut.blocks):
            codes = cut.blocks * width + keys[cut.ranges]
            cells = reduce_codes(component, codes, count * width, values[cut.ranges])
        levels.append(cells.reshape(count, width, *component.shape))
        starts = (starts + 1) >> 1
        stops = stops >> 1
        count = 0 if not (starts < stops).any() else (count + 1) >> 1

    # From the root down: each block gives what it has to its halves.
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
    """Return the blocks of a level that ranges have and no block of the next level holds whole.

    A block of the next level holds an even block and the odd one after it. So a range that starts at an odd block has
    this one left over, and so has one that stops after an even block.
    """
    odd_starts = np.flatnonzero((starts < stops) & (starts & 1 == 1))
    odd_stops = np.flatnonzero((starts < stops) & (stops & 1 == 1))
    blocks = np.concatenate([starts[odd_starts], stops[odd_stops] - 1])
    return _CutBlocks(blocks, np.concatenate([odd_starts, odd_stops]))
