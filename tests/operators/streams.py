"""Random streams through the evaluator of stream operators, and what the reference says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Axis, ClipPolicy, EmitPolicy, Event, StreamOperator, TimestampPolicy
from muntin.schemas import describe
from muntin.testing import WindowedQuery, evaluate
from muntin.windows.specification import Unwindowed
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, OutputKind, Progress
from muntin_engine.evaluators.ordered.stream_operator import StreamBucket
from muntin_engine.plan import Columns, Input, NamedColumn, Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.planner import checked_plan
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec


class Row(NamedTuple):
    """A row of the input: an event, or the retraction of one."""

    key: str
    id: int
    time: int
    value: int
    is_retracted: bool = False


class Step(NamedTuple):
    """A micro-batch: rows, and the watermark after it."""

    rows: Sequence[Row]
    watermark: int


class Result(NamedTuple):
    """A row of the output."""

    key: str
    start: int
    end: int
    value: Any


@dataclass
class Run:
    """What came of a stream.

    Attributes:
        output: The output in the order of keys and, for each key, of its calls.
        late: The ids of the rows that were rejected.
        held: The number of keys that are kept, after each step.
        watermarks: The output watermark after each step.
    """

    output: list[Result] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    watermarks: list[int] = field(default_factory=list)


def plan_of(module: StreamOperator[Any, Any, Any], *, is_filtered: bool = False, **changed: Any) -> Plan:
    """Return the plan of an operator that reads the values; the order of events of one time is their id."""
    columns = Columns(
        NamedColumn("at", "bigint"),
        keys=(NamedColumn("key", "string"),),
        payload=(NamedColumn("value", "bigint"), NamedColumn("id", "bigint")),
        conditions=(NamedColumn("value > 0", "boolean"),) if is_filtered else (),
        id=NamedColumn("id", "bigint"),
    )
    bound = plan_module("", type(module), {}, [describe(int, "value")], lambda place, _: place)
    given = replace(Input(columns, order=1), **changed.pop("input", {}))
    settings: dict[str, Any] = {
        "axis": Axis.TICKS,
        "window": Unwindowed(),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "buckets": 1,
    }
    return checked_plan(Plan(inputs=(given,), modules=(replace(bound, module=module),), **(settings | changed)))


def drive(plan: Plan, steps: Sequence[Step], *, restarts: bool = False, cells: MemoryCells | None = None) -> Run:
    """Run micro-batches; with restarts, each in a process of its own; with cells, from the state that is in them."""
    codec = Codec.of([module.module for module in plan.modules])
    is_new, waiting = cells is None, 0
    cells, run, horizon = MemoryCells() if cells is None else cells, Run(), EARLIEST
    query = plan.evaluator_query([Meter() for _ in plan.modules])
    bucket = StreamBucket(query, cells, codec, plan_identity(plan))
    for rows, watermark in steps:
        if restarts:
            bucket = StreamBucket(query, cells, codec, plan_identity(plan))
        horizon = max([horizon, *(row.time + 1 for row in rows), *([watermark] if watermark < INFINITY else [])])
        newest = max([EARLIEST, *(row.time for row in rows)])
        changes = [((row.key,), [_change(row)]) for row in rows]
        result = bucket.process(changes, Progress(watermark, horizon, newest))
        for (key,), some in result.output:
            assert all(change.kind is OutputKind.INSERT for change in some)
            run.output += [Result(key, change.start, change.end, change.value) for change in some]
        run.late += [rejection.change.id for _, rejection in result.rejections]  # type: ignore[misc]
        run.held.append(result.held.keys)
        run.watermarks.append(result.watermark)
        waiting += sum(row.value > 0 or row.is_retracted or query.keeps is None for row in rows)
        waiting -= result.accepted + len(result.rejections)
        assert waiting >= 0
    assert waiting == 0 or not is_new or steps[-1].watermark < INFINITY
    run.output.sort(key=lambda row: row.key)
    return run


def _change(row: Row) -> InputChange:
    end, new_end = row.time + 1, row.time if row.is_retracted else None
    return InputChange(row.id, row.time, end, (row.value, row.id, row.value > 0), new_end)


def meant(module: StreamOperator[Any, Any, Any], steps: Sequence[Step], *, is_filtered: bool = False) -> list[Result]:
    """Return what the reference gives: key by key, of all events that are not retracted."""
    rows = [row for step in steps for row in step.rows]
    said = [step.watermark for step in steps if EARLIEST < step.watermark < INFINITY]
    horizon = max([*(row.time + 1 for row in rows), *said], default=0)
    gone = {row.id for row in rows if row.is_retracted}
    found: list[Result] = []
    for key in sorted({row.key for row in rows}):
        own = sorted((row for row in rows if row.key == key and row.id not in gone), key=lambda row: (row.time, row.id))
        events = [Event.point(row.time, row.value) for row in own if row.value > 0 or not is_filtered]
        for row in evaluate(WindowedQuery.unwindowed(module), events, steps[-1].watermark, horizon):
            found.append(Result(key, row.start, row.end, row.value))
    return found


def disordered(random: Random, *, events: int, keys: Sequence[str] = ("a", "b", "c")) -> list[Step]:
    """Return random events in any order, with watermarks that none of them is late by, cut anywhere."""
    time, rows = 0, list[tuple[float, Row]]()
    for id in range(events):
        time += random.choice((0, 0, 1, 2, 7))
        row = Row(random.choice(keys), id, time, random.randint(-9, 9))
        rows.append((time + random.uniform(0, 9), row))
        if random.random() < 0.2:
            rows.append((time + random.uniform(0, 9), row._replace(is_retracted=True)))
    rows.sort(key=lambda placed: placed[0])
    left, steps, some = [row for _, row in rows], list[Step](), list[Row]()
    while left:
        some.append(left.pop(0))
        if random.random() < 0.4:
            least = min((row.time for row in left), default=time + 20)
            steps.append(Step(some, least - random.choice((0, 0, 1, 5))))
            some = []
    return [*steps, Step(some, random.choice((INFINITY, INFINITY, time + 30)))]
