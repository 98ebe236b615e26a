"""A query on arrays, as its buckets see it: where its stretches lie, and what these hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from muntin import EARLIEST, INFINITY, OutputContract, TimestampPolicy
from muntin_engine.core.slice_grid import Grid
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery
from muntin_engine.evaluators.arrays.entries import Entries, FormEntries
from muntin_engine.evaluators.arrays.grid_store import grid_query
from muntin_engine.evaluators.arrays.row_entries import RowEntries
from muntin_engine.evaluators.arrays.session_store import session_query
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan.plan import Plan


def array_query(plan: Plan, grids: Sequence[Grid], make_entries: Callable[[], Entries]) -> ArrayQuery:
    """Return a query of final results, whose windows lie on grids, are sessions, or are cut by events.

    Args:
        plan: The query.
        grids: Its slices, or ranges of windows; none of sessions and snapshots.
        make_entries: Makes what reads and writes its partial states, for an empty store.
    """
    at_end = plan.timestamps is TimestampPolicy.POINT_AT_END
    if plan.gap is None:
        query = grid_query(grids, make_entries, at_end=at_end)
    else:
        query = session_query(make_entries, at_end=at_end, is_cut=plan.is_cut_at_edges)
    if plan.contract is OutputContract.UNRESTRICTED:  # a later result may lie anywhere, until all are there
        query = query._replace(
            output_watermark=lambda found: INFINITY if found.now.least.watermark == INFINITY else EARLIEST
        )
    return query


def state_modules_of(task: TaskPayload) -> StateModules:
    """Return the modules of a query, which keep Python states."""
    return StateModules(task.query.bindings, task.codec, task.query.axis)


def form_entries(task: TaskPayload) -> FormEntries:
    """Return what reads and writes components of forms."""
    return FormEntries(task.forms)


def state_entries(task: TaskPayload) -> StateEntries:
    """Return what reads and writes Python states."""
    return StateEntries(task.once(state_modules_of), task.grids)


def row_entries(task: TaskPayload) -> RowEntries:
    """Return what reads and writes rows."""
    return RowEntries(task.query)
