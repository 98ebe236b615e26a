"""Task payloads and projected rows, for tests without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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


def task_of(  # noqa: PLR0913  # each is a part that some test changes
    module: Module | None = None,
    payload: Sequence[Field] = (X,),
    *,
    keys: Sequence[pa.DataType] = (pa.string(),),
    inputs: Sequence[pa.DataType] | None = None,
    has_changes: bool = False,
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
    """Return the task of a query with one module and one input, over integer ticks; by default the plainest one.

    Args:
        module: Module; one with a columnar form is its own form.
        payload: Columns that the module reads.
        keys: Arrow types of the keys.
        inputs: Arrow types in which the columns of the payload travel; None for integers.
        has_changes: True if a column names the change of each row.
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
        task_parts: Other parts of the task that differ from the defaults.
    """
    module = module or Members()
    columns = _columns(payload, names, key_count=len(keys), is_point=is_point, has_ids=has_ids, is_filtered=is_filtered)
    default_plan = Plan(
        inputs=(Input(columns, progress=policy or Punctuated(), sources=tuple(sources), late=late or Lateness()),),
        axis=Axis.TICKS,
        window=tumbling(10),
        clip=ClipPolicy.NONE,
        timestamps=TimestampPolicy.ALIGN,
        emit=EmitPolicy.FINAL,
        modules=(_module_plan(module, payload, result),),
        buckets=buckets,
    )
    if inputs is None:
        inputs = [pa.int64()] * len(payload)
        if is_filtered and has_ids:  # the input keeps events that are left out: a column marks all others
            inputs.append(pa.bool_())
    default_task = TaskPayload(
        plan=_with_evaluator(replace(default_plan, **(plan or {})), evaluator),
        identity={},
        keys=tuple(keys),
        columns=(InputColumns(tuple(inputs), has_changes),),
        results=pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.list_(pa.int64()))]),
    )
    return replace(default_task, **task_parts)


def _columns(
    payload: Sequence[Field],
    names: Mapping[str, str] | None,
    *,
    key_count: int,
    is_point: bool,
    has_ids: bool,
    is_filtered: bool,
) -> Columns:
    """Return the columns of the input, under their names in the query.

    Names that are given stand in place of all defaults, except that of the end of an event, and that of its id.
    """
    if names is None:
        payload_names = {f"i{place}": field.name for place, field in enumerate(payload)}
        names = {"k0": "key", "start": "since", **payload_names}
    optional_names = {} if is_point else {"end": "until"}
    if has_ids:
        optional_names["id"] = "id"
    query_names = optional_names | dict(names)

    roles: dict[str, Any] = {}
    for role in ("start", "end", "id", "change", "new_end", "signal", "source"):
        if role in query_names:
            roles[role] = NamedColumn(query_names[role], "bigint")
    return Columns(
        **roles,
        keys=(NamedColumn(query_names["k0"], "string"),) * key_count,
        payload=tuple(NamedColumn(query_names[f"i{place}"], "bigint") for place in range(len(payload))),
        conditions=(NamedColumn("kept", "boolean"),) if is_filtered else (),
    )


def _module_plan(module: Module, payload: Sequence[Field], result: Field | None) -> ModulePlan:
    """Return a module bound to all columns of the payload; its result column is `m`, unless it returns rows."""
    bound = bind_inputs(type(module), payload)
    places = tuple(range(len(payload)))
    return ModulePlan(
        output="" if module.is_operator else "m",
        module=module,
        parameters={},
        columns=places,
        reads=bound.reads,
        select=bound.selector(places),
        result=result or bound.result,
        form=module if isinstance(module, ColumnarAggregate) else None,
        bound_reads=tuple(payload),
    )


def _with_evaluator(plan: Plan, evaluator: str) -> Plan:
    """Return the plan as the planner completes it when only one evaluator is declared, which must admit the query."""
    (declaration,) = [declaration for declaration in DECLARATIONS if declaration.name == evaluator]
    choice = choose(plan, declaration)
    assert isinstance(choice, Choice), choice
    return replace(plan, choice=choice)


def rows(**columns: Any) -> pa.RecordBatch:
    """Return projected rows, as many as there are starts.

    Args:
        columns: Values by the names of columns, as lists or as Arrow arrays. By default the key `k0` of all rows is
            "a", and the payload `i0` is 7.
    """
    row_count = len(columns["start"])
    default_columns = {"k0": ["a"] * row_count, "i0": [7] * row_count}
    arrays: dict[str, pa.Array] = {}
    for name, values in (default_columns | columns).items():
        if isinstance(values, pa.Array):
            arrays[name] = values
        else:
            arrays[name] = pa.array(values, pa.string() if name in ("change", "signal", "k0") else pa.int64())
    return pa.record_batch(arrays)


def map_output_rows(task: TaskPayload, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Run a map task over batches of projected rows, and return the rows that it sends to buckets."""
    output: list[dict[str, Any]] = []
    for batch in Distributor(pack_task(task))(batches):
        output += batch.to_pylist()
    return output


def bucket_input(task: TaskPayload, *batches: pa.RecordBatch) -> BucketArrivals:
    """Run a map task over batches of projected rows, and return all that it sends, as the arrivals of one bucket."""
    return collect(map_output_rows(task, *batches))


def refusal_reasons(refused: Iterable[Any]) -> list[str]:
    """Return why rows were refused."""
    return [row.reason for row in refused]
