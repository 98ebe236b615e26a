"""The bucket side: blobs back to changes by key, rows that cannot be taken, and punctuation of parts of keys."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from muntin import EARLIEST, INFINITY
from muntin.progress import punctuated
from muntin_engine.plan import NamedColumn
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_rows import BucketRows, read_bucket_rows
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.time.changes import LATEST, Progress
from muntin_engine.time.lifetimes import Shift
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import collect
from muntin_engine.wire.task_payload import TaskPayload
from tests.engine.wire.payloads import UTC, bucket_input, map_output_rows, rows, task_of
from tests.modules.members import Count

CHANGING = task_of(
    has_changes=True,
    names={"k0": "station", "change": "what", "id": "ride", "start": "since", "end": "until", "i0": "km"},
)
FAR = 2**61
"""A tick in the year 75,000, where Python's calendar has ended."""


def rows_read(task: TaskPayload, *batches: pa.RecordBatch) -> BucketRows:
    return read_bucket_rows(task, bucket_input(task, *batches).rows)


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        (pa.array([[1, 2], [1, 2], None, [2, 1]]), 3),
        (pa.array([{"x": 1, "y": "a"}, {"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}]), 3),
        (pa.array([math.nan, math.nan, -0.0, 0.0]), 2),
        (pa.array([[math.nan], [math.nan], [-0.0], [0.0]]), 2),
        (pa.array([b"\xff", b"\xff", b"", None]), 3),
        (pa.array([True, True, False, None]), 3),
    ],
)
def test_keys_of_any_type_find_their_group(keys: pa.Array, groups: int) -> None:
    changes = list(rows_read(task_of(keys=(keys.type,)), rows(start=[1, 2, 3, 4], end=[9] * 4, k0=keys)).changes)
    assert len(changes) == groups
    assert sum(len(key_changes) for _, key_changes in changes) == 4


def test_an_array_or_a_struct_can_be_an_id() -> None:
    for ids in (pa.array([[1, 2], None]), pa.array([{"x": 1, "y": [2]}, None])):
        intake = rows_read(CHANGING, rows(start=[1, 2], end=[9, 9], id=ids, change=["insert"] * 2))
        ((_, [change]),) = intake.changes
        assert hash(change.id) is not None
        assert [row.reason for row in intake.rejected] == ["null id"]


def test_a_refused_row_is_shown_under_the_querys_own_names() -> None:
    intake = rows_read(CHANGING, rows(start=[None], end=[8], id=[1], change=["insert"], i0=[None], k0=["north"]))
    (row,) = intake.rejected
    assert (row.is_late, row.reason, row.message) == (False, "null time", "its time is null")
    assert json.loads(row.row) == {
        "station": "north",
        "what": "insert",
        "ride": 1,
        "since": None,
        "until": 8,
        "km": None,
    }


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, FAR, 2]).cast(UTC),
        pa.array([[1], [0, FAR], []], pa.list_(pa.int64())).cast(pa.list_(UTC)),
        pa.array([1, 2**30, 2], pa.int32()).cast(pa.date32()),
        pa.array([b"a", b"\xff", b"c"]).view(pa.string()),
    ],
)
@pytest.mark.parametrize("place", ["k0", "i0", "id"])
def test_a_value_that_python_cannot_hold_costs_its_row_alone(values: pa.Array, place: str) -> None:
    types: dict[str, Any] = {}
    if place == "k0":
        types = {"keys": (values.type,)}
    elif place == "i0":
        types = {"inputs": (values.type,)}
    task = task_of(Count(), has_changes=True, **types)
    columns = {"id": [1, 2, 3], "change": ["insert"] * 3, "start": [1, 2, 3], "end": [9] * 3} | {place: values}
    intake = rows_read(task, rows(**columns))
    assert sorted(change.start for _, changes in intake.changes for change in changes) == [1, 3]
    assert [row.reason for row in intake.rejected] == ["unreadable value"]
    assert json.loads(intake.rejected[0].row)["since"] == 2


