"""The query of a recording as plain data: its plan, and the Arrow types in which its columns travel."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from muntin.errors import MuntinError
from muntin_engine.errors import RecordingError
from muntin_engine.evaluators.registry import BY_NAME, EVALUATORS
from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plain_plan import Known, plan_from_data, plan_to_data
from muntin_engine.plan.planner import with_choice
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.recording.arrow_fields import field_of
from muntin_engine.wire.task_payload import InputColumns, TaskPayload


def query_to_data(plan: Plan, task: TaskPayload) -> dict[str, Any]:
    """Return a query as data that JSON can hold.

    Args:
        plan: Its plan, as the driver has it.
        task: What is sent to its workers.
    """
    inputs = [_schema(pa.schema(list(_numbered("i", one.payload)))) for one in task.columns]
    return {
        "muntin": version("muntin-engine"),
        "plan": plan_to_data(plan),
        "keys": _schema(pa.schema(list(_numbered("k", task.keys)))),
        "inputs": inputs,
        "has_changes": [one.has_changes for one in task.columns],
        "ids": [None if one.id is None else _schema(pa.schema([("id", one.id)])) for one in task.columns],
        "results": _schema(task.results),
        "evicted": None if task.evicted is None else _schema(task.evicted),
        "place": task.place,
        "limits": {"most_wake_ups": task.worker.most_wake_ups, "most_patterns": task.worker.most_patterns},
    }


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
    names = [one.name for one in EVALUATORS]
    if evaluator is not None and evaluator not in names:
        raise RecordingError(f"there is no evaluator {evaluator!r}\n  expected one of {', '.join(names)}")
    try:
        plan = plan_from_data(data["plan"], payloads, known)
        return with_choice(replace(plan, wanted=evaluator or data["plan"]["evaluator"]))
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
    found, keeps_state = [], BY_NAME[data["plan"]["evaluator"]].keeps_state
    for evaluator in EVALUATORS:
        with suppress(RecordingError):
            if evaluator.keeps_state is keeps_state:
                found.append(plan_of(data, known, evaluator.name).choice.evaluator)
    return found


def _numbered(letter: str, types: Sequence[pa.DataType]) -> list[tuple[str, pa.DataType]]:
    return [(f"{letter}{place}", of) for place, of in enumerate(types)]


def _schema(schema: pa.Schema) -> dict[str, Any]:
    """Return a schema in words, and as the bytes that Arrow reads."""
    plain = schema.remove_metadata()
    packed = base64.b64encode(plain.serialize().to_pybytes()).decode("ascii")
    return {"columns": {part.name: str(part.type) for part in plain}, "arrow": packed}


def _read_schema(data: Mapping[str, Any]) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["arrow"])))
