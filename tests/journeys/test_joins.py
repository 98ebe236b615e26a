"""Joins on Spark: read, evaluated, gone on with after a restart, and read as events by another query."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import INFINITY, Event, JoinKind, tumbling
from muntin.errors import QueryError
from muntin_engine import Query, condition, events, module
from muntin_engine.testing import join
from tests.journeys.running import collect, run_together, stream_of, table_of
from tests.scenarios.join_definition import lasting

RIDES = pa.schema(
    [
        ("change", pa.string()),
        ("car", pa.string()),
        ("id", pa.int64()),
        ("since", pa.int64()),
        ("until", pa.int64()),
        ("now_until", pa.int64()),
        ("km", pa.int32()),
    ]
)
FARES = pa.schema([("change", pa.string()), ("plate", pa.string()), ("at", pa.int64()), ("fare", pa.string())])


class Arrivals(NamedTuple):
    """The rows of a micro-batch, in the order of the columns of `RIDES` and `FARES`."""

    rides: Sequence[tuple[Any, ...]]
    fares: Sequence[tuple[Any, ...]]


BATCHES = (
    Arrivals(
        [("insert", "a", 1, 2, 14, None, 15), ("insert", "b", 2, 4, 40, None, 20), ("punctuate", "", 0, 5, 0, None, 0)],
        [("insert", "a", 4, "day"), ("insert", "b", 1, "day"), ("punctuate", "", 5, "")],
    ),
    Arrivals(
        [("revise", "b", 2, 4, 40, 25, None), ("insert", "b", 3, 3, 9, None, 30), ("punctuate", "", 0, 20, 0, None, 0)],
        [("insert", "a", 9, "night"), ("insert", "b", 30, "night"), ("punctuate", "", 10, "")],
    ),
    Arrivals(
        [("insert", "a", 4, 22, 30, None, 40), ("close", "", 0, None, None, None, 0)],
        [("insert", "b", 20, "evening"), ("insert", "b", 7, "late"), ("close", "", None, "")],
    ),
)
"""Rides that last and may be revised, and fares that hold until the next one. A ride of the second batch is late by
its own input, and a fare of the third by its own; both are not late by the other."""

EVENTS = {
    "a": ([Event(2, 14, 15), Event(22, 30, 40)], lasting([Event(4, INFINITY, "day"), Event(9, INFINITY, "night")])),
    "b": (
        [Event(4, 25, 20)],
        lasting([Event(1, INFINITY, "day"), Event(20, INFINITY, "evening"), Event(30, INFINITY, "night")]),
    ),
}
"""The rides and fares of each car that are left in the end."""


def ride_tables() -> list[pa.Table]:
    """Return the rides of each micro-batch."""
    return [table_of(RIDES, batch.rides) for batch in BATCHES]


def fare_tables() -> list[pa.Table]:
    """Return the fares of each micro-batch."""
    return [table_of(FARES, batch.fares) for batch in BATCHES]


def is_for(km: float, fare: str, kind: str) -> bool | None:
    """True if a fare is of a kind; None if the ride is longer than 40 km."""
    return None if km > 40 else fare == kind


def queries(rides: DataFrame, fares: DataFrame) -> dict[str, Query]:
    """Return queries that join rides and fares, by what they show."""
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
    started_rides = starts.window(tumbling(10)).aggregate(n=module("stats.count")).as_events(key="car", buckets=2)
    fare_windows = events(fares, key="plate", at="at", change="change", buckets=2).window(tumbling(5))
    fares_per_five = fare_windows.aggregate(m=module("stats.count")).as_events(key="plate", buckets=2)
    fare_sums = fares_per_five.window(tumbling(10)).aggregate(m=module("stats.sum", "m"))
    fares_per_ten = fare_sums.as_events(key="plate", buckets=2)
    of_results = started_rides.join(fares_per_ten, left_columns=["n"], right_columns=["m"])
    unpaid = left.join(
        right, "anti", left_columns=["km"], on=condition(is_for, left=rides.km + 0.5, right="fare", kind="day")
    )
    assert [(version.name, version.is_function, version.version[:5]) for version in unpaid.plan.code] == [
        ("is_for", True, "code-")
    ]
    return {"final": final, "counted": counted, "near": near, "of results": of_results, "unpaid": unpaid}


def expected_rows(events_of_cars: Mapping[str, Sequence[Sequence[Event[Any]]]] = EVENTS) -> list[tuple[Any, ...]]:
    """Return (car, start, end, km, doubled km, fare) of each row of the left join, by its definition."""
    rows: list[tuple[Any, ...]] = []
    for car, (rides, fares) in events_of_cars.items():
        for row in join(JoinKind.LEFT, rides, fares):
            rows.append((car, row.start, row.end, row.left, 2 * row.left, row.right))
    return sorted(rows, key=str)


def expected_unpaid_rides() -> list[tuple[Any, ...]]:
    """Return (car, start, end, km) of the parts of rides without a fare of the day, by the definition of joins."""
    rows: list[tuple[Any, ...]] = []
    for car, (rides, fares) in EVENTS.items():
        for row in join(JoinKind.ANTI, rides, fares, lambda km, fare: is_for(km + 0.5, fare, "day")):
            rows.append((car, row.start, row.end, row.left))
    return sorted(rows)


def expected_counts() -> list[tuple[str, int, int]]:
    """Return (car, start, count) of each window of ten ticks: the rows of the left join that overlap it."""
    counts: Counter[tuple[str, int]] = Counter()
    for car, start, end, *_ in expected_rows():
        for window_start in range(0, 40, 10):
            if start < window_start + 10 and window_start < end:
                counts[car, window_start] += 1
    return sorted((car, window_start, count) for (car, window_start), count in counts.items())


def joined_rows(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return result rows as `expected_rows` has them."""
    return sorted(
        ((row["car"], *row["lifetime"].values(), row["km"], row["doubled"], row["fare"]) for row in rows), key=str
    )


