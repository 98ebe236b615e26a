"""A query in the terms of the sliced evaluator."""

from __future__ import annotations

from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.exchange.task_payload import TaskPayload


def sliced_query_of(task: TaskPayload) -> SlicedQuery:
    """Return a query as evaluation over slices with Python states reads it."""
    grids = [grid for grid in task.grids if isinstance(grid, SliceGrid)]
    return SlicedQuery.of(grids, task.query.bindings, len(task.input.columns.payload), task.codec, axis=task.query.axis)
