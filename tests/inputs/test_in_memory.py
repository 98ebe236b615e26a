"""Two inputs from the map side to the results, without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin import Axis, ClipPolicy, EmitPolicy, TimestampPolicy, tumbling
from muntin.errors import QueryError
from muntin.progress import ordered
from muntin.schemas import describe
from muntin_engine.core.changes import Progress
from muntin_engine.errors import StateMismatchError
from muntin_engine.exchange.bucket_task import names_of_counts, run_bucket
from muntin_engine.exchange.distribute import distribute
from muntin_engine.exchange.shuffle import SIDE, collect, from_blob, shared_name
from muntin_engine.exchange.task_payload import InputColumns, TaskPayload
from muntin_engine.plan import Columns, Input, NamedColumn, Plan, plan_module
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.planner import checked_plan
from muntin_engine.progress import InputsProgress, Observation, ProgressTracker
from muntin_engine.state.cells import MemoryCells
from tests.inputs.meeting import Codes, Kilometres
from tests.inputs.streams import Result, Ride, Row, Toll, expected, of, random_history

TIME, TEXT = "bigint", "string"
TYPES = {"id": (pa.int64(), pa.string()), "i0": (pa.float64(), pa.string())}
COMMON = {"k0": pa.string(), "change": pa.string(), "source": pa.string()}
UNSAID = {
    "start": ("close",),
    "at": ("close",),
    "end": ("revise", "retract", "punctuate", "close"),
    "new_end": ("insert", "retract", "punctuate", "close"),
    "km": ("revise", "retract", "punctuate", "close"),
    "code": ("revise", "retract", "punctuate", "close"),
}
"""By field, the rows that do not have it."""

EXTENT = pa.struct([("start", pa.int64()), ("end", pa.int64())])
RESULTS = pa.schema([("key", pa.string()), ("window", EXTENT), ("km", pa.float64()), ("codes", pa.string())])


def named(**columns: tuple[str, str]) -> dict[str, Any]:
    return {role: NamedColumn(*column) for role, column in columns.items()}


def rides(**changed: Any) -> Input:
    roles = named(start=("since", TIME), end=("until", TIME), id=("ride", TIME), change=("what", TEXT))
    roles |= named(new_end=("now_until", TIME))
    columns = Columns(**roles, keys=(NamedColumn("car", TEXT),), payload=(NamedColumn("km", "double"),))
    return Input(columns, **({"name": "rides"} | changed))


def tolls(**changed: Any) -> Input:
    roles = named(start=("at", TIME), id=("toll", TEXT), change=("what", TEXT), source=("gate", TEXT))
    columns = Columns(**roles, keys=(NamedColumn("plate", TEXT),), payload=(NamedColumn("code", TEXT),))
    return Input(columns, **({"name": "tolls", "sources": ("n", "s")} | changed))


def plan_of(*inputs: Input, **changed: Any) -> Plan:
    km = plan_module("km", Kilometres, {}, [describe(float, "km")], lambda place, _: place)
    codes = plan_module("codes", Codes, {}, [describe(str, "code")], lambda place, _: place)
    given: dict[str, Any] = {
        "inputs": inputs or (rides(), tolls()),
        "axis": Axis.TICKS,
        "window": tumbling(10),
        "clip": ClipPolicy.NONE,
        "timestamps": TimestampPolicy.ALIGN,
        "emit": EmitPolicy.FINAL,
        "modules": (km, replace(codes, side=1)),
        "buckets": 2,
    }
    return checked_plan(Plan(**(given | changed)))


def task_of(plan: Plan | None = None) -> TaskPayload:
    plan = plan or plan_of()
    columns = tuple(InputColumns((TYPES["i0"][side],), has_changes=True) for side in range(2))
    return TaskPayload(plan.for_workers(), plan_identity(plan), (pa.string(),), columns, RESULTS)


def projected(rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows of both inputs as Spark unites them."""
    tables = []
    for side, kind in enumerate((Ride, Toll)):
        own = [row._asdict() for row in of(kind, rows)]
        renamed = {"k0": "key", "start": "at" if side else "start", "i0": "code" if side else "km"}
        renamed |= {"source": "gate"} if side else {"end": "end", "new_end": "new_end"}
        renamed |= {"change": "change", "id": "id"}
        columns = {SIDE: pa.array([side] * len(own), pa.int32())}
        for name, field in renamed.items():
            data_type = TYPES[name][side] if name in TYPES else COMMON.get(name, pa.int64())
            is_null = [row["change"] in UNSAID.get(field, ()) for row in own]
            values = pa.array([row[field] for row in own], data_type, mask=np.array(is_null, bool))
            columns[shared_name(side, name)] = values
        tables.append(pa.table(columns))
    (batch,) = pa.concat_tables(tables, promote_options="default").combine_chunks().to_batches()
    return batch


