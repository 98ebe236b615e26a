"""Windows from the partial states of ranges of windows.

A range is cut into the blocks of a binary tree over the windows, two per level at the most; the tree is then read from
its root down, each block giving what it has to its halves (J. L. Bentley's segment tree, for all keys at once). Nothing
is subtracted, so a component needs no inverse. Adding at the first window and
subtracting after the last would be cheaper for integers alone, by a constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from muntin import Component
from muntin.columnar import identities
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.columnar.partials import COUNTED, Partials
from muntin_engine.evaluators.columnar.reducing import reduce_codes
from muntin_engine.evaluators.columnar.window_closing import MOST_CELLS, Windows, merged_part, merged_windows
from muntin_engine.evaluators.columnar.window_scans import merge_cells

_EXPANDING: Final = 4
"""The cost of giving a partial state to a window, in cells of a tree."""

_MOST_WINDOWS: Final = 1 << 16
"""So many windows are made at a time."""


def close_ranges(partials: Partials, first: int, last: int) -> Iterator[Windows]:
    """Yield the windows from `first` up to but not including `last` that have rows.

    Cost: the cheaper of a tree over windows by keys, with two cells per level for each partial state, and one step for
    each window of each partial state.

    Args:
        partials: Of ranges that overlap these windows; none may last beyond all windows unless `last` is finite.
        first: A window, or `-NEVER`.
        last: A window, or `NEVER`.
    """
    lasts = partials.lasts
    assert lasts is not None
    start, stop = max(first, int(partials.slices.min())), min(last, int(lasts.max()) + 1)
    for low in range(start, stop, _MOST_WINDOWS):
        high = min(stop, low + _MOST_WINDOWS)
        is_in = (partials.slices < high) & (lasts >= low) & (lasts >= partials.slices)
        some = partials.take(np.flatnonzero(is_in))
        if len(some):
            yield from _close(some, low, high)


def _close(partials: Partials, first: int, last: int) -> Iterator[Windows]:
    keys, places = np.unique(partials.keys, return_inverse=True)
    lasts = partials.lasts
    assert lasts is not None
    lows, highs = np.maximum(partials.slices, first) - first, np.minimum(lasts, last - 1) - first
    shares = int((highs - lows + 1).sum())
    is_collected = any(part.is_collected for part in partials.parts)
    cells = 2 * (last - first) * len(keys)
    expands = is_collected or cells > _EXPANDING * shares
    width = max(1, MOST_CELLS * len(keys) // max(shares if expands else cells, 1))
    for start in range(0, len(keys), width):
        some = np.flatnonzero((places >= start) & (places < start + width))
        chosen = partials.take(some).with_keys(places[some] - start)
        names = keys[start : start + width]
        if expands:
            yield _expanded(chosen, names, lows[some], highs[some], first, last)
        else:
            yield _descended(chosen, names, lows[some], highs[some], first, last)


def _expanded(partials: Partials, keys: IntArray, lows: IntArray, highs: IntArray, first: int, last: int) -> Windows:
    counts = highs - lows + 1
    places = np.repeat(np.arange(len(partials)), counts)
    windows = lows[places] + np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts) + first
    return merged_windows(partials, places, windows, keys, first, last)


def _descended(partials: Partials, keys: IntArray, lows: IntArray, highs: IntArray, first: int, last: int) -> Windows:
    count = last - first

    def descend(component: Component, values: Array, *, is_lane: bool = False) -> Array:
        del is_lane  # nothing is subtracted
        table = cover(component, lows, highs, partials.keys, values, (count, len(keys)))
        return table.reshape(count * len(keys), *table.shape[2:])

    rows = descend(COUNTED, partials.rows)
    held = np.flatnonzero(rows)
    most = len(partials)
    parts = {part: merged_part(part.component, values, most, descend, held) for part, values in partials.parts.items()}
    return Windows(first + held // len(keys), keys[held % len(keys)], rows[held], parts)


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
