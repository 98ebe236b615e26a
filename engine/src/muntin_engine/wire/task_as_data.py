"""A planned query as plain data, for recordings, and back: its plan, and the Arrow types in which columns travel."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from muntin_engine.plan import Plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.plan_as_data import plan_to_data
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.wire.task_payload import InputColumns, TaskPayload


def task_to_data(plan: Plan, task: TaskPayload) -> dict[str, Any]:
    """Return a query as data that JSON can hold.

    Args:
        plan: The plan of the query, as the driver has it.
        task: The payload of the query, as its workers get it.
    """
    inputs: list[dict[str, Any]] = []
    ids: list[dict[str, Any] | None] = []
    for columns in task.columns:
        inputs.append(_schema_to_data(_numbered("i", columns.payload)))
        ids.append(None if columns.id is None else _schema_to_data(pa.schema([("id", columns.id)])))
    return {
        "muntin": version("muntin-engine"),
        "plan": plan_to_data(plan),
        "keys": _schema_to_data(_numbered("k", task.keys)),
        "inputs": inputs,
        "has_changes": [columns.has_changes for columns in task.columns],
        "ids": ids,
        "results": _schema_to_data(task.results),
        "evicted": None if task.evicted is None else _schema_to_data(task.evicted),
        "place": task.place,
        # These settings of the workers bear on results; the others are about errors and traces.
        "limits": {"most_wake_ups": task.worker.most_wake_ups, "most_patterns": task.worker.most_patterns},
    }


def task_from_data(data: Mapping[str, Any], plan: Plan) -> TaskPayload:
    """Return the payload of a query, with caches of its own.

    Args:
        data: The query, as `task_to_data` wrote it.
        plan: The plan of the query: read by `plan_as_data`, and with an evaluator that the planner chose.
    """
    columns: list[InputColumns] = []
    for payload, has_changes, id in zip(data["inputs"], data["has_changes"], data["ids"], strict=True):
        payload_types = tuple(schema_from_data(payload).types)
        id_type = None if id is None else schema_from_data(id).field("id").type
        columns.append(InputColumns(payload=payload_types, has_changes=has_changes, id=id_type))
    return TaskPayload(
        plan=plan.for_workers(),
        identity=plan_identity(plan),
        keys=tuple(schema_from_data(data["keys"]).types),
        columns=tuple(columns),
        results=schema_from_data(data["results"]),
        evicted=None if data["evicted"] is None else schema_from_data(data["evicted"]),
        worker=WorkerSettings(**data["limits"]),
        place=data["place"],
    )


def schema_from_data(data: Mapping[str, Any]) -> pa.Schema:
    """Return an Arrow schema that `task_to_data` wrote."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(data["arrow"])))


def _schema_to_data(schema: pa.Schema) -> dict[str, Any]:
    """Return a schema as data: the type of each column in words, for readers, and the bytes that Arrow reads."""
    plain = schema.remove_metadata()
    packed = base64.b64encode(plain.serialize().to_pybytes()).decode("ascii")
    return {"columns": {part.name: str(part.type) for part in plain}, "arrow": packed}


def _numbered(letter: str, types: Sequence[pa.DataType]) -> pa.Schema:
    """Return a schema for types of columns, which are named by a letter and their place, such as `k0`."""
    return pa.schema([(f"{letter}{place}", data_type) for place, data_type in enumerate(types)])
