"""Windows of a grid from the stretches that they overlap, for all keys at once.

A stretch is a run of neighbouring windows: those that overlap its event, or the slice of a point (the range tags of
Li's thesis, section 6.1). What can be subtracted is added at the first window of its run and subtracted after the last
one, and summed along the axis: a step for each stretch and one for each cell of a table of windows by keys. Minimum,
maximum and merges of a module's own are scanned over slices, or brought down a tree over windows. Where the table would
be mostly empty, and where each stretch has one window, it is merged into each of its windows instead.

*Scanning* a table of slices by keys costs a cell of the table three operations at the most, whatever size/hop, by
running merges within blocks as long as a window, forwards and backwards, of which each window takes one of each (M. van
Herk, A fast algorithm for local minimum and maximum filters, Pattern Recognition Letters 13, 1992).

*A tree*: a range of windows is cut into the blocks of a binary tree over the windows, two per level at the most; the
tree is then read from its root down, each block giving what it has to its halves (J. L. Bentley's segment tree).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

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
from muntin_engine.evaluators.arrays.stretches.component_values import Collected
from muntin_engine.evaluators.arrays.stretches.row_values import RowLists
from muntin_engine.evaluators.arrays.stretches.stretch_table import Groups, StretchTable
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
        batch: The stretches, from the first window to the last one.
        slices: The slice of each; None where they are no points, or windows grow.
        grid: The slices that they lie on.
    """

    batch: StretchTable
    slices: IntArray | None
    grid: SliceGrid

    def take(self, places: IntArray) -> _Runs:
        """Return some of them."""
        slices = None if self.slices is None else self.slices[places]
        return _Runs(self.batch.take(places), slices, self.grid)


def close_windows(grid: SliceGrid, held: StretchTable, first: int, last: int) -> Iterator[StretchTable]:
    """Yield the windows from `first` up to but not including `last` that have rows, by number.

    Stretches of the axis without rows cost nothing.

    Args:
        grid: The slices.
        held: Stretches of slices, in any order; all end before the last window unless `last` is finite.
        first: A window, or `-NEVER`.
        last: A window, or `NEVER`.
    """
    low, high = np.maximum(grid.first_window(held.low), first), np.minimum(grid.last_window(held.high), last - 1)
    slices = held.low if held.are_points and not grid.grows else None
    runs, is_in = _Runs(held.moved(low, high), slices, grid), low <= high
    if not is_in.all():
        runs = runs.take(np.flatnonzero(is_in))
    if not len(runs.batch):
        return
    yield from _close(runs)


def _close(runs: _Runs) -> Iterator[StretchTable]:
    """Yield windows, without a step for those that no stretch has: the axis is cut out between them."""
    low, high = runs.batch.low, runs.batch.high
    is_ordered = (low[1:] >= low[:-1]).all()
    order = slice(None) if is_ordered else stable_order(*number(low))
    ascending, reach = low[order], np.maximum.accumulate(high[order])
    cuts = np.flatnonzero(ascending[1:] > reach[:-1] + 1) + 1
    starts = ascending[[0, *cuts]]
    lengths = reach[[*(cuts - 1), len(low) - 1]] + 1 - starts
    places = np.cumsum(lengths) - lengths
    moved = (starts - places)[np.searchsorted(starts, low, "right") - 1] if len(cuts) else starts[0]
    low, high = low - moved, high - moved
    if runs.slices is not None:
        runs = runs._replace(slices=runs.slices - runs.grid.runs.start(moved))
    count = int(lengths.sum())
    for begin in range(0, count, MOST_WINDOWS):
        end = min(count, begin + MOST_WINDOWS)
        is_in = (low < end) & (high >= begin)
        some = np.flatnonzero(is_in)
        part = runs if len(some) == len(low) else runs.take(some)
        clipped = np.maximum(low[some], begin) - begin, np.minimum(high[some], end - 1) - begin
        part = part._replace(batch=part.batch.moved(*clipped))
        if begin and part.slices is not None:
            part = part._replace(slices=part.slices - begin * runs.grid.stride)
        for found in _of_keys(part, end - begin):
            at = found.low + begin
            windows = at + (starts - places)[np.searchsorted(places, at, "right") - 1]
            yield found.moved(windows, windows)


