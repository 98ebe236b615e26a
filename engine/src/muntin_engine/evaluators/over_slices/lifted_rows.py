"""Rows as evaluators over slices lift them."""

from __future__ import annotations

import pyarrow as pa

from muntin_engine.evaluators.columnar.lifting import Rows
from muntin_engine.exchange.job import Job


def rows_to_lift(job: Job, table: pa.Table) -> Rows:
    """Return the projected rows of a query as arrays."""
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