# Rows that punctuate part of a composite key, from the map side to every bucket, without Spark.


KEYS = (pa.string(), pa.int64())


def task_with(keys: tuple[pa.DataType, ...] = KEYS, *, by_key: bool = True, **changed: Any) -> TaskPayload:
    """Return a task whose rows have a region and a sensor, and may bound both."""
    policy = punctuated().with_key_punctuation() if by_key else punctuated()
    task = task_of(keys=keys, has_changes=True, is_point=True, policy=policy)
    (plan_input,) = task.plan.inputs
    ranges: dict[str, NamedColumn] = {}
    for place in range(len(keys)):
        for name in (f"low{place}", f"high{place}"):
            ranges[name] = NamedColumn(f"the {name}", "")
    columns = replace(plan_input.columns, ranges=ranges)
    results = pa.schema([("region", pa.string()), ("sensor", pa.int64()), *list(task.results)[1:]])
    plan = replace(task.plan, inputs=(replace(plan_input, columns=columns, **changed),))
    return replace(task, plan=plan, results=results)


def batch(*changes: dict[str, Any], keys: tuple[pa.DataType, ...] = KEYS) -> pa.RecordBatch:
    """Return rows: each with its change, time and key; all else is null."""
    columns: dict[str, Any] = {
        "start": [row["at"] for row in changes],
        "change": [row.get("change", "insert") for row in changes],
    }
    for name in ("k0", "k1", "low0", "high0", "low1", "high1"):
        columns[name] = pa.array([row.get(name) for row in changes], keys[int(name[-1])])
    return rows(**columns)


def mark(at: int | None, **key: Any) -> dict[str, Any]:
    return {"change": "punctuate_keys", "at": at, **key}


def patterns_of(task: TaskPayload, *changes: dict[str, Any], keys: tuple[pa.DataType, ...] = KEYS) -> Any:
    """Return the patterns of keys that a map task reads, and their times."""
    return read_rows(task.input, batch(*changes, keys=keys)).patterns


def test_a_key_column_that_is_null_is_bounded_by_its_range_or_by_nothing() -> None:
    assert patterns_of(
        task_with(),
        mark(5, k0="eu"),
        mark(6, k0="eu", k1=3),
        mark(7, low1=10, high1=20),
        mark(8, high0="f", low1=10),
        mark(LATEST, k0="eu", k1=3, low1=10),
        mark(9),
    ) == [
        ([("eu",), ()], 5),
        ([("eu",), (3,)], 6),
        ([(), (10, 20)], 7),
        ([(None, "f"), (10, None)], 8),
        ([("eu",), (3,)], INFINITY),
        ([(), ()], 9),
    ]


def test_a_pattern_is_no_row_of_a_bucket_and_its_time_was_seen() -> None:
    table, progress, _, patterns, *_ = read_rows(task_with().input, batch(mark(70, k0="eu"), {"at": 5, "k0": "us"}))
    assert (table.num_rows, progress, len(patterns)) == (1, Progress(EARLIEST, 70, 5), 1)


def test_a_pattern_moves_with_the_lifetimes_of_events() -> None:
    assert patterns_of(task_with(lifetime_changes=(Shift(4),)), mark(70, k0="eu")) == [([("eu",), ()], 74)]


def test_patterns_of_timestamps_and_of_floats_are_values_as_those_of_keys_are() -> None:
    kinds = (pa.timestamp("us", tz="UTC"), pa.float64())
    ((when, number), _), *_ = patterns_of(task_with(kinds), mark(5, k0=0, k1=-0.0), keys=kinds)
    assert (when[0].isoformat(), str(number[0])) == ("1970-01-01T00:00:00+00:00", "0.0")