def event_count(tables: Iterable[pa.Table]) -> int:
    """Return the number of rows that are neither punctuation nor the end of a stream."""
    count = 0
    for table in tables:
        for row in table.to_pylist():
            if row["change"] not in ("punctuate", "close"):
                count += 1
    return count


def test_a_join_goes_on_after_a_restart_and_its_results_are_events(spark: SparkSession, tmp_path: Path) -> None:
    rides = ride_tables()
    fares = fare_tables()
    checkpoint = tmp_path / "checkpoint"
    output: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for batch_count in (2, 3):
        ride_stream = stream_of(spark, tmp_path / "rides", rides[:batch_count])
        fare_stream = stream_of(spark, tmp_path / "fares", fares[:batch_count])
        new_batches = slice(2) if batch_count == 2 else slice(2, 3)
        new_events = event_count([*rides[new_batches], *fares[new_batches]])
        for name, rows in run_together(queries(ride_stream, fare_stream), checkpoint, new_events).items():
            output[name] += rows
        if batch_count == 2:
            assert joined_rows(output["final"]) == [("a", 2, 4, 15, 30, None), ("a", 4, 9, 15, 30, "day")]
            assert len(output["near"]) == 2
    assert joined_rows(output["final"]) == expected_rows()
    near = [(row["car"], *row["lifetime"].values(), row["km"]) for row in output["near"]]
    assert sorted(near) == [("a", 4, 8, 15), ("b", 4, 7, 20)]
    of_results = [(row["car"], *row["lifetime"].values(), row["n"], row["m"]) for row in output["of results"]]
    assert sorted(of_results) == [("a", 0, 10, 1, 2), ("b", 0, 10, 2, 1)]
    unpaid = sorted((row["car"], *row["lifetime"].values(), row["km"]) for row in output["unpaid"])
    assert unpaid == expected_unpaid_rides()
    counts = sorted((row["car"], row["window"]["start"], row["n"]) for row in output["counted"])
    assert counts == expected_counts()


def test_a_static_join_is_complete_and_shows_what_it_rejects(spark: SparkSession) -> None:
    nameless = pa.Table.from_pylist([{"change": "insert", "car": "b", "since": 30, "until": 40, "km": 1}], RIDES)
    rides = pa.concat_tables([*ride_tables(), nameless])
    fares = pa.concat_tables(fare_tables())
    query = queries(spark.createDataFrame(rides), spark.createDataFrame(fares))["final"]
    rows = collect(query.results())
    rides_of_b, fares_of_b = EVENTS["b"]
    events_of_b = ([*rides_of_b, Event(3, 9, 30)], lasting([*fares_of_b, Event(7, INFINITY, "late")]))
    assert joined_rows(rows) == expected_rows(EVENTS | {"b": events_of_b}), "a static input has no late rows"
    lines = query.plan_text().splitlines()
    assert "progress    left: punctuation rows" in lines
    assert (
        "row         a step for each kept event of its key, once in a batch, and for each event that it overlaps"
        in lines
    )
    assert dict(query.results().dtypes)["km"] == "int"
    assert [(row["input"], row["reason"]) for row in collect(query.rejected_rows())] == [("left", "null id")]


def test_a_stream_and_a_static_input_do_not_meet(spark: SparkSession, tmp_path: Path) -> None:
    rides = stream_of(spark, tmp_path / "rides", ride_tables()[:1])
    with pytest.raises(QueryError, match="all streams, or all static DataFrames"):
        queries(rides, spark.createDataFrame(fare_tables()[0]))
