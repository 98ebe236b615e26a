"""Joins on Spark: read, evaluated, gone on with after a restart, and read as events by another query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import INFINITY, Event, JoinKind, tumbling
from muntin.errors import QueryError
from muntin_engine import Query, condition, events, module
from muntin_engine.testing import join
from tests.journeys.running import collect, read_stream, run_together, write_batches
from tests.scenarios.join_definition import lasting

RIDES = pa.schema(
    [(name, pa.string() if name in ("change", "car") else pa.int64()) for name in ("change", "car", "id", "since")]
    + [("until", pa.int64()), ("now_until", pa.int64()), ("km", pa.int32())]
)
FARES = pa.schema([("change", pa.string()), ("plate", pa.string()), ("at", pa.int64()), ("fare", pa.string())])

BATCHES: Sequence[tuple[Sequence[tuple[Any, ...]], Sequence[tuple[Any, ...]]]] = (
    (
        [("insert", "a", 1, 2, 14, None, 15), ("insert", "b", 2, 4, 40, None, 20), ("punctuate", "", 0, 5, 0, None, 0)],
        [("insert", "a", 4, "day"), ("insert", "b", 1, "day"), ("punctuate", "", 5, "")],
    ),
    (
        [("revise", "b", 2, 4, 40, 25, None), ("insert", "b", 3, 3, 9, None, 30), ("punctuate", "", 0, 20, 0, None, 0)],
        [("insert", "a", 9, "night"), ("insert", "b", 30, "night"), ("punctuate", "", 10, "")],
    ),
    (
        [("insert", "a", 4, 22, 30, None, 40), ("close", "", 0, None, None, None, 0)],
        [("insert", "b", 20, "evening"), ("insert", "b", 7, "late"), ("close", "", None, "")],
    ),
)
"""Rides that last and may be revised, and fares that hold until the next one. A ride of the second batch is late by
its own input, and a fare of the third by its own; both are not late by the other."""

EXPECTED = {
    "a": ([Event(2, 14, 15), Event(22, 30, 40)], lasting([Event(4, INFINITY, "day"), Event(9, INFINITY, "night")])),
    "b": (
        [Event(4, 25, 20)],
        lasting([Event(1, INFINITY, "day"), Event(20, INFINITY, "evening"), Event(30, INFINITY, "night")]),
    ),
}


def tables(schema: pa.Schema, side: int) -> list[pa.Table]:
    return [
        pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in batch[side]], schema)
        for batch in BATCHES
    ]


def is_for(km: float, fare: str, kind: str) -> bool | None:
    """Return whether a fare is of a kind, unless a ride is of 40 km."""
    return None if km > 40 else fare == kind


def queries(rides: DataFrame, fares: DataFrame) -> dict[str, Query]:
    """Return a join with final rows, and a count of what an eager one says."""
    left = events(
        rides,
        key="car",
        id="id",
        start="since",
        end="until",
        change="change",
        new_end="now_until",
        buckets=2,
    )
    right = events(fares, key="plate", at="at", edge=True, change="change")
    eager = left.join(right, "left", left_columns=["km"], right_columns=["fare"], emit="eager")
    counted = eager.as_events(key="car", buckets=1).window(tumbling(10)).aggregate(n=module("stats.count"))
    final = left.join(right, "left", left_columns={"km": "km", "doubled": rides.km * 2}, right_columns=["fare"])
    points = events(rides, key="car", at="since", change="change", buckets=2).extend(5)
    near = points.join(events(fares, key="plate", at="at", change="change").extend(5), left_columns=["km"])
    assert near.plan.choice.evaluator == "pairing"
    starts = events(rides, key="car", at="since", change="change", buckets=2)
    begun = starts.window(tumbling(10)).aggregate(n=module("stats.count")).as_events(key="car", buckets=2)
    fare_windows = events(fares, key="plate", at="at", change="change", buckets=2).window(tumbling(5))
    five = fare_windows.aggregate(m=module("stats.count")).as_events(key="plate", buckets=2)
    ten = five.window(tumbling(10)).aggregate(m=module("stats.sum", "m")).as_events(key="plate", buckets=2)
    of_results = begun.join(ten, left_columns=["n"], right_columns=["m"])
    unpaid = left.join(
        right, "anti", left_columns=["km"], on=condition(is_for, left=rides.km + 0.5, right="fare", kind="day")
    )
    assert [(version.name, version.is_function, version.version[:5]) for version in unpaid.plan.code] == [
        ("is_for", True, "code-")
    ]
    return {"final": final, "counted": counted, "near": near, "of results": of_results, "unpaid": unpaid}


def wanted(expected: Mapping[str, Sequence[Sequence[Event[Any]]]] = EXPECTED) -> list[tuple[Any, ...]]:
    return sorted(
        (
            (key, row.start, row.end, row.left, 2 * row.left, row.right)
            for key, (left, right) in expected.items()
            for row in join(JoinKind.LEFT, left, right)
        ),
        key=str,
    )


def found(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(
        ((row["car"], *row["lifetime"].values(), row["km"], row["doubled"], row["fare"]) for row in rows), key=str
    )


def counts() -> list[tuple[str, int, int]]:
    rows = [(row[0], row[1], row[2]) for row in wanted()]
    return sorted(
        (key, start, n)
        for key in EXPECTED
        for start in range(0, 40, 10)
        if (n := sum(of == key and since < start + 10 and start < until for of, since, until in rows))
    )


def test_a_join_goes_on_after_a_restart_and_its_results_are_events(spark: SparkSession, tmp_path: Path) -> None:
    rides = tables(RIDES, 0)
    fares = tables(FARES, 1)
    checkpoint = tmp_path / "checkpoint"
    output: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for count in (2, 3):
        folders = [
            write_batches(tmp_path / name, side_tables[:count]) for name, side_tables in (("r", rides), ("f", fares))
        ]
        asked = queries(*(read_stream(spark, folder) for folder in folders))
        new = slice(2) if count == 2 else slice(2, 3)
        changes = [row["change"] for table in (*rides[new], *fares[new]) for row in table.to_pylist()]
        came = sum(change not in ("punctuate", "close") for change in changes)
        for name, rows in run_together(asked, checkpoint, came).items():
            output[name] += rows
        if count == 2:
            assert found(output["final"]) == [("a", 2, 4, 15, 30, None), ("a", 4, 9, 15, 30, "day")]
            assert len(output["near"]) == 2
    assert found(output["final"]) == wanted()
    near = [(row["car"], *row["lifetime"].values(), row["km"]) for row in output["near"]]
    assert sorted(near) == [("a", 4, 8, 15), ("b", 4, 7, 20)]
    of_results = [(row["car"], *row["lifetime"].values(), row["n"], row["m"]) for row in output["of results"]]
    assert sorted(of_results) == [("a", 0, 10, 1, 2), ("b", 0, 10, 2, 1)]
    unpaid = sorted((row["car"], *row["lifetime"].values(), row["km"]) for row in output["unpaid"])
    assert unpaid == sorted(
        (key, row.start, row.end, row.left)
        for key, (left, right) in EXPECTED.items()
        for row in join(JoinKind.ANTI, left, right, lambda km, fare: is_for(km + 0.5, fare, "day"))
    )
    assert sorted((row["car"], row["window"]["start"], row["n"]) for row in output["counted"]) == counts()


def test_a_static_join_is_whole_and_says_what_it_rejects(spark: SparkSession) -> None:
    nameless = pa.Table.from_pylist([{"change": "insert", "car": "b", "since": 30, "until": 40, "km": 1}], RIDES)
    rides = pa.concat_tables([*tables(RIDES, 0), nameless])
    fares = pa.concat_tables(tables(FARES, 1))
    query = queries(spark.createDataFrame(rides), spark.createDataFrame(fares))["final"]
    rows = collect(query.results())
    rides_of_b, fares_of_b = EXPECTED["b"]
    of_b = [*rides_of_b, Event(3, 9, 30)], lasting([*fares_of_b, Event(7, INFINITY, "late")])
    assert found(rows) == wanted(EXPECTED | {"b": of_b})  # a static input is one batch: nothing is late
    lines = query.plan_text().splitlines()
    assert "progress    left: punctuation rows" in lines
    assert (
        "row         a step for each kept event of its key, once in a batch, and for each event that it overlaps"
        in lines
    )
    assert dict(query.results().dtypes)["km"] == "int"
    assert [(row["input"], row["reason"]) for row in collect(query.rejected_rows())] == [("left", "null id")]


def test_a_stream_and_a_static_input_do_not_meet(spark: SparkSession, tmp_path: Path) -> None:
    rides = read_stream(spark, write_batches(tmp_path / "rides", tables(RIDES, 0)[:1]))
    with pytest.raises(QueryError, match="all streams, or all static DataFrames"):
        queries(rides, spark.createDataFrame(tables(FARES, 1)[0]))