class Run:
    """A query with the cells of its buckets; each micro-batch is as a new process takes it."""

    def __init__(self, plan: Plan | None = None, cells: Sequence[MemoryCells] = ()) -> None:
        self.task = task_of(plan)
        self.cells = cells or [MemoryCells() for _ in range(2)]
        self.counts: Counter[str] = Counter()
        self.set_aside: list[tuple[str, dict[str, Any]]] = []

    def take(self, *rows: Row, parts: int = 1) -> list[Result]:
        """Return the results of a micro-batch, whose rows come in several tasks."""
        tasks = [rows[part::parts] for part in range(parts)]
        sent = [
            row
            for some in tasks
            for out in distribute(self.task, [projected(some)] if some else [])
            for row in out.to_pylist()
        ]
        return sorted((result for bucket in range(2) for result in self._run(bucket, sent)), key=str)

    def _run(self, bucket: int, sent: Sequence[dict[str, Any]]) -> Iterator[Result]:
        own = [row for row in sent if row["bucket"] == self.task.buckets[bucket]]
        for blob in run_bucket(self.task, self.task.buckets[bucket], self.cells[bucket], collect(own, 2)):
            self.counts[blob.stream] += blob.rows
            for row in from_blob(blob.data).to_pylist() if blob.data is not None else []:
                if blob.stream == "results":
                    yield row["key"], row["window"]["start"], row["km"], row["codes"]
                else:
                    self.set_aside.append((blob.stream, row))


def test_windows_close_when_both_inputs_have_passed_them() -> None:
    # rides  |--1--------)      watermark 10  -> 20
    # tolls      x   x                0  -> 20
    run = Run()
    first: list[Row] = [
        Ride("insert", "a", 1, 2, 14, km=1.5),
        Toll("insert", "a", "1", 4, "x", "n"),
        Ride("punctuate", start=20),
    ]
    assert run.take(*first) == []
    assert run.take(Toll("insert", "a", "2", 8, "y", "s"), Toll("punctuate", at=20, gate="n")) == []
    assert run.take(Toll("punctuate", at=10, gate="s")) == [("a", 0, 1.5, "x y")]
    assert run.take(Toll("punctuate", at=20)) == [("a", 10, 1.5, "")]
    assert run.counts["accepted"] == 3
    assert (run.counts["rows_tolls.n"], run.counts["rows_tolls.s"]) == (1, 1)
    assert names_of_counts(run.task) == ("rows_tolls.n", "rows_tolls.s", "late_tolls.n", "late_tolls.s")


def test_a_row_is_late_by_the_watermark_of_its_own_input() -> None:
    run = Run()
    run.take(Ride("punctuate", start=20), Toll("punctuate", at=5))
    run.take(
        Ride("insert", "a", 1, 7, 30, km=9.0),  # late: rides are complete up to 20
        Toll("insert", "b", "1", 7, "x", "n"),  # tolls are not
        Toll("insert", "b", "2", 3, "y", "s"),  # late
    )
    assert run.counts["late_tolls.s"] == 1
    told = [(stream, row["input"], row["late_by"], json.loads(row["row"])) for stream, row in run.set_aside]
    ride = {"car": "a", "what": "insert", "ride": 1, "since": 7, "until": 30, "now_until": None, "km": 9.0}
    toll = {"plate": "b", "what": "insert", "toll": "2", "at": 3, "gate": "s", "code": "y"}
    assert sorted(told, key=str) == [("late", "rides", 13, ride), ("late", "tolls", 2, toll)]
    run.take(Toll("punctuate", at=50))
    run.take(Ride("insert", "a", 2, 25, 30, km=1.0), Toll("insert", "a", "3", 49, "z", "n"))
    assert [row["input"] for _, row in run.set_aside[2:]] == ["tolls"]  # the ride is before 50, and rides are at 20


def test_rows_with_a_problem_are_rejected_in_the_name_of_their_input() -> None:
    run = Run()
    run.take(
        Ride("insert", "a", None, 1, 5, km=1.0),
        Ride("insert", "a", 2, 9, 5, km=1.0),
        Toll("insert", "a", "1", 4, "x", "west"),
        Toll("revise", "a", "7", 4, gate="n"),
        Ride("revise", "b", 3, 4, new_end=30),
    )
    assert sorted((row["input"], row["reason"]) for _, row in run.set_aside) == [
        ("rides", "empty lifetime"),
        ("rides", "null id"),
        ("rides", "unknown event"),
        ("tolls", "null time"),
        ("tolls", "undeclared source"),
    ]
    assert run.counts["rejected"] == 5


