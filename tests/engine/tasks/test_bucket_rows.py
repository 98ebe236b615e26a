"""The bucket side: blobs back to changes by key, rows that cannot be taken, and punctuation of parts of keys."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from muntin import INFINITY
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
    """Return what a bucket reads of batches that map tasks have sent it."""
    return read_bucket_rows(task, bucket_input(task, *batches).rows)


@pytest.mark.parametrize(
    ("keys", "different_keys"),
    [
        (pa.array([[1, 2], [1, 2], None, [2, 1]]), 3),
        (pa.array([{"x": 1, "y": "a"}, {"x": 1, "y": "a"}, {"x": None, "y": "a"}, {"x": 1, "y": None}]), 3),
        (pa.array([math.nan, math.nan, -0.0, 0.0]), 2),
        (pa.array([[math.nan], [math.nan], [-0.0], [0.0]]), 2),
        (pa.array([b"\xff", b"\xff", b"", None]), 3),
        (pa.array([True, True, False, None]), 3),
    ],
)
def test_rows_are_grouped_by_keys_of_any_type(keys: pa.Array, different_keys: int) -> None:
    batch = rows(start=[1, 2, 3, 4], end=[9] * 4, k0=keys)
    changes_by_key = list(rows_read(task_of(keys=(keys.type,)), batch).changes)
    assert len(changes_by_key) == different_keys
    assert sum(len(key_changes) for _, key_changes in changes_by_key) == 4


@pytest.mark.parametrize(
    "ids", [pa.array([[1, 2], None]), pa.array([{"x": 1, "y": [2]}, None])], ids=["array", "struct"]
)
def test_an_array_or_a_struct_can_be_an_id(ids: pa.Array) -> None:
    bucket_rows = rows_read(CHANGING, rows(start=[1, 2], end=[9, 9], id=ids, change=["insert"] * 2))
    ((_key, [change]),) = bucket_rows.changes
    assert hash(change.id) is not None
    assert [rejected_row.reason for rejected_row in bucket_rows.rejected] == ["null id"]


def test_a_rejected_row_is_shown_under_the_querys_own_names() -> None:
    batch = rows(start=[None], end=[8], id=[1], change=["insert"], i0=[None], k0=["north"])
    (rejected_row,) = rows_read(CHANGING, batch).rejected
    assert not rejected_row.is_late
    assert rejected_row.reason == "null time"
    assert rejected_row.message == "its time is null"
    assert json.loads(rejected_row.row) == {
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
    ids=["timestamps", "lists", "dates", "text"],
)
@pytest.mark.parametrize("column", ["k0", "i0", "id"])
def test_a_value_that_python_cannot_hold_costs_its_row_alone(values: pa.Array, column: str) -> None:
    """Of three rows, the second one has it."""
    types: dict[str, Any] = {}
    if column == "k0":
        types = {"keys": (values.type,)}
    elif column == "i0":
        types = {"inputs": (values.type,)}
    task = task_of(Count(), has_changes=True, **types)
    columns = {"id": [1, 2, 3], "change": ["insert"] * 3, "start": [1, 2, 3], "end": [9] * 3} | {column: values}

    bucket_rows = rows_read(task, rows(**columns))
    starts: list[int] = []
    for _key, changes in bucket_rows.changes:
        starts += [change.start for change in changes]
    assert sorted(starts) == [1, 3]
    (rejected_row,) = bucket_rows.rejected
    assert rejected_row.reason == "unreadable value"
    assert json.loads(rejected_row.row)["since"] == 2


# Rows that punctuate part of a composite key, from the map side to every bucket, without Spark.


KEYS = (pa.string(), pa.int64())


def task_with(keys: tuple[pa.DataType, ...] = KEYS, *, by_key: bool = True, **changed: Any) -> TaskPayload:
    """Return a task whose rows have a region and a sensor for a key, and whose punctuation may have ranges of both.

    Args:
        keys: The types of the key columns.
        by_key: True if the policy allows punctuation of keys.
        changed: Parts of the plan's input that differ.
    """
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


def batch_of(*changes: dict[str, Any], keys: tuple[pa.DataType, ...] = KEYS) -> pa.RecordBatch:
    """Return rows, each with its change, time and parts of a key or ranges of them; all else is null."""
    columns: dict[str, Any] = {
        "start": [row["at"] for row in changes],
        "change": [row.get("change", "insert") for row in changes],
    }
    for name in ("k0", "k1", "low0", "high0", "low1", "high1"):
        columns[name] = pa.array([row.get(name) for row in changes], keys[int(name[-1])])
    return rows(**columns)


def event(at: int, region: str, sensor: int | None = None) -> dict[str, Any]:
    """Return a row that inserts an event of a key."""
    return {"at": at, "k0": region, "k1": sensor}


def punctuation(at: int | None, **key_parts: Any) -> dict[str, Any]:
    """Return a row that punctuates keys.

    Args:
        at: The time.
        key_parts: Of the region, `k0`, or `low0` and `high0`; of the sensor, `k1`, or `low1` and `high1`.
    """
    return {"change": "punctuate_keys", "at": at, **key_parts}


def patterns_of(task: TaskPayload, *changes: dict[str, Any], keys: tuple[pa.DataType, ...] = KEYS) -> Any:
    """Return the patterns of keys that a map task reads, each a condition for region and sensor, with its time."""
    return read_rows(task.input, batch_of(*changes, keys=keys)).patterns


@pytest.mark.parametrize(
    ("row", "pattern"),
    [
        (punctuation(5, k0="eu"), ([("eu",), ()], 5)),
        (punctuation(6, k0="eu", k1=3), ([("eu",), (3,)], 6)),
        (punctuation(7, low1=10, high1=20), ([(), (10, 20)], 7)),
        (punctuation(8, high0="f", low1=10), ([(None, "f"), (10, None)], 8)),
        (punctuation(LATEST, k0="eu", k1=3, low1=10), ([("eu",), (3,)], INFINITY)),
        (punctuation(9), ([(), ()], 9)),
    ],
    ids=["any sensor", "one key", "a range", "open ranges", "a value and a range", "any key"],
)
def test_a_key_column_that_is_null_is_bounded_by_its_range_or_by_nothing(row: dict[str, Any], pattern: Any) -> None:
    assert patterns_of(task_with(), row) == [pattern]


def test_a_pattern_is_no_row_of_a_bucket_and_its_time_moves_the_horizon() -> None:
    read = read_rows(task_with().input, batch_of(punctuation(70, k0="eu"), event(5, "us")))
    assert read.rows.num_rows == 1
    assert read.progress == Progress(horizon=70, newest=5)
    assert len(read.patterns) == 1


def test_the_time_of_a_pattern_moves_with_the_lifetimes_of_events() -> None:
    assert patterns_of(task_with(lifetime_changes=(Shift(4),)), punctuation(70, k0="eu")) == [([("eu",), ()], 74)]


def test_patterns_of_timestamps_and_of_floats_are_values_as_those_of_keys_are() -> None:
    types = (pa.timestamp("us", tz="UTC"), pa.float64())
    ((conditions, _time),) = patterns_of(task_with(types), punctuation(5, k0=0, k1=-0.0), keys=types)
    (timestamp,), (number,) = conditions
    assert timestamp.isoformat() == "1970-01-01T00:00:00+00:00"
    assert str(number) == "0.0", "minus zero is the same key"


def test_all_buckets_get_a_pattern_once_however_many_rows_and_tasks_have_it() -> None:
    task = task_with()
    batch = batch_of(
        punctuation(5, k0="eu"),
        punctuation(9, k0="eu"),
        punctuation(8, k0="eu", k1=3),
        punctuation(7, low1=1),
        punctuation(7, low1=1, high1=5),
    )
    with_patterns = [row for row in map_output_rows(task, batch, batch) if row["patterns"] is not None]
    assert {row["bucket"] for row in with_patterns} == set(task.buckets)
    for row in with_patterns:
        assert collect([row]).reports[0].patterns == [([("eu",), ()], 9), ([(), (1, None)], 7)]


@pytest.mark.parametrize(
    ("by_key", "pattern", "reason"),
    [
        (True, punctuation(None, k0="eu", low1=3), "null time"),
        (False, punctuation(5, k0="eu", low1=3), "undeclared punctuation"),
    ],
    ids=["without a time", "not allowed by the policy"],
)
def test_a_pattern_without_a_time_and_one_that_the_policy_does_not_allow_are_rejected(
    by_key: bool, pattern: dict[str, Any], reason: str
) -> None:
    task = task_with(by_key=by_key)
    assert patterns_of(task, pattern) == []
    (rejected_row,) = rows_read(task, batch_of(pattern)).rejected
    assert rejected_row.reason == reason
    assert '"the low1": 3' in rejected_row.row


class Output(NamedTuple):
    """The output of a micro-batch: the keys of results, and the late rows as JSON."""

    result_keys: list[tuple[str, int]]
    late_rows: list[str]


def run(task: TaskPayload, cells: dict[int, MemoryCells], *changes: dict[str, Any]) -> Output:
    """Run a micro-batch through all buckets, each with its cells."""
    output = Output([], [])
    map_output = map_output_rows(task, batch_of(*changes))
    for bucket in task.buckets:
        arrivals = collect([row for row in map_output if row["bucket"] == bucket])
        for blob in run_bucket(task, bucket, cells[bucket], arrivals):
            table = [] if blob.data is None else from_blob(blob.data).to_pylist()
            if blob.stream == "results":
                output.result_keys.extend((row["region"], row["sensor"]) for row in table)
            elif table:
                assert blob.stream == "late"
                output.late_rows.extend(row["row"] for row in table)
    return output


def test_keys_of_all_buckets_close_and_those_that_come_later_are_under_the_pattern_too() -> None:
    task = task_with()
    cells = {bucket: MemoryCells() for bucket in task.buckets}
    eu_keys = [("eu", sensor) for sensor in range(1, 9)]
    us_keys = [("us", sensor) for sensor in range(1, 9)]
    assert run(task, cells, *(event(1, *key) for key in [*eu_keys, *us_keys])).result_keys == []

    # All of eu is complete, and of us the sensors 5 to 7.
    closed = run(task, cells, punctuation(20, k0="eu"), punctuation(20, low1=5, high1=8)).result_keys
    assert sorted(closed) == [*eu_keys, ("us", 5), ("us", 6), ("us", 7)]

    # The sensors 9 come only now, to their buckets. All but that of us are late.
    later_keys = [("eu", 5), ("eu", 9), ("us", 5), ("us", 9)]
    assert len(run(task, cells, *(event(2, *key) for key in later_keys)).late_rows) == 3

    # The watermark of all keys passes the patterns.
    closed = run(task, cells, {"change": "punctuate", "at": 30}).result_keys
    assert sorted(closed) == [("us", 1), ("us", 2), ("us", 3), ("us", 4), ("us", 8), ("us", 9)]


def test_patterns_that_the_watermark_of_all_keys_has_passed_are_forgotten() -> None:
    task = task_with()
    cells = {bucket: MemoryCells() for bucket in task.buckets}

    def sizes_of_metadata() -> dict[int, int]:
        return {bucket: len(bucket_cells.cells["metadata"]) for bucket, bucket_cells in cells.items()}

    run(task, cells, *(event(1, "eu", sensor) for sensor in range(1, 9)))
    run(task, cells, punctuation(20, k0="eu"))
    run(task, cells, {"change": "punctuate", "at": 30})
    without_patterns = sizes_of_metadata()
    run(task, cells, {"change": "punctuate", "at": 31}, punctuation(30, k0="eu"))
    assert sizes_of_metadata() == without_patterns
