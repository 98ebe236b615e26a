"""Whole windows from slices, for all keys at once.

Three ways, one result. *Scanning* a table of slices by keys costs a cell of the table three operations at the most,
whatever size/hop: sums by running totals, since subtraction undoes their addition exactly; everything else
by running merges within blocks as long as a window, forwards and backwards, of which each window takes one of each (M.
van Herk, A fast algorithm for local minimum and maximum filters, Pattern Recognition Letters 13, 1992). *Expanding*
gives each partial state to each of its windows, which is less where the table would be mostly empty.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from muntin import Component, Merge
from muntin.columnar import identities, merge, merger
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.core.window_grid import WindowGrid

_NARROW: Final = 600
"""Tables with fewer cells per slice are scanned cell by cell in one call; wider ones slice by slice, in a call each."""


def scan_windows(
    component: Component, table: Array, slices: int, stride: int, count: int, *, is_lane: bool = False
) -> Array:
    """Return the windows of a table of slices.

    Args:
        component: What the table holds; not `COLLECT`.
        table: Of slices by keys; the first window starts with its first slice, and the last one ends in it.
        slices: How many slices a window has.
        stride: How many lie between the starts of neighbours.
        count: How many windows are wanted.
        is_lane: True if these are floats on a grid (`muntin.columnar.Sums`), of which sums and differences are exact.

    Returns:
        Windows by keys.
    """
    starts = np.arange(count) * stride
    if slices == 1:
        return table[starts]
    if is_lane or (component.merge in (Merge.ADD, Merge.COUNT) and component.has_inverse):
        return _difference_of_totals(table, slices, stride, count)
    return _two_scans(component, table, starts, slices)


def _difference_of_totals(table: Array, slices: int, stride: int, count: int) -> Array:
    totals = np.zeros((len(table) + 1, *table.shape[1:]), table.dtype)
    np.cumsum(table, axis=0, out=totals[1:])
    return totals[slices::stride][:count] - totals[::stride][:count]


def _two_scans(component: Component, table: Array, starts: IntArray, slices: int) -> Array:
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


def expand_windows(slices: IntArray, runs: WindowGrid, first: int, last: int) -> tuple[IntArray, IntArray]:
    """Return every pair of a partial state and a window that it is part of.

    Args:
        slices: The slice of each partial state.
        runs: The windows as runs of slices.
        first: The first window that is wanted.
        last: The first one that is not wanted any more.

    Returns:
        The places of the partial states, and the windows.
    """
    lowest = np.maximum(runs.first_ending_after(slices), first)
    counts = np.maximum(np.minimum(runs.first_starting_from(slices + 1), last) - lowest, 0)
    places = np.repeat(np.arange(len(slices)), counts)
    within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, lowest[places] + within
