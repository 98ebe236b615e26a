"""The map side of modules that keep Python states: rows become states of their slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from muntin_engine.core.slice_grid import Grid, SliceGrid
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.held_partials import in_windows
from muntin_engine.evaluators.arrays.lifting import Rows, group_rows, key_rows
from muntin_engine.evaluators.arrays.state_modules import StateModules, whereabouts
from muntin_engine.evaluators.arrays.states import States
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable
from muntin_engine.evaluators.arrays.wire import to_blob
from muntin_engine.exchange.counting import numbers_at


def lift_states(modules: StateModules, grids: Sequence[Grid], rows: Rows) -> Iterator[BucketBlob]:
    """Yield the states of a batch of rows for each bucket that has any; of rows in no window only their number.

    Cost: that of `StateModules`, and a few passes over the rows.

    Raises:
        ModuleFailedError: A module raised an exception; its window is the extent of the slice.
        StateError: A state cannot be stored.
    """
    (grid, *_) = (grid for grid in grids if isinstance(grid, SliceGrid))
    is_in = in_windows(grids, grid.slices_at(numbers_at(grid.periods, rows.starts)))
    for are_lifted, some in ((True, rows if is_in.all() else rows.where(is_in)), (False, rows.where(~is_in))):
        if len(some):
            yield from _lifted(modules if are_lifted else None, grid, some)


def _lifted(modules: StateModules | None, grid: SliceGrid, rows: Rows) -> Iterator[BucketBlob]:
    groups = group_rows(grid, rows)
    counts, low = np.bincount(groups.codes, minlength=groups.size), groups.low
    keys = key_rows([key.take(pa.array(groups.first)) for key in rows.keys], len(groups.first))
    at = whereabouts(keys, groups.ends[groups.buckets] + groups.keys, lambda place: grid.extent(int(low[place])))
    parts: dict[Part, States] = {} if modules is None else modules.lift(rows.inputs, groups.codes, counts, at)
    batch = StretchTable(groups.keys, low, low, counts, parts)
    buckets, starts = np.unique(groups.buckets, return_index=True)
    for bucket, start, stop in zip(buckets, starts, [*starts[1:], groups.size], strict=True):
        some = batch.take(slice(start, stop))
        first, last = groups.ends[bucket : bucket + 2]
        packed = [] if modules is None else modules.pack(some.parts, at, int(start))
        bare = StretchTable(some.keys, some.low, some.low, some.weight, {})
        yield BucketBlob(int(bucket), to_blob(keys.slice(first, last - first), bare, packed))
