"""One bucket of a query, filled in this process: by map tasks and the evaluator, as in workers, without Spark."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import SECOND
from benchmarks.questions.question import ANSWERS, Floats, Ints
from muntin import Axis, ClipPolicy, EmitPolicy, JoinKind, Module, TimestampPolicy
from muntin.progress import ProgressPolicy, Punctuated
from muntin.schemas import Field, describe
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan import Columns, Input, ModulePlan, NamedColumn, Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan
from muntin_engine.plan.planner import checked_plan
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.output_blobs import RESULTS, OutputBlob
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import SIDE, collect, shared_name
from muntin_engine.wire.task_payload import InputColumns, TaskPayload

Column: TypeAlias = "Sequence[Any] | Ints | Floats"
"""The values of a column, in any form of which Arrow makes an array."""

START: Final = 1_699_999_200 * SECOND
"""The time of the first row, a whole hour."""

_ARROW: Final[Mapping[str, pa.DataType]] = {"bigint": pa.int64(), "string": pa.string()}
_TICKS: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_ENGINE_COLUMNS: Final[Mapping[str, pa.DataType]] = {
    "window": _TICKS,
    "lifetime": _TICKS,
    "change": pa.string(),
    "event_id": pa.int64(),
}
_VALUE: Final = describe(float, "value")
_RESULT: Final = "result"


@dataclass(frozen=True)
class BucketQuery:
    """A query of rows with a key and a number, in one or several buckets.

    Attributes:
        window: Windows; None for a join, a stream operator, or events that are the results.
        module: Module that reads the number; None for a join, or for events that are the results.
        evaluator: Name of the evaluator; None for the cheapest.
        key: Type of the key, `bigint` or `string`.
        lasting: Seconds that events last, unless their ends are given; 0 for points.
        has_ids: True if events may be revised.
        in_order: True if the number orders rows of one time.
        join: Kind of a join of two streams; None for other queries.
        passes_events: True if the events themselves are the results.
        progress: Policy that advances the watermark; by default it never does, so that the state keeps all rows.
        emit: Time at which results are emitted.
        buckets: Number of buckets.
        is_timed: True if it measures the time of modules.
    """

    window: WindowSpecification | None = None
    module: type[Module] | None = None
    evaluator: str | None = None
    key: str = "bigint"
    lasting: int = 0
    has_ids: bool = False
    in_order: bool = False
    join: JoinKind | None = None
    passes_events: bool = False
    progress: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    emit: EmitPolicy = EmitPolicy.FINAL
    buckets: int = 1
    is_timed: bool = False

    @property
    def plan(self) -> Plan:
        """The plan of the query."""
        names = ("",) if self.join is None else ("left", "right")
        order = 0 if self.in_order else None
        inputs = [Input(self._columns, progress=self.progress, order=order, name=name) for name in names]
        return checked_plan(
            Plan(
                inputs=tuple(inputs),
                axis=Axis.TICKS,
                window=self.window or Unwindowed(),
                clip=ClipPolicy.NONE,
                timestamps=TimestampPolicy.ALIGN,
                emit=self.emit,
                modules=self._modules,
                join=self._joined,
                buckets=self.buckets,
                requested_evaluator=self.evaluator,
                unit="us",
            ),
            DECLARATIONS,
        )

    @property
    def task(self) -> TaskPayload:
        """The query as it travels to workers."""
        plan = self.plan
        fields = [("key", _ARROW[self.key])]
        fields += [(name, _ENGINE_COLUMNS[name]) for name in plan.engine_columns]
        fields += [(part.name, pa.float64()) for part in plan.outputs]
        columns = InputColumns((pa.float64(),), has_changes=self.has_ids)
        keys = (_ARROW[self.key],)
        return TaskPayload(
            plan=plan.for_workers(),
            identity=plan_identity(plan),
            keys=keys,
            columns=(columns,) * len(plan.inputs),
            results=pa.schema(fields),
            is_timed=self.is_timed,
        )

    def rows(self, keys: Column, starts: Column, values: Column, ends: Column | None = None) -> pa.RecordBatch:
        """Return rows as the projection of the query has them; those of a join are all of its first stream."""
        start = pa.array(starts, pa.int64())
        value = pa.array(values, pa.float64())
        columns: dict[str, Any] = {"start": start, "k0": pa.array(keys, _ARROW[self.key])}
        if self._columns.end is not None:
            columns["end"] = pc.add(start, self.lasting * SECOND) if ends is None else pa.array(ends, pa.int64())
        if self.has_ids:
            columns["id"] = pa.array(range(10**9, 10**9 + len(start)), pa.int64())
            columns["change"] = pa.array(["insert"] * len(start))
            columns["new_end"] = pa.nulls(len(start), pa.int64())
        if self.join is None:
            columns["i0"] = value
        else:
            columns[shared_name(0, "i0")] = value
            columns[shared_name(1, "i0")] = pa.nulls(len(start), pa.float64())
            columns[SIDE] = pa.array([0] * len(start), pa.int32())
        return pa.record_batch(columns)

    def revised_rows(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return two rows for each row: one that inserts it without an end, and one that revises it to its end."""
        twice = np.repeat(np.arange(len(rows)), 2)
        is_revision = np.tile([False, True], len(rows))
        columns = {name: rows.column(name).take(pa.array(twice)) for name in rows.schema.names}
        final_end = columns["end"]
        no_end = pa.nulls(len(twice), pa.int64())
        columns["end"] = no_end
        columns["new_end"] = pc.if_else(pa.array(is_revision), final_end, no_end)
        columns["change"] = pc.if_else(pa.array(is_revision), "revise", "insert")
        return pa.record_batch(columns)

    @property
    def _columns(self) -> Columns:
        """The columns of an input: events have ends if they last, and ids with their changes if they may be revised."""
        lasts = self.lasting > 0 or self.join is not None
        return Columns(
            start=NamedColumn("start", "bigint"),
            end=NamedColumn("end", "bigint") if lasts else None,
            id=NamedColumn("id", "bigint") if self.has_ids else None,
            change=NamedColumn("change", "string") if self.has_ids else None,
            new_end=NamedColumn("new_end", "bigint") if self.has_ids else None,
            keys=(NamedColumn("key", self.key),),
            payload=(NamedColumn(_VALUE.name, "double"),),
        )

    @property
    def _modules(self) -> tuple[ModulePlan, ...]:
        """The plan of the module that reads the number, or none."""
        if self.module is None:
            return ()
        output = "" if self.module.is_operator else _RESULT
        return (plan_module(output, self.module, {}, [_VALUE], _place_of_value),)

    @property
    def _joined(self) -> JoinPlan | None:
        """The plan of the join; None if there is none.

        Events that are the results themselves are an anti join of their stream with nothing.
        """
        if self.passes_events:
            return JoinPlan(JoinKind.ANTI, (JoinedColumn(_VALUE, 0, 0),))
        if self.join is None:
            return None
        names = ("left_value", "right_value") if self.join.pairs else ("left_value",)
        columns = tuple(JoinedColumn(describe(float, name), side, 0) for side, name in enumerate(names))
        return JoinPlan(self.join, columns)


