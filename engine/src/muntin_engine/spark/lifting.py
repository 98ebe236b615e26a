"""Rows to partial states, by the query's evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import ModuleFailedError
from muntin_engine.columnar.coding import stable_order
from muntin_engine.columnar.lifting import BucketBlob, Groups, Rows, group_rows, lift_rows
from muntin_engine.core.sliced.lifting import GroupedRows
from muntin_engine.core.sliced.lifting import lift as lift_groups
from muntin_engine.plan import Evaluator
from muntin_engine.spark.job import Job


def lift(job: Job, table: pa.Table) -> Iterator[BucketBlob]:
    """Yield the partial states of good rows for each bucket that has any.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    rows = _rows(job, table)
    try:
        if job.evaluator is Evaluator.COLUMNAR:
            yield from lift_rows(job.grids[0], job.forms, rows)
        elif len(rows):
            yield from _lift_states(job, rows)
    except ModuleFailedError as error:
        error.say_window(job.query.axis.spell_interval)
        raise


def _lift_states(job: Job, rows: Rows) -> Iterator[BucketBlob]:
    """Lift rows to Python states: sorted by bucket, slice and key with arrays, and then as lists."""
    groups = group_rows(job.grids[0], rows)
    order = pa.array(stable_order(groups.codes, groups.size))
    columns = [_python_values(column.take(order)) for column in rows.inputs]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(groups.codes, minlength=groups.size))])
    buckets, starts = np.unique(groups.buckets, return_index=True)
    for bucket, start, stop in zip(buckets, starts, [*starts[1:], groups.size], strict=True):
        low, high = int(bounds[start]), int(bounds[stop])
        grouped = GroupedRows(
            _keys(rows, groups, bucket),
            groups.keys[start:stop].tolist(),
            groups.slices[start:stop].tolist(),
            (bounds[start : stop + 1] - low).tolist(),
            [column[low:high] for column in columns],
        )
        yield BucketBlob(int(bucket), lift_groups(job.sliced_query, grouped))


def _keys(rows: Rows, groups: Groups, bucket: int) -> list[tuple[Any, ...]]:
    places = groups.keys_of(bucket)
    columns = [key.take(pa.array(places)).to_pylist() for key in rows.keys]
    return list(zip(*columns, strict=True)) if columns else [()] * len(places)


def _python_values(column: pa.Array) -> list[Any]:
    """Return a column as Python values; numbers without nulls by way of NumPy, which is much faster."""
    is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values: list[Any] = column.to_numpy().tolist() if is_plain and not column.null_count else column.to_pylist()
    return values


def _rows(job: Job, table: pa.Table) -> Rows:
    whole = table.combine_chunks()
    columns = {name: _array(whole, name) for name in (*job.key_names, *job.input_names)}
    return Rows(
        _array(whole, "bucket").to_numpy(),
        _array(whole, "start").to_numpy(),
        None if job.is_point else _array(whole, "end").to_numpy(),
        [columns[name] for name in job.key_names],
        [columns[name] for name in job.input_names],
    )


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