def test_all_buckets_get_a_pattern_once_however_many_rows_and_tasks_have_it() -> None:
    task = task_with()
    marks = [mark(5, k0="eu"), mark(9, k0="eu"), mark(8, k0="eu", k1=3), mark(7, low1=1), mark(7, low1=1, high1=5)]
    with_patterns = [row for row in map_output_rows(task, batch(*marks), batch(*marks)) if row["patterns"] is not None]
    assert {row["bucket"] for row in with_patterns} == set(task.buckets)
    for row in with_patterns:
        assert collect([row]).reports[0].patterns == [([("eu",), ()], 9), ([(), (1, None)], 7)]


def test_a_pattern_without_a_time_and_one_that_the_policy_does_not_allow_are_rejected() -> None:
    without_time = mark(None, k0="eu", low1=3)
    with_time = mark(5, k0="eu", low1=3)
    for by_key, pattern, reason in ((True, without_time, "null time"), (False, with_time, "undeclared punctuation")):
        task = task_with(by_key=by_key)
        assert patterns_of(task, pattern) == []
        (rejected_row,) = read_bucket_rows(task, collect(map_output_rows(task, batch(pattern))).rows).rejected
        assert rejected_row.reason == reason
        assert '"the low1": 3' in rejected_row.row


def run(task: TaskPayload, cells: dict[int, MemoryCells], *changes: dict[str, Any]) -> dict[str, list[Any]]:
    """Run a micro-batch through all buckets, and return the keys of the results, and the rows that were late."""
    output: dict[str, list[Any]] = {"results": [], "late": []}
    map_output = map_output_rows(task, batch(*changes))
    for bucket in task.buckets:
        arrivals = collect([row for row in map_output if row["bucket"] == bucket])
        for blob in run_bucket(task, bucket, cells[bucket], arrivals):
            table = [] if blob.data is None else from_blob(blob.data).to_pylist()
            if blob.stream == "results":
                output["results"] += [(row["region"], row["sensor"]) for row in table]
            elif table:
                output[blob.stream] += [row["row"] for row in table]
    return output


# region eu, sensors 1 to 9:  [)  at 1         complete up to 20 by a pattern
# region us, sensors 1 to 9:  [)  at 1         sensors from 5 on, below 8, by another
# batch 2, eu and us, 5 and 9      [)  at 2    late but for us 9: these keys come first now, each to its bucket
def test_keys_of_all_buckets_close_and_those_that_come_later_are_under_the_pattern_too() -> None:
    task = task_with()
    cells = {bucket: MemoryCells() for bucket in task.buckets}
    eu_keys = [("eu", sensor) for sensor in range(1, 9)]
    us_keys = [("us", sensor) for sensor in range(1, 9)]
    assert run(task, cells, *events(1, *eu_keys, *us_keys))["results"] == []
    closed = run(task, cells, mark(20, k0="eu"), mark(20, low1=5, high1=8))["results"]
    assert sorted(closed) == [*eu_keys, ("us", 5), ("us", 6), ("us", 7)]
    assert len(run(task, cells, *events(2, ("eu", 5), ("eu", 9), ("us", 5), ("us", 9)))["late"]) == 3

    # The watermark of all keys passes the patterns, which are then forgotten: what is late is late for all.
    closed = run(task, cells, {"change": "punctuate", "at": 30})["results"]
    assert sorted(closed) == [("us", 1), ("us", 2), ("us", 3), ("us", 4), ("us", 8), ("us", 9)]
    sizes = {bucket: len(cells[bucket].cells["metadata"]) for bucket in cells}
    run(task, cells, {"change": "punctuate", "at": 31}, mark(30, k0="eu"))
    assert {bucket: len(cells[bucket].cells["metadata"]) for bucket in cells} == sizes


def events(at: int, *keys: tuple[str, int]) -> list[dict[str, Any]]:
    """Return an event of each key at a time."""
    return [{"at": at, "k0": region, "k1": sensor} for region, sensor in keys]