def _of_keys(runs: _Runs, count: int) -> Iterator[StretchTable]:
    """Yield the windows from 0 up to a count, so many keys at a time that tables stay small."""
    batch = runs.batch
    keys, places = distinct(batch.keys)
    shares = int((batch.high - batch.low + 1).sum())
    rows = count
    is_scanned = runs.slices is not None and not all(values.is_summed for values in batch.parts.values())
    if is_scanned:
        rows = (count - 1) * runs.grid.stride + runs.grid.slices
    cells = rows * len(keys)
    expands = shares == len(batch) or cells > _EXPANDING * shares
    expands = expands or any(isinstance(values, Collected | RowLists) for values in batch.parts.values())
    width = max(1, MOST_CELLS * len(keys) // max(shares if expands else cells, 1))
    make = _expanded if expands else _summed
    for start in range(0, len(keys), width):
        names = keys[start : start + width]
        if len(names) == len(keys):
            some = runs._replace(batch=batch.with_keys(places))
        else:
            chosen = np.flatnonzero((places >= start) & (places < start + width))
            some = runs.take(chosen)
            some = some._replace(batch=some.batch.with_keys(places[chosen] - start))
        yield make(some, names, count)


def _expanded(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows by merging each stretch into each of its windows."""
    batch = runs.batch
    windows, whole = batch.low, batch
    if not np.array_equal(batch.low, batch.high):
        places, within = expanded(batch.high - batch.low + 1)
        windows, whole = batch.low[places] + within, batch.take(places)
    codes, size = compress(windows * len(keys) + whole.keys, product(count, len(keys)))
    first = first_places(codes, size)
    at = windows[first]
    return whole.reduce(Groups(codes, keys[whole.keys[first]], at, at))


def _summed(runs: _Runs, keys: IntArray, count: int) -> StretchTable:
    """Return windows from a table of all of them by keys."""
    table = _Table(runs, len(keys), count)
    parts = {
        part: values.running(table) if values.is_summed else values.through(table.merged, table.most)
        for part, values in runs.batch.parts.items()
    }
    places = table.places
    at = places // len(keys)
    return StretchTable(keys[places % len(keys)], at, at, table.weight, parts)


class _Table:
    """A table of windows by keys, of which those are wanted that have rows.

    Attributes:
        most: The greatest number of values in a sum.
        places: The places of the wanted cells.
        weight: Their numbers of rows.
    """

    def __init__(self, runs: _Runs, keys: int, count: int) -> None:
        batch = runs.batch
        self._runs, self._keys, self._count = runs, keys, count
        self._first = batch.low * keys + batch.keys
        self._ended = np.flatnonzero(batch.high < count - 1)
        self._after = (batch.high[self._ended] + 1) * keys + batch.keys[self._ended]
        self.most = int(np.bincount(batch.keys).max())
        weight = self._running(batch.weight.astype(np.int64))
        self.places: IntArray = np.flatnonzero(weight)
        self.weight: IntArray = weight[self.places]

    def sums(self, values: Array) -> Array:
        """Return for each wanted cell the sum of the values whose stretches hold it."""
        return self._running(values)[self.places]

    def merged(self, component: Component, values: Array) -> Array:
        """Return for each wanted cell the merge of the values whose stretches hold it; nothing is subtracted."""
        (batch, slices, grid), keys, count = self._runs, self._keys, self._count
        if slices is None:
            table = cover(component, batch.low, batch.high, batch.keys, values, (count, keys))
        else:
            rows = (count - 1) * grid.stride + grid.slices
            cells = reduce_codes(component, slices * keys + batch.keys, rows * keys, values)
            table = scan_windows(
                component, cells.reshape(rows, keys, *component.shape), grid.slices, grid.stride, count
            )
        return table.reshape(-1, *component.shape)[self.places]

    def _running(self, values: Array) -> Array:
        cells = np.zeros((self._count * self._keys, *values.shape[1:]), values.dtype)
        np.add.at(cells, self._first, values)
        np.subtract.at(cells, self._after, values[self._ended])
        table = cells.reshape(self._count, self._keys, *values.shape[1:])
        np.cumsum(table, axis=0, dtype=values.dtype, out=table)
        return cells


def scan_windows(component: Component, table: Array, slices: int, stride: int, count: int) -> Array:
    """Return the windows of a table of slices, as a table of windows by keys.

    Args:
        component: What the table holds; not `COLLECT`.
        table: Of slices by keys; the first window starts with its first slice, and the last one ends in it.
        slices: How many slices a window has.
        stride: How many lie between the starts of neighbours.
        count: How many windows are wanted.
    """
    starts = np.arange(count) * stride
    blocks = -(-len(table) // slices)
    missing = blocks * slices - len(table)
    if missing:
        filler = identities(component, missing * table.shape[1]).reshape(missing, *table.shape[1:])
        table = np.concatenate([table, filler])
    shape = (blocks, slices, *table.shape[1:])
    forwards = _running(component, table.reshape(shape)).reshape(table.shape)
    backwards = _running(component, table.reshape(shape)[:, ::-1])[:, ::-1].reshape(table.shape)
    found = forwards[starts + slices - 1]
    is_across = starts % slices != 0
    found[is_across] = merge_cells(component, backwards[starts[is_across]], found[is_across])
    return found


def merge_cells(component: Component, first: Array, second: Array) -> Array:
    """Return the merged cells of two tables of any shape."""
    if component.merge is not Merge.CUSTOM:
        return merger(component)(first, second)
    flat = (-1, *component.shape)
    return merge(component, first.reshape(flat), second.reshape(flat)).reshape(first.shape)


def _running(component: Component, blocks: Array) -> Array:
    """Return for each cell of a block the merge of those before it and itself, along the second axis."""
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
        component: What the values are; not `COLLECT`.
        lows: The first window of each value.
        highs: The last window of each value.
        keys: The key of each value.
        values: The values.
        shape: How many windows and keys there are.
    """
    count, width = shape
    levels = []
    left, right = lows.copy(), highs + 1
    while count:
        blocks, places = _blocks(left, right)
        cells = identities(component, count * width)
        if len(blocks):
            cells = reduce_codes(component, blocks * width + keys[places], count * width, values[places])
        levels.append(cells.reshape(count, width, *component.shape))
        left, right = (left + 1) >> 1, right >> 1
        count = 0 if not (left < right).any() else (count + 1) >> 1
    table = levels.pop()
    while levels:
        below = levels.pop()
        table = merge_cells(component, np.repeat(table, 2, axis=0)[: len(below)], below)
    return table


def _blocks(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return the blocks of one level that the ends of ranges stick out by, and whose ranges they are."""
    at_left = np.flatnonzero((left < right) & (left & 1 == 1))
    at_right = np.flatnonzero((left < right) & (right & 1 == 1))
    return np.concatenate([left[at_left], right[at_right] - 1]), np.concatenate([at_left, at_right])
