"""The task of a query, which travels to whatever evaluates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from muntin_engine.backends.planning.result_schemas import evicted_schema, result_schema
from muntin_engine.plan.identity import plan_identity
from muntin_engine.wire.task_payload import InputColumns, TaskPayload

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan.worker_settings import WorkerSettings


def task_of(query: PlannedQuery, worker: WorkerSettings, *, is_static: bool, place: int = 0) -> TaskPayload:
    """Return the task of a query: its plan and the types of its columns, as they travel to what evaluates it.

    Args:
        query: The query.
        worker: The limits of the processes that evaluate it.
        is_static: True if its input ends, so that all windows close after the last row.
        place: The place of the query among the queries of one pass.
    """
    plan = query.plan
    columns: list[InputColumns] = []
    for source, source_plan in zip(query.sources, plan.inputs, strict=True):
        types = source.inputs
        if source_plan.keeps_filtered:
            types = (*types, pa.bool_())  # whether an event meets the conditions travels as its last input
        columns.append(InputColumns(types, source.has_changes, source.id))
    return TaskPayload(
        plan=plan.for_workers(),
        identity=plan_identity(plan),
        keys=query.source.keys,
        columns=tuple(columns),
        results=result_schema(query),
        evicted=evicted_schema(query) if plan.evicted else None,
        is_static=is_static,
        is_timed=query.is_timed,
        worker=worker,
        place=place,
    )
