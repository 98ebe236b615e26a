"""Rows to Python states, where the rows are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.coding import stable_order
from muntin_engine.evaluators.arrays.lifting import RowGroups, Rows, group_rows, python_values, rows_to_lift
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import GroupedRows, lift
from muntin_engine.exchange.task_payload import TaskPayload


def lift_states(task: TaskPayload, table: pa.Table) -> Iterator[BucketBlob]:
    """Lift rows to Python states: sorted by bucket, slice and key with arrays, and then as lists."""
    if not table.num_rows:
        return
    query, rows = task.once(sliced_query_of), rows_to_lift(task, table)
    groups = group_rows(task.grids[0], rows)
    order = pa.array(stable_order(groups.codes, groups.size))
    columns = [python_values(column.take(order)) for column in rows.inputs]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(groups.codes, minlength=groups.size))])
    buckets, starts = np.unique(groups.buckets, return_index=True)
    for bucket, start, stop in zip(buckets, starts, [*starts[1:], groups.size], strict=True):
        low, high = int(bounds[start]), int(bounds[stop])
        grouped = GroupedRows(
            _keys(rows, groups, bucket),
            groups.keys[start:stop].tolist(),
            groups.low[start:stop].tolist(),
            (bounds[start : stop + 1] - low).tolist(),
            [column[low:high] for column in columns],
        )
        yield BucketBlob(int(bucket), lift(query, grouped))


def _keys(rows: Rows, groups: RowGroups, bucket: int) -> list[tuple[Any, ...]]:
    places = groups.keys_of(bucket)
    columns = [python_values(key.take(pa.array(places))) for key in rows.keys]
    return list(zip(*columns, strict=True)) if columns else [()] * len(places)


def sliced_query_of(task: TaskPayload) -> SlicedQuery:
    """Return a query as evaluation over slices with Python states reads it."""
    grids = [grid for grid in task.grids if isinstance(grid, SliceGrid)]
    return SlicedQuery.of(grids, task.query.bindings, len(task.input.columns.payload), task.codec, axis=task.query.axis)
