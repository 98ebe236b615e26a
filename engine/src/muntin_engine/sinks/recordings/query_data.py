"""The query of a recording as plain data: its plan, and the Arrow types in which its columns travel."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from muntin_engine.plan import Plan
from muntin_engine.plan.plain_plan import plan_to_data
from muntin_engine.wire.task_payload import TaskPayload


def query_to_data(plan: Plan, task: TaskPayload) -> dict[str, Any]:
    """Return a query as data that JSON can hold.

    Args:
        plan: Its plan, as the driver has it.
        task: What is sent to its workers.
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
        "limits": {"most_wake_ups": task.worker.most_wake_ups, "most_patterns": task.worker.most_patterns},
    }


def _numbered(letter: str, types: Sequence[pa.DataType]) -> pa.Schema:
    """Return a schema of columns that have a letter and their place for a name."""
    return pa.schema([(f"{letter}{place}", data_type) for place, data_type in enumerate(types)])


def _schema_to_data(schema: pa.Schema) -> dict[str, Any]:
    """Return a schema in words, and as the bytes that Arrow reads."""
    plain = schema.remove_metadata()
    packed = base64.b64encode(plain.serialize().to_pybytes()).decode("ascii")
    return {"columns": {part.name: str(part.type) for part in plain}, "arrow": packed}
