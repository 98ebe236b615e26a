"""Rows as evaluators over slices lift them."""

from __future__ import annotations

import pyarrow as pa

from muntin_engine.evaluators.columnar.lifting import Rows
from muntin_engine.exchange.task_payload import TaskPayload


def rows_to_lift(task: TaskPayload, table: pa.Table) -> Rows:
    """Return the projected rows of a query as arrays."""
    whole = table.combine_chunks()
    columns = {name: _array(whole, name) for name in (*task.key_names, *task.input.payload_names)}
    return Rows(
        _array(whole, "bucket").to_numpy(),
        _array(whole, "start").to_numpy(),
        None if task.plan.input.is_point else _array(whole, "end").to_numpy(),
        [columns[name] for name in task.key_names],
        [columns[name] for name in task.input.payload_names],
    )


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
