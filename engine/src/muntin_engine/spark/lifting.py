"""Rows to partial states, by the query's evaluator."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from muntin_engine.columnar.lifting import BucketBlob, Rows, lift_rows
from muntin_engine.spark.job import Job


def lift(job: Job, table: pa.Table) -> Iterator[BucketBlob]:
    """Yield the partial states of good rows for each bucket that has any."""
    yield from lift_rows(job.grids[0], job.forms, _rows(job, table))


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
