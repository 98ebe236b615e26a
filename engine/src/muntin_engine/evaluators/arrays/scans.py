"""Windows of what cannot be subtracted, for all keys at once: scans over slices, and a tree over windows.

*Scanning* a table of slices by keys costs a cell of the table three operations at the most, whatever size/hop, by
running merges within blocks as long as a window, forwards and backwards, of which each window takes one of each (M. van
Herk, A fast algorithm for local minimum and maximum filters, Pattern Recognition Letters 13, 1992).

*A tree*: a range of windows is cut into the blocks of a binary tree over the windows, two per level at the most; the
tree is then read from its root down, each block giving what it has to its halves (J. L. Bentley's segment tree).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muntin import Component, Merge
from muntin.columnar import identities, merge, merger
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.arrays.coding import reduce_codes

_NARROW: Final = 600
"""Tables with fewer cells per slice are scanned cell by cell in one call; wider ones slice by slice, in a call each."""


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
