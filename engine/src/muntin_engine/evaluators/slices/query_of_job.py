"""A query in the terms of the sliced evaluator."""

from __future__ import annotations

from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.exchange.job import Job


def sliced_query_of(job: Job) -> SlicedQuery:
    """Return a query as evaluation over slices with Python states reads it."""
    grids = [grid for grid in job.grids if isinstance(grid, SliceGrid)]
    return SlicedQuery.of(grids, job.query.bindings, len(job.inputs), job.codec, axis=job.query.axis)
