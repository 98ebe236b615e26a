"""Jobs and rows without Spark."""

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


def task_of(  # noqa: PLR0913  # each is a part that some test has otherwise
    module: Module | None = None,
    given: Sequence[Field] = (X,),
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
    **changed: Any,
) -> TaskPayload:
    """Return a task over integer ticks with one key; what is not given is the plainest.

    Args:
        module: Its module; one with a columnar form is its own.
        given: The columns that the module reads.
        names: The query's own names, by those under which its columns travel.
        evaluator: The name of the evaluator.
        is_point: True if events last one tick.
        has_ids: True if events may be revised.
        result: What its results are declared as, if that is not what its class says.
        policy: What says how far the input is.
        sources: The sources that are waited for.
        late: What becomes of late rows.
        buckets: How many there are.
        is_filtered: True if insertions are tested.
        plan: Other parts of the plan.
        changed: Parts of the task.
    """
    module = module or Members()
    bound = bind_inputs(type(module), given)
    places = tuple(range(len(given)))
    form = module if isinstance(module, ColumnarAggregate) else None
    called = {"k0": "key", "start": "since", **{f"i{place}": field.name for place, field in enumerate(given)}}
    called = dict(names or called)
    called |= {} if is_point else {"end": called.get("end", "until")}
    called |= {"id": called.get("id", "id")} if has_ids else {}
    columns: dict[str, Any] = {
        name: NamedColumn(called[name], "bigint") for name in ("start", *_ROLES) if name in called
    }
    payload = tuple(NamedColumn(called[f"i{place}"], "bigint") for place in places)
    tested = (NamedColumn("kept", "boolean"),) if is_filtered else ()
    keys = changed.pop("keys", (pa.string(),))
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
            tuple(given),
        ),
    )
    named = Columns(
        **columns, keys=tuple(NamedColumn(called["k0"], "string") for _ in keys), payload=payload, conditions=tested
    )
    parts: dict[str, Any] = {
        "inputs": (Input(named, progress=policy or Punctuated(), sources=tuple(sources), late=late or Lateness()),),
        "axis": Axis.TICKS,
        "window": tumbling(10),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": modules,
        "buckets": buckets,
    }
    types = (*(pa.int64() for _ in given), *([pa.bool_()] if is_filtered and has_ids else []))
    settings: dict[str, Any] = {
        "identity": {},
        "columns": (InputColumns(changed.pop("inputs", types), changed.pop("has_changes", False)),),
        "results": pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.int64()))]),
    }
    made = Plan(**(parts | dict(plan or {})))
    (declaration,) = (declaration for declaration in DECLARATIONS if declaration.name == evaluator)
    choice = choose(made, declaration)
    assert isinstance(choice, Choice), choice
    return TaskPayload(plan=replace(made, choice=choice), keys=keys, **(settings | changed))


def rows(**columns: Any) -> pa.RecordBatch:
    """Return projected rows of one key, unless said otherwise; `start` says how many."""
    count = len(columns["start"])
    given = {"k0": ["a"] * count, "i0": [7] * count} | columns
    arrays = {
        name: values if isinstance(values, pa.Array) else pa.array(values, _type(name))
        for name, values in given.items()
    }
    return pa.record_batch(arrays)


def _type(name: str) -> pa.DataType:
    of = {"change": pa.string(), "signal": pa.string(), "k0": pa.string()}
    return of.get(name, pa.int64())


def sent(task: TaskPayload, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return what a task of the map side sends."""
    return [row for batch in Distributor(pack_task(task))(batches) for row in batch.to_pylist()]


def arrived(task: TaskPayload, *batches: pa.RecordBatch) -> BucketArrivals:
    """Return what reaches a bucket, where there is only one."""
    return collect(sent(task, *batches))


def reasons(refused: Iterable[Any]) -> list[str]:
    return [row.reason for row in refused]
