"""Buckets that are filled without Spark: by map tasks and the evaluator, as in workers, with counted rows and keys."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Axis, ClipPolicy, EmitPolicy, JoinKind, Module, TimestampPolicy
from muntin.progress import ProgressPolicy, Punctuated
from muntin.schemas import Field, describe
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.evaluators.arrays.in_memory import _type_of
from muntin_engine.exchange.bucket_task import run_bucket
from muntin_engine.exchange.distribute import distribute
from muntin_engine.exchange.shuffle import SIDE, collect, shared_name
from muntin_engine.exchange.task_payload import InputColumns, TaskPayload
from muntin_engine.plan import Columns, Input, NamedColumn, Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.join_plan import JoinedColumn, JoinPlan
from muntin_engine.plan.planner import checked_plan
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.kept_stores import KEPT

SECOND: Final = 1_000_000
START: Final = 1_700_000_040 * SECOND
"""A whole minute."""

_ARROW: Final = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string()}
_PYTHON: Final[Mapping[str, type]] = {"bigint": int, "double": float, "string": str}
_TICKS: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_ADDED: Final = {"window": _TICKS, "lifetime": _TICKS, "change": pa.string(), "event_id": pa.int64()}
_FILLER: Final = "text of a row"


@dataclass(frozen=True)
class Shape:
    """A query of one bucket, and the stream that fills it.

    Attributes:
        modules: Classes of modules, each with the place of the column that it reads.
        window: The windows; None of a join, or of a stream operator.
        keys: How many keys there are; each row has one of them at random.
        rows: The rows of each micro-batch.
        batches: The micro-batches.
        seconds: The event time that all of them cover, evenly.
        payload: The types of the columns that modules read.
        key: The type of the key.
        lasting: How long events last on average, in seconds; 0 for points.
        has_ids: True if events may be revised.
        evaluator: The evaluator; None for the cheapest.
        progress: The progress policy.
        join: The kind of a join of two streams that share the rows; None of other queries.
        more: Other parts of the plan.
    """

    window: WindowSpecification | None = None
    modules: Sequence[tuple[type[Module], int]] = ()
    keys: int = 1_000
    rows: int = 1_000
    batches: int = 1
    seconds: float = 55.0
    payload: Sequence[str] = ("double",)
    key: str = "bigint"
    lasting: float = 0.0
    has_ids: bool = False
    evaluator: str | None = None
    progress: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    join: JoinKind | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plan(self) -> Plan:
        """The plan of the query."""
        given = [describe(_PYTHON[kind], f"c{place}") for place, kind in enumerate(self.payload)]
        order = self.more.get("order")
        inputs = [Input(self._columns, progress=self.progress, order=order, name=name) for name in self._names]
        parts: dict[str, Any] = {part: value for part, value in self.more.items() if part != "order"}
        if self.join is not None:
            sides = enumerate("ab" if self.join.pairs else "a")
            parts["join"] = JoinPlan(self.join, tuple(JoinedColumn(replace(given[0], name=n), s, 0) for s, n in sides))
        return checked_plan(
            Plan(
                inputs=tuple(inputs),
                axis=parts.pop("axis", Axis.TICKS),
                window=self.window or Unwindowed(),
                clip=ClipPolicy.NONE,
                timestamps=parts.pop("timestamps", TimestampPolicy.ALIGN),
                emit=parts.pop("emit", EmitPolicy.FINAL),
                modules=tuple(self._planned(number, *module, given) for number, module in enumerate(self.modules)),
                buckets=parts.pop("buckets", 1),
                wanted=self.evaluator,
                unit=parts.pop("unit", "us"),
                **parts,
            )
        )

    @property
    def task(self) -> TaskPayload:
        """The query as it travels to workers."""
        plan = self.plan
        columns = [(key.name, _ARROW[self.key]) for key in plan.keys]
        columns += [(name, _ADDED[name]) for name in plan.added]
        results = pa.schema([*columns, *((part.name, _type_of(part.type)) for part in plan.outputs)])
        payload = InputColumns(tuple(_ARROW[kind] for kind in self.payload), has_changes=self.has_ids)
        given = [payload] * len(plan.inputs)
        keys = (_ARROW[self.key],)
        return TaskPayload(plan.for_workers(), plan_identity(plan), keys, tuple(given), results)

    def stream(self) -> Iterator[pa.RecordBatch]:
        """Yield the micro-batches, as the projection of a query has them."""
        random = np.random.default_rng(20240501)
        for batch in range(self.batches):
            first, last = (int(START + self.seconds * SECOND * at / self.batches) for at in (batch, batch + 1))
            start = random.integers(first, last, self.rows)
            keys = random.integers(0, self.keys, self.rows)
            columns: dict[str, Any] = {"start": start}
            if self.lasting or self.join is not None:
                columns["end"] = start + 1 + random.integers(0, int(2 * self.lasting * SECOND), self.rows)
            if self.has_ids:
                columns["id"] = np.arange(self.rows) + batch * self.rows + 10**9
                columns["change"] = ["insert"] * self.rows
            columns["k0"] = keys * 7919 + 10**12 if self.key == "bigint" else [f"key {key:012}" for key in keys]
            side = random.integers(0, 2, self.rows)
            for place, kind in enumerate(self.payload):
                values = _values(kind, random, self.rows)
                if self.join is None:
                    columns[f"i{place}"] = values
                else:
                    masks = {shared_name(number, f"i{place}"): side != number for number in (0, 1)}
                    columns |= {name: pa.array(values, mask=mask) for name, mask in masks.items()}
            if self.join is not None:
                columns[SIDE] = pa.array(side, pa.int32())
            yield pa.record_batch({name: pa.array(values) for name, values in columns.items()})

    @property
    def _names(self) -> tuple[str, ...]:
        return ("",) if self.join is None else ("left", "right")

    @property
    def _columns(self) -> Columns:
        lasts, revised = self.lasting or self.join is not None, self.has_ids
        return Columns(
            start=NamedColumn("start", "bigint"),
            end=NamedColumn("end", "bigint") if lasts else None,
            id=NamedColumn("id", "bigint") if revised else None,
            change=NamedColumn("change", "string") if revised else None,
            keys=(NamedColumn("key", self.key),),
            payload=tuple(NamedColumn(f"c{place}", kind) for place, kind in enumerate(self.payload)),
        )

    @staticmethod
    def _planned(number: int, cls: type[Module], place: int, given: Sequence[Field]) -> Any:
        name = "" if cls.is_operator else f"m{number}"
        return plan_module(name, cls, {}, [given[place]], lambda _, __: place)


def _values(kind: str, random: np.random.Generator, rows: int) -> Any:
    if kind == "double":
        return random.normal(100, 15, rows)
    numbers = random.integers(10**6, 10**7, rows)
    return numbers if kind == "bigint" else [f"{_FILLER}{number:07}" for number in numbers]  # of 20 letters


@dataclass(frozen=True)
class Filled:
    """A bucket that was filled.

    Attributes:
        state: The bytes of its cells after each micro-batch.
        memory: The bytes that its decoded state takes in the end, as it is kept between micro-batches.
        counted: The bytes that the worker takes it for.
        metrics: The last metrics of the evaluator.
    """

    state: Sequence[int]
    memory: int
    counted: int
    metrics: Mapping[str, int]


def fill(shape: Shape) -> Filled:
    """Fill the bucket of a query, and measure it."""
    task, cells, states, metrics = shape.task, MemoryCells(), list[int](), dict[str, int]()
    _forget_all()
    gc.collect()
    tracemalloc.start()
    try:
        for batch in shape.stream():
            for blob in _run(task, cells, [batch]):
                metrics[blob.stream] = blob.rows
            states.append(sum(map(len, cells.cells.values())))
        del batch, blob
        gc.collect()
        counted, before = KEPT.held_bytes, _allocated()
        _forget_all()
        gc.collect()
        return Filled(states, before - _allocated(), counted, metrics)
    finally:
        tracemalloc.stop()


def _run(task: TaskPayload, cells: MemoryCells, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    sent = [row for some in distribute(task, batches) for row in some.to_pylist()]
    return run_bucket(task, task.buckets[0], cells, collect(sent, len(task.inputs)))


def _allocated() -> int:
    """Return the bytes that Python, NumPy and Arrow have allocated."""
    return tracemalloc.get_traced_memory()[0] + int(pa.total_allocated_bytes())


def _forget_all() -> None:
    for name in list(KEPT._stores):
        KEPT._drop(name)