class Bucket:
    """The first bucket of a query, as the state store and a worker hold it.

    Attributes:
        task: Query as it travels to workers.
        cells: Content of the state store.
    """

    def __init__(self, query: BucketQuery) -> None:
        self.task = query.task
        self.cells = MemoryCells()

    @property
    def state_bytes(self) -> int:
        """The bytes in the state store."""
        return sum(map(len, self.cells.cells.values()))

    def send(self, rows: pa.RecordBatch) -> list[dict[str, Any]]:
        """Run a map task over rows, and return its output rows."""
        map_output: list[dict[str, Any]] = []
        for batch in distribute(self.task, [rows]):
            map_output += batch.to_pylist()
        return map_output

    def process(self, map_output: Iterable[Mapping[str, Any]]) -> list[OutputBlob]:
        """Evaluate a micro-batch of output rows of map tasks, write the state and return the output."""
        inputs = collect(map_output, len(self.task.inputs))
        return list(run_bucket(self.task, self.task.buckets[0], self.cells, inputs))


def answers_of(blobs: Iterable[OutputBlob]) -> pa.Table:
    """Return the results in the output of a bucket: `key`, `start`, `value`, and `change` if they may be retracted."""
    tables = []
    for blob in blobs:
        if blob.stream == RESULTS and blob.data is not None:
            results = from_blob(blob.data)
            columns = {
                "key": results["key"],
                "start": pc.struct_field(results["window"], "start").cast(pa.timestamp("us", "UTC")),
                "value": results[_RESULT],
            }
            if "change" in results.column_names:
                columns["change"] = results["change"]
            tables.append(pa.table(columns))
    return pa.concat_tables(tables) if tables else ANSWERS.empty_table()


@dataclass(frozen=True)
class FilledBucket:
    """The size of a filled bucket, in bytes.

    Attributes:
        state: Size in the state store.
        memory: Size of the decoded state, as a worker keeps it between micro-batches.
        counted: Estimate of that size by the worker, which keeps as much as the session allows.
    """

    state: int
    memory: int
    counted: int


def fill_bucket(query: BucketQuery, batches: Iterable[pa.RecordBatch]) -> FilledBucket:
    """Evaluate micro-batches in a bucket of a query, and return its size in the end."""
    bucket = Bucket(query)
    forget_decoded_state()
    gc.collect()
    tracemalloc.start()
    try:
        for rows in batches:
            bucket.process(bucket.send(rows))
        gc.collect()
        counted = STORE_CACHE.held_bytes
        with_decoded_state = _allocated_bytes()
        forget_decoded_state()
        gc.collect()
        return FilledBucket(bucket.state_bytes, with_decoded_state - _allocated_bytes(), counted)
    finally:
        tracemalloc.stop()


def forget_decoded_state() -> None:
    """Drop the state that this process keeps between micro-batches: the next one reads it from the state store."""
    for name in list(STORE_CACHE._stores):
        STORE_CACHE._drop(name)


def _allocated_bytes() -> int:
    """Return the bytes that Python, NumPy and Arrow have allocated."""
    return tracemalloc.get_traced_memory()[0] + int(pa.total_allocated_bytes())


def _place_of_value(number: int, field: Field) -> int:
    """Return the place of the only column that modules read."""
    del number, field
    return 0
