"""Row windows on the engine's evaluator, without Spark: rows in any order and any cut into micro-batches."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Axis, ClipPolicy, EmitPolicy, TimestampPolicy, Window
from muntin.rows import RowWindows
from muntin.schemas import describe
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, OutputChange, OutputKind, Progress
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan import Columns, Input, ModulePlan, NamedColumn, Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.planner import checked_plan
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.modules import Listed


class Given(NamedTuple):
    """A row of the input: its key, its time, its order, and what else it holds, by name."""

    key: str
    time: int
    order: int
    values: Mapping[str, Any] = {}


class Result(NamedTuple):
    """A row of the output, without its id, and without what says where the output of a window ends."""

    key: Hashable
    partition: Hashable
    window: Window
    start: int
    end: int
    value: Any


ORDER = describe(int, "order")


def plan_of_rows(
    windows: RowWindows, *modules: ModulePlan, has_ids: bool = False, carried: Sequence[str] = (), **changed: Any
) -> Plan:
    """Return a plan over integer ticks with a key; the payload is the order, what the windows read, and what else."""
    payload = [NamedColumn(name, "bigint") for name in ("order", *windows.reads, *carried)]
    columns = Columns(
        NamedColumn("at", "bigint"),
        keys=(NamedColumn("key", "string"),),
        payload=tuple(payload),
        id=NamedColumn("id", "bigint") if has_ids else None,
    )
    listed = plan_module("m", Listed, {}, [ORDER], lambda place, _: place)
    settings: dict[str, Any] = {
        "axis": Axis.TICKS,
        "window": windows,
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": modules or (listed,),
        "buckets": 1,
        "expressions": {name: place for place, name in enumerate(windows.reads, 1)},
    }
    given = Input(columns, order=0)
    given = replace(given, **changed.pop("input", {}))
    return checked_plan(Plan(inputs=(given,), **(settings | changed)))


def payload_of(windows: RowWindows, row: Given, carried: Sequence[str] = ()) -> tuple[Any, ...]:
    return (row.order, *(row.values.get(name) for name in (*windows.reads, *carried)))


class Step(NamedTuple):
    """A micro-batch: rows, and the watermark after it."""

    rows: Sequence[Given]
    watermark: int


def evaluated(plan: Plan, steps: Sequence[Step], *, restarts: bool = False, said: int = EARLIEST) -> list[Result]:
    """Return the output of micro-batches; no output may be retracted."""
    return both_outputs(plan, steps, restarts=restarts, said=said)[0]


def both_outputs(
    plan: Plan, steps: Sequence[Step], *, restarts: bool = False, said: int = EARLIEST
) -> tuple[list[Result], list[Result]]:
    """Return the results of micro-batches, and what rows that left gave; time was said to have come so far before."""
    cells, codec = MemoryCells(), Codec.of([module.module for module in plan.modules])
    query, identity = plan.evaluator_query([Meter() for _ in plan.modules]), plan_identity(plan)
    bucket = RowsBucket(query, cells, codec, identity)
    found: list[Result] = []
    left: list[Result] = []
    horizon = said
    assert plan.rows is not None
    carried = [column.name for column in plan.input.columns.payload][1 + len(plan.rows.reads) :]
    for rows, watermark in steps:
        if restarts:
            bucket = RowsBucket(query, cells, codec, identity)
        changes = [
            ((row.key,), [InputChange(None, row.time, row.time + 1, payload_of(plan.rows, row, carried))])
            for row in rows
        ]
        horizon = max([horizon, *(row.time + 1 for row in rows)])
        newest = max([-(2**63), *(row.time for row in rows)])
        arrived = Progress(watermark, horizon if watermark == INFINITY else max(horizon, watermark), newest)
        result = bucket.process(changes, arrived)
        assert result.accepted + len(result.rejections) == len(rows), "a row is counted twice, or not at all"
        found += [_result(key, change) for key, changes in result.output for change in changes]
        left += [_result(key, change) for key, changes in result.evicted for change in changes]
    return found, left


def _result(key: tuple[Any, ...], change: OutputChange) -> Result:
    assert change.kind is OutputKind.INSERT
    return Result(key[0], change.partition, change.window, change.start, change.end, change.value)
