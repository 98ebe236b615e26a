"""ON-21 in a bucket: what is shed is counted, and comes out with the late rows unless these are dropped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from muntin.policies import parse_lateness
from muntin_engine.exchange.bucket_task import STREAMS, run_bucket
from muntin_engine.exchange.shuffle import from_blob
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.metrics import METRICS, metrics_of
from muntin_engine.state.cells import MemoryCells
from tests.plan.plans import input_of, plan_of
from tests.spark_units.tasks import arrived, rows, task_of

HOT = rows(start=[4, 1, 3, 2], end=[5, 2, 4, 3], i0=[4, 1, 3, 2])


def shedding(late: str = "side", **changed: Any) -> TaskPayload:
    task = task_of(late=parse_lateness(late), **changed)
    return replace(task, plan=replace(task.plan, inputs=(replace(task.plan.input, most_held=2),)))


def run(task: TaskPayload, *batches: pa.RecordBatch) -> dict[str, tuple[int, list[dict[str, Any]]]]:
    blobs = run_bucket(task, 0, MemoryCells(), arrived(task, *batches))
    return {b.stream: (b.rows, [] if b.data is None else from_blob(b.data).to_pylist()) for b in blobs}


def test_what_is_shed_is_counted_apart_and_comes_with_the_late_rows() -> None:
    found = run(shedding(), HOT)
    assert (found["accepted"][0], found["shed"][0], found["events_held"][0]) == (2, 2, 2)
    assert "late" not in found
    assert "rejected" not in found
    assert STREAMS["late"] == ("late", "shed")
    told = found["shed"][1]
    assert [(row["reason"], row["late_by"], json.loads(row["row"])["since"]) for row in told] == [
        ("shed", None, 3),
        ("shed", None, 4),
    ]
    assert "0 held, 4 new in the micro-batch, most_held=2" in told[0]["message"]


def test_where_late_rows_are_dropped_so_are_those_that_are_shed() -> None:
    assert run(shedding("drop"), HOT)["shed"] == (2, [])


def test_of_a_static_input_nothing_is_shed() -> None:
    found = run(shedding(is_static=True), HOT)
    assert "shed" not in found
    assert found["results"][1] == [{"key": "a", "window": {"start": 0, "end": 10}, "m": [1, 2, 3, 4]}]


@pytest.mark.parametrize(("most_held", "reports"), [(None, False), (5, True)])
def test_a_query_reports_it_if_it_sheds(most_held: int | None, reports: bool) -> None:
    plan = plan_of(input=input_of(most_held=most_held))
    assert ("shed" in [metric.name for metric in metrics_of(plan)]) is reports
    assert "shed" in [metric.name for metric in METRICS]
