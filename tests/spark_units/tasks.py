"""Jobs and rows without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from muntin import Module, tumbling
from muntin.schemas import Field, describe
from muntin_engine.core.nulls import forbids_null
from muntin_engine.core.query import Binding, WindowedQuery
from muntin_engine.exchange.task_payload import Read, TaskPayload
from muntin_engine.plan.input_binding import bind_inputs
from muntin_engine.spark.bucket_task import Arrived
from muntin_engine.spark.distribute import Distributor
from muntin_engine.spark.packed_task import pack_task
from muntin_engine.spark.stateful import collect
from tests.spark.modules import Members

TICKS = pa.struct([("start", pa.int64()), ("end", pa.int64())])
UTC = pa.timestamp("us", tz="UTC")
X = describe(int, "x")


def task_of(
    module: Module | None = None, given: Sequence[Field] = (X,), query: dict[str, Any] | None = None, **changed: Any
) -> TaskPayload:
    """Return a task over integer ticks with one key; what is not given is the plainest."""
    module = module or Members()
    bound = bind_inputs(type(module), given)
    reads = [Read(place, field, module.name) for place, field in enumerate(bound.reads) if forbids_null(field)]
    windowed: dict[str, Any] = {
        "window": tumbling(10),
        "bindings": (Binding(module, bound.selector(range(len(given)))),),
        "has_ids": False,
    }
    settings: dict[str, Any] = {
        "identity": {},
        "keys": (pa.string(),),
        "inputs": tuple(pa.int64() for _ in given),
        "reads": tuple(reads),
        "names": {"k0": "key", "start": "since", **{f"i{place}": field.name for place, field in enumerate(given)}},
        "has_changes": False,
        "is_point": False,
        "is_static": False,
        "reach": 0,
        "buckets": (12, 6, 2, 0),
        "results": pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.int64()))]),
        "outputs": (Field("m", bound.result.type, is_nullable=True),),
        "evaluator": "general",
    }
    return TaskPayload(query=WindowedQuery(**(windowed | (query or {}))), **(settings | changed))


def rows(**columns: Any) -> pa.RecordBatch:
    """Return projected rows of one bucket and key, unless said otherwise; `start` says how many."""
    count = len(columns["start"])
    given = {"bucket": pa.array([0] * count, pa.int32()), "k0": ["a"] * count, "i0": [7] * count} | columns
    arrays = {
        name: values if isinstance(values, pa.Array) else pa.array(values, _type(name))
        for name, values in given.items()
    }
    return pa.record_batch(arrays)


def _type(name: str) -> pa.DataType:
    of = {"change": pa.string(), "signal": pa.string(), "k0": pa.string(), "bucket": pa.int32()}
    return of.get(name, pa.int64())


def sent(task: TaskPayload, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return what a task of the map side sends."""
    return [row for batch in Distributor(pack_task(task))(batches) for row in batch.to_pylist()]


def arrived(task: TaskPayload, *batches: pa.RecordBatch) -> Arrived:
    """Return what reaches a bucket, where there is only one."""
    return collect(sent(task, *batches))


def reasons(refused: Iterable[Any]) -> list[str]:
    return [row.reason for row in refused]
