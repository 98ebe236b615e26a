"""The windows that are complete, from the partial states of their slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from muntin import Component
from muntin.columnar import Ragged, Sums, identities
from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.evaluators.columnar.coding import compress, product
from muntin_engine.evaluators.columnar.partials import (
    COUNTED,
    Collected,
    Part,
    Partials,
    Values,
    reduce_part,
    take_part,
)
from muntin_engine.evaluators.columnar.reducing import lane, reduce_codes
from muntin_engine.evaluators.columnar.window_scans import expand_windows, scan_windows

MOST_CELLS: Final = 1 << 21
"""A table of slices by keys has at most so many cells; more keys make more tables."""

_NEAR: Final = 64
"""So many slices without rows are scanned rather than left out."""

_EXPANDING: Final = 6
"""The cost of giving a partial state to a window, in cells of a table scanned."""


Merged: TypeAlias = Array | Sums | Ragged
"""The merged values of a part for n windows."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The merged states of n pairs of a window and a key that has rows in it.

    Attributes:
        windows: The number of each window.
        keys: The code of each key.
        rows: How many rows it has.
        parts: Arrays of n values, `Ragged` ones of n groups, or `Sums`.
    """

    windows: IntArray
    keys: IntArray
    rows: IntArray
    parts: Mapping[Part, Merged]

    def payloads(self, form: int) -> IntArray:
        """Return the number of payloads that a form took, for each window."""
        payloads = self.parts.get(Part(form, "", COUNTED), self.rows)
        assert isinstance(payloads, np.ndarray)
        return payloads


def close_windows(grid: SliceGrid, partials: Partials, first: int, last: int) -> Iterator[Windows]:
    """Yield the windows from `first` up to but not including `last` that have rows.

    Cost: the cheaper of a pass over slices by keys, and one over each window of each partial state. Stretches of the
    axis without rows cost nothing.

    Args:
        grid: The slices.
        partials: Of all slices of these windows, in their order.
        first: A window, or `-NEVER`.
        last: A window, or `NEVER`.
    """
    runs = WindowGrid(grid.slices, grid.stride)
    for stretch in _stretches(grid, partials.shifted(grid.shift)):
        start = max(first, runs.first_ending_after(int(stretch.slices[0])))
        stop = min(last, runs.first_starting_from(int(stretch.slices[-1]) + 1))
        if start < stop:
            yield from _close_stretch(grid, stretch, start, stop)


def _stretches(grid: SliceGrid, partials: Partials) -> Iterator[Partials]:
    """Yield partial states that no window shares with others, and that lie far apart: each stretch costs some calls."""
    if not len(partials):
        return
    cuts = np.flatnonzero(np.diff(partials.slices) >= grid.slices + _NEAR) + 1
    for start, stop in zip([0, *cuts], [*cuts, len(partials)], strict=True):
        yield partials.slice(int(start), int(stop))


def _close_stretch(grid: SliceGrid, partials: Partials, first: int, last: int) -> Iterator[Windows]:
    keys, places = np.unique(partials.keys, return_inverse=True)
    span = (last - 1 - first) * grid.stride + grid.slices
    shares = min(-(-grid.slices // grid.stride), last - first) * len(partials)
    is_collected = any(part.is_collected for part in partials.parts)
    expands = is_collected or span * len(keys) > _EXPANDING * shares
    width = max(1, MOST_CELLS * len(keys) // max(shares if expands else span * len(keys), 1))
    for start in range(0, len(keys), width):
        some = keys[start : start + width]
        is_in = (places >= start) & (places < start + width) if len(some) < len(keys) else slice(None)
        chosen = _choose(partials, places - start, is_in)
        if expands:
            yield _expanded(grid, chosen, some, first, last)
        else:
            yield _scanned(grid, chosen, some, first, last)


def _choose(partials: Partials, keys: IntArray, is_in: BoolArray | slice) -> Partials:
    """Return some partial states, with keys numbered anew."""
    numbered = partials.with_keys(keys)
    return numbered if isinstance(is_in, slice) else numbered.take(np.flatnonzero(is_in))


def _scanned(grid: SliceGrid, partials: Partials, keys: IntArray, first: int, last: int) -> Windows:
    origin, count = first * grid.stride, last - first
    span = (count - 1) * grid.stride + grid.slices
    is_within = (partials.slices >= origin) & (partials.slices < origin + span)
    if not is_within.all():
        partials = _choose(partials, partials.keys, is_within)
    cells = (partials.slices - origin) * len(keys) + partials.keys
    is_unique = len(cells) < 2 or bool((np.diff(np.sort(cells)) > 0).all())

    def scan(component: Component, values: Array, *, is_lane: bool = False) -> Array:
        table = _table(component, cells, span * len(keys), values, is_unique=is_unique)
        table = table.reshape(span, len(keys), *table.shape[1:])
        windows = scan_windows(component, table, grid.slices, grid.stride, count, is_lane=is_lane)
        return windows.reshape(count * len(keys), *table.shape[2:])

    rows = scan(COUNTED, partials.rows)
    held: IntArray = np.flatnonzero(rows)
    most = int(np.bincount(partials.keys).max()) if len(partials) else 0
    parts = {part: merged_part(part.component, values, most, scan, held) for part, values in partials.parts.items()}
    return Windows(first + held // len(keys), keys[held % len(keys)], rows[held], parts)


def merged_part(
    component: Component, values: Values, most: int, function: Callable[..., Array], held: IntArray
) -> Array | Sums:
    """Apply a function to the values of a part, at some places.

    Args:
        component: The component of the values.
        values: Arrays of n values, or n `Sums`, whose lanes the function gets one by one.
        most: The greatest number of values in a sum.
        function: Takes a component, an array of its values, and `is_lane`: True if these are floats on a grid.
        held: The places.
    """
    if not isinstance(values, Sums):
        return function(component, values)[held]
    part = lane(component)
    return values.on_grid(most).each(lambda array, is_lane: function(part, array, is_lane=is_lane)[held])


def _table(component: Component, cells: IntArray, size: int, values: Array, *, is_unique: bool) -> Array:
    if not is_unique:
        return reduce_codes(component, cells, size, values)
    table = identities(component, size)
    table[cells] = values
    return table


def _expanded(grid: SliceGrid, partials: Partials, keys: IntArray, first: int, last: int) -> Windows:
    places, windows = expand_windows(partials.slices, WindowGrid(grid.slices, grid.stride), first, last)
    return merged_windows(partials, places, windows, keys, first, last)


def merged_windows(
    partials: Partials, places: IntArray, windows: IntArray, keys: IntArray, first: int, last: int
) -> Windows:
    """Return windows from pairs of a partial state and a window that it is part of.

    Args:
        partials: The partial states, with keys numbered from 0.
        places: The partial state of each pair.
        windows: The window of each pair.
        keys: The codes of the keys.
        first: The first window there may be.
        last: The first one there is not.
    """
    pairs = (windows - first) * len(keys) + partials.keys[places]
    codes, size = compress(pairs, product(last - first, len(keys)))
    which = np.empty(size, np.int64)
    which[codes] = np.arange(len(codes))
    parts: dict[Part, Merged] = {}
    for part, values in partials.parts.items():
        reduced = reduce_part(part, codes, size, take_part(values, places))
        parts[part] = sorted_groups(reduced) if isinstance(reduced, Collected) else reduced
    rows = reduce_codes(COUNTED, codes, size, partials.rows[places])
    return Windows(windows[which], keys[partials.keys[places[which]]], rows, parts)


def sorted_groups(collected: Collected) -> Ragged:
    """Return the values of each group in ascending order."""
    groups = np.repeat(np.arange(len(collected.counts)), collected.counts)
    values = collected.values[np.lexsort((collected.values, groups))]
    return Ragged(values, np.concatenate([[0], np.cumsum(collected.counts)]))
