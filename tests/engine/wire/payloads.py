"""Task payloads and projected rows, for tests without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from muntin import Axis, ClipPolicy, ColumnarAggregate, EmitPolicy, Lateness, Module, TimestampPolicy, tumbling
from muntin.progress import ProgressPolicy, Punctuated
from muntin.schemas import Field, describe
from muntin_engine.backends.spark.delivery.packed_task import pack_task
from muntin_engine.backends.spark.operators.arrow_functions import Distributor
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Choice, Columns, Input, ModulePlan, NamedColumn, Plan
from muntin_engine.plan.input_binding import bind_inputs
from muntin_engine.plan.planner import choose
from muntin_engine.wire.bucket_ids import bucket_ids
from muntin_engine.wire.shuffle import BucketArrivals, collect
from muntin_engine.wire.task_payload import InputColumns, TaskPayload
from tests.modules.members import Members

TICKS = pa.struct([("start", pa.int64()), ("end", pa.int64())])
IDS = bucket_ids(4)
UTC = pa.timestamp("us", tz="UTC")
X = describe(int, "x")

_ROLES: Final = ("end", "id", "change", "new_end", "signal", "source")


def task_of(  # noqa: PLR0913  # each is a part that some test changes
    module: Module | None = None,
    payload: Sequence[Field] = (X,),
    *,
    names: Mapping[str, str] | None = None,
    evaluator: str = "general",
    is_point: bool = False,
    has_ids: bool = False,
    result: Field | None = None,
    policy: ProgressPolicy | None = None,
    sources: Sequence[str] = (),
    late: Lateness | None = None,
    buckets: int = 4,
    is_filtered: bool = False,
    plan: Mapping[str, Any] | None = None,
    **task_parts: Any,
) -> TaskPayload:
    """Return a task over integer ticks with one key, by default the plainest one.

    Args:
        module: Module; one with a columnar form is its own form.
        payload: Columns that the module reads.
        names: Names of columns in the query, by their names in the projection.
        evaluator: Name of the evaluator.
        is_point: True if events last one tick.
        has_ids: True if events may be revised.
        result: Declaration of its results, if its class has another one.
        policy: Progress policy of the input.
        sources: Sources that are waited for.
        late: Policy for late rows.
        buckets: Number of buckets.
        is_filtered: True if insertions are tested.
        plan: Parts of the plan that differ from the defaults.
        task_parts: Parts of the task that differ from the defaults.
    """
    module = module or Members()
    bound = bind_inputs(type(module), payload)
    places = tuple(range(len(payload)))
    form = module if isinstance(module, ColumnarAggregate) else None
    query_names = {"k0": "key", "start": "since"}
    for place, field in enumerate(payload):
        query_names[f"i{place}"] = field.name
    if names is not None:
        query_names = dict(names)
    if not is_point:
        query_names.setdefault("end", "until")
    if has_ids:
        query_names.setdefault("id", "id")

    roles: dict[str, Any] = {}
    for role in ("start", *_ROLES):
        if role in query_names:
            roles[role] = NamedColumn(query_names[role], "bigint")
    payload_columns = tuple(NamedColumn(query_names[f"i{place}"], "bigint") for place in places)
    conditions = (NamedColumn("kept", "boolean"),) if is_filtered else ()

    keys = task_parts.pop("keys", (pa.string(),))
    modules = (
        ModulePlan(
            "" if module.is_operator else "m",
            module,
            {},
            places,
            bound.reads,
            bound.selector(places),
            result or bound.result,
            form,
            tuple(payload),
        ),
    )
    key_columns = (NamedColumn(query_names["k0"], "string"),) * len(keys)
    columns = Columns(**roles, keys=key_columns, payload=payload_columns, conditions=conditions)
    parts: dict[str, Any] = {
        "inputs": (Input(columns, progress=policy or Punctuated(), sources=tuple(sources), late=late or Lateness()),),
        "axis": Axis.TICKS,
        "window": tumbling(10),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": modules,
        "buckets": buckets,
    }

    types = [pa.int64()] * len(payload)
    if is_filtered and has_ids:
        types.append(pa.bool_())
    settings: dict[str, Any] = {
        "identity": {},
        "columns": (InputColumns(task_parts.pop("inputs", tuple(types)), task_parts.pop("has_changes", False)),),
        "results": pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.int64()))]),
    }

    unchosen = Plan(**(parts | dict(plan or {})))
    (declaration,) = [declaration for declaration in DECLARATIONS if declaration.name == evaluator]
    choice = choose(unchosen, declaration)
    assert isinstance(choice, Choice), choice
    return TaskPayload(plan=replace(unchosen, choice=choice), keys=keys, **(settings | task_parts))


def rows(**columns: Any) -> pa.RecordBatch:
    """Return projected rows, as many as there are starts; by default all have one key and one payload."""
    count = len(columns["start"])
    arrays: dict[str, pa.Array] = {}
    for name, values in ({"k0": ["a"] * count, "i0": [7] * count} | columns).items():
        arrays[name] = values if isinstance(values, pa.Array) else pa.array(values, _type(name))
    return pa.record_batch(arrays)


def _type(name: str) -> pa.DataType:
    return pa.string() if name in ("change", "signal", "k0") else pa.int64()


def map_output_rows(task: TaskPayload, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows that a map task sends."""
    output: list[dict[str, Any]] = []
    for batch in Distributor(pack_task(task))(batches):
        output += batch.to_pylist()
    return output


def bucket_input(task: TaskPayload, *batches: pa.RecordBatch) -> BucketArrivals:
    """Return the input of a bucket, where there is only one."""
    return collect(map_output_rows(task, *batches))


def refusal_reasons(refused: Iterable[Any]) -> list[str]:
    """Return why rows were refused."""
    return [row.reason for row in refused]
