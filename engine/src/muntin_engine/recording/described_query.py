"""The query of a recording, read again from its data: its plan, and what its workers are sent."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from muntin.errors import MuntinError
from muntin_engine.errors import RecordingError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plain_plan import Known, plan_from_data
from muntin_engine.plan.planner import with_choice
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.recording.arrow_fields import field_of
from muntin_engine.wire.task_payload import InputColumns, TaskPayload


def plan_of(data: Mapping[str, Any], known: Known, evaluator: str | None = None) -> Plan:
    """Return the plan of a query, for the evaluator that it ran in, or another one.

    Args:
        data: The query as data.
        known: Where its modules are found.
        evaluator: The other one.

    Raises:
        RecordingError: A module is not here, or the evaluator cannot run the query.
    """
    payloads = [[field_of(part.name, part.type) for part in _read_schema(one)] for one in data["inputs"]]
    names = [declaration.name for declaration in DECLARATIONS]
    if evaluator is not None and evaluator not in names:
        raise RecordingError(f"there is no evaluator {evaluator!r}\n  expected one of {', '.join(names)}")
    try:
        plan = plan_from_data(data["plan"], payloads, known)
        return with_choice(replace(plan, wanted=evaluator or data["plan"]["evaluator"]), DECLARATIONS)
    except MuntinError as error:
        raise RecordingError(str(error)) from error


def task_of(data: Mapping[str, Any], plan: Plan) -> TaskPayload:
    """Return what workers are sent of a query, given its plan as `plan_of` returns it; each has caches of its own."""
    columns = []
    id_types = data.get("ids") or [None] * len(data["inputs"])  # older versions did not record them
    for payload, has_changes, id in zip(data["inputs"], data["has_changes"], id_types, strict=True):
        id_type = None if id is None else _read_schema(id).field("id").type
        columns.append(InputColumns(tuple(_read_schema(payload).types), has_changes, id_type))
    return TaskPayload(
        plan=plan.for_workers(),
        identity=plan_identity(plan),
        keys=tuple(_read_schema(data["keys"]).types),
        columns=tuple(columns),
        results=_read_schema(data["results"]),
        evicted=None if data["evicted"] is None else _read_schema(data["evicted"]),
        worker=WorkerSettings(**data["limits"]),
        place=data["place"],
    )


def evaluators_of(data: Mapping[str, Any], known: Known) -> list[str]:
    """Return the names of the evaluators that can replay a query, the cheapest first.

    A query without state emits at once what others emit behind a watermark, so these are not asked.
    """
    keeps_state = {declaration.name: declaration.keeps_state for declaration in DECLARATIONS}
    recorded = data["plan"]["evaluator"]
    names = []
    for name, keeps in keeps_state.items():
        if keeps is keeps_state[recorded]:
            with suppress(RecordingError):
                names.append(plan_of(data, known, name).choice.evaluator)
    return names


def _read_schema(data: Mapping[str, Any]) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["arrow"])))