@pytest.mark.parametrize("seed", range(25))
def test_results_depend_neither_on_order_nor_on_cuts_nor_on_tasks(seed: int) -> None:
    random = Random(seed)
    history = random_history(random)
    wanted = expected(row for batch in history for row in batch)
    run = Run()
    found = [result for batch in history for result in run.take(*batch, parts=random.randint(1, 3))]
    assert run.set_aside == []
    told = {"insert", "revise", "retract"}
    assert run.counts["accepted"] == sum(row.change in told for batch in history for row in batch)
    assert sorted(found, key=str) == wanted
    assert len(wanted) == len({result[:2] for result in found})


def test_a_query_goes_on_from_its_state_and_another_one_does_not() -> None:
    run = Run()
    run.take(Ride("insert", "a", 1, 2, 9, km=1.5), Ride("punctuate", start=10))
    again = Run(cells=run.cells)
    assert again.take(Toll("punctuate", at=10)) == [("a", 0, 1.5, "")]
    other = plan_of(rides(), tolls(sources=("n", "s", "w")))
    with pytest.raises(StateMismatchError, match="sources of tolls"):
        Run(other, run.cells).take(Toll("punctuate", at=10))


@pytest.mark.parametrize(
    ("inputs", "subject"),
    [
        ((rides(is_edge=True), tolls()), "lifetimes of events of rides"),
        ((tolls(), rides()), "inputs"),
    ],
)
def test_a_checkpoint_remembers_each_input(inputs: tuple[Input, Input], subject: str) -> None:
    stored = json.loads(json.dumps(plan_identity(plan_of())))
    check_plans([plan_of()], [stored], "there")
    with pytest.raises(StateMismatchError) as refused:
        check_plans([plan_of(*inputs)], [stored], "there")
    assert subject in [difference.subject for difference in refused.value.differences]


def test_evaluators_say_how_many_inputs_they_take() -> None:
    assert plan_of().choice.evaluator == "meeting"
    with pytest.raises(QueryError, match="the general evaluator cannot run this query: the query has 2 inputs"):
        plan_of(wanted="general")
    with pytest.raises(QueryError, match="the meeting evaluator cannot run this query: the query has 1 input\n"):
        plan_of(rides(name=""), wanted="meeting", modules=plan_of().modules[:1])
    with pytest.raises(QueryError, match="no evaluator takes the 3 inputs of this query, rides, tolls, more: meeting,"):
        plan_of(rides(), tolls(), tolls(name="more"))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (tolls(name="rides"), "each input of several needs a name of its own, got 'rides', 'rides'"),
        (tolls(name=""), "got 'rides', ''"),
    ],
)
def test_inputs_have_names_of_their_own(other: Input, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        plan_of(rides(), other)


def test_inputs_meet_by_keys_and_times_of_one_type() -> None:
    with pytest.raises(QueryError, match="the keys of rides are of type string, those of tolls none"):
        plan_of(rides(), Input(Columns(NamedColumn("at", TIME)), name="tolls"))
    times = Columns(NamedColumn("at", "int"), keys=(NamedColumn("plate", TEXT),))
    with pytest.raises(QueryError, match="the times of rides are bigint, those of tolls int"):
        plan_of(rides(), Input(times, name="tolls"))


def test_explain_tells_the_inputs_apart() -> None:
    told = explain_plan(plan_of()).splitlines()
    assert "progress    rides: punctuation rows" in told
    assert "progress    tolls: punctuation rows; the least of n, s" in told
    assert "module      codes = test.codes 1: computed from the events of tolls" in told


def test_a_clock_tells_the_time_to_all_inputs() -> None:
    trackers = [ProgressTracker(), ProgressTracker(ordered().with_idle(5, lag=2), ("a",))]
    now = InputsProgress.start(2).advance(trackers, [Progress(clock=100), Progress()], [(), [Observation("a", 7, 1)]])
    assert [progress.watermark for progress in now.inputs] == [Progress().watermark, 7]
    again = InputsProgress.from_data(json.loads(json.dumps(now.to_data())))
    later = again.advance(trackers, [Progress(clock=110), Progress()], [(), ()])
    assert [progress.watermark for progress in later.inputs] == [Progress().watermark, 108]
    assert later.least.clock == 110
