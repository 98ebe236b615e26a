"""Joins on Spark: read, evaluated, gone on with after a restart, and read as events by another query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import INFINITY, Event, JoinKind, tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, Query, condition, events, module
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
        rides=[
            # change, car, id, since, until, now_until, km
            ("insert", "a", 1, 2, 14, None, 15),
            ("insert", "b", 2, 4, 40, None, 20),
            ("punctuate", "", 0, 5, 0, None, 0),
        ],
        fares=[
            # change, plate, at, fare
            ("insert", "a", 4, "day"),
            ("insert", "b", 1, "day"),
            ("punctuate", "", 5, ""),
        ],
    ),
    Arrivals(
        rides=[
            ("revise", "b", 2, 4, 40, 25, None),
            ("insert", "b", 3, 3, 9, None, 30),  # late: rides are complete up to 5
            ("punctuate", "", 0, 20, 0, None, 0),
        ],
        fares=[
            ("insert", "a", 9, "night"),
            ("insert", "b", 30, "night"),
            ("punctuate", "", 10, ""),
        ],
    ),
    Arrivals(
        rides=[
            ("insert", "a", 4, 22, 30, None, 40),
            ("close", "", 0, None, None, None, 0),
        ],
        fares=[
            ("insert", "b", 20, "evening"),  # not late, although rides are complete up to 20: fares are up to 10
            ("insert", "b", 7, "late"),
            ("close", "", None, ""),
        ],
    ),
)
"""Rides that last and may be revised, and fares that hold until the next one of the same plate."""

RIDES_IN_THE_END = {
    "a": [Event(start=2, end=14, payload=15), Event(start=22, end=30, payload=40)],
    "b": [Event(start=4, end=25, payload=20)],
}
"""The rides of each car that are left in the end, with their kilometres."""

FARES_IN_THE_END = {
    "a": [Event(4, INFINITY, "day"), Event(9, INFINITY, "night")],
    "b": [Event(1, INFINITY, "day"), Event(20, INFINITY, "evening"), Event(30, INFINITY, "night")],
}
"""The fares of each plate that are left in the end, each from its start on."""


def ride_tables() -> list[pa.Table]:
    """Return the rides of each micro-batch."""
    return [table_of(RIDES, batch.rides) for batch in BATCHES]


def fare_tables() -> list[pa.Table]:
    """Return the fares of each micro-batch."""
    return [table_of(FARES, batch.fares) for batch in BATCHES]


# The queries: each joins something of the rides with something of the fares.


def lasting_rides(rides: DataFrame) -> EventStream:
    """Return the rides from their starts to their ends, which may be revised."""
    return events(
        rides,
        key="car",
        id="id",
        start="since",
        end="until",
        change="change",
        new_end="now_until",
        buckets=2,
    )


def holding_fares(fares: DataFrame) -> EventStream:
    """Return the fares, each of which holds until the next one of its plate."""
    return events(fares, key="plate", at="at", edge=True, change="change")


def rides_with_fares(rides: DataFrame, fares: DataFrame) -> Query:
    """Return the parts of each ride with the fare that holds, if one does."""
    return lasting_rides(rides).join(
        holding_fares(fares),
        "left",
        left_columns={"km": "km", "doubled": rides.km * 2},
        right_columns=["fare"],
    )


def counts_of_rides_with_fares(rides: DataFrame, fares: DataFrame) -> Query:
    """Return how many of these parts overlap each window of ten ticks, by a query over the results of the join."""
    eager = lasting_rides(rides).join(
        holding_fares(fares), "left", left_columns=["km"], right_columns=["fare"], emit="eager"
    )
    return eager.as_events(key="car", buckets=1).window(tumbling(10)).aggregate(n=module("stats.count"))


def starts_near_new_fares(rides: DataFrame, fares: DataFrame) -> Query:
    """Return where the first ticks of rides overlap those of fares: a start and the five ticks after it."""
    starts = events(rides, key="car", at="since", change="change", buckets=2).extend(5)
    changes_of_fares = events(fares, key="plate", at="at", change="change").extend(5)
    return starts.join(changes_of_fares, left_columns=["km"])


def counts_of_rides_and_fares(rides: DataFrame, fares: DataFrame) -> Query:
    """Return how many rides and how many fares begin in each window of ten ticks: a join of the results of queries."""
    starts = events(rides, key="car", at="since", change="change", buckets=2)
    rides_per_ten = starts.window(tumbling(10)).aggregate(n=module("stats.count")).as_events(key="car", buckets=2)

    # The fares of ten ticks are added up from those of five: a query over the results of a query.
    new_fares = events(fares, key="plate", at="at", change="change", buckets=2)
    fares_per_five = new_fares.window(tumbling(5)).aggregate(m=module("stats.count")).as_events(key="plate", buckets=2)
    sums_of_fives = fares_per_five.window(tumbling(10)).aggregate(m=module("stats.sum", "m"))
    fares_per_ten = sums_of_fives.as_events(key="plate", buckets=2)

    return rides_per_ten.join(fares_per_ten, left_columns=["n"], right_columns=["m"])


def rides_without_a_day_fare(rides: DataFrame, fares: DataFrame) -> Query:
    """Return the parts of each ride while no fare of the day holds, by a condition on both sides."""
    has_day_fare = condition(is_for, left=rides.km + 0.5, right="fare", kind="day")
    return lasting_rides(rides).join(holding_fares(fares), "anti", left_columns=["km"], on=has_day_fare)


def is_for(km: float, fare: str, kind: str) -> bool | None:
    """True if a fare is of a kind; None if the ride is longer than 40 km."""
    return None if km > 40 else fare == kind


QUERIES = (
    rides_with_fares,
    counts_of_rides_with_fares,
    starts_near_new_fares,
    counts_of_rides_and_fares,
    rides_without_a_day_fare,
)


class TwoRuns(NamedTuple):
    """The results of each query, by its name, of a stream that was stopped after two micro-batches and went on.

    Attributes:
        first: The results of the first two micro-batches.
        all: The results of all three, of both runs.
    """

    first: dict[str, list[dict[str, Any]]]
    all: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def two_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TwoRuns:
    """All queries over the streams of rides and fares, as one query of Spark that is started twice."""
    folder = tmp_path_factory.mktemp("joins")
    rides = ride_tables()
    fares = fare_tables()

    def run(batch_count: int, new_batches: slice) -> dict[str, list[dict[str, Any]]]:
        ride_stream = stream_of(spark, folder / "rides", rides[:batch_count])
        fare_stream = stream_of(spark, folder / "fares", fares[:batch_count])
        queries = {query.__name__: query(ride_stream, fare_stream) for query in QUERIES}
        new_events = event_count([*rides[new_batches], *fares[new_batches]])
        return run_together(queries, folder / "checkpoint", new_events)

    first = run(2, new_batches=slice(0, 2))
    second = run(3, new_batches=slice(2, 3))
    return TwoRuns(first, all={name: [*first[name], *second[name]] for name in first})


def event_count(tables: Iterable[pa.Table]) -> int:
    """Return the number of rows that are neither punctuation nor the end of a stream."""
    count = 0
    for table in tables:
        for row in table.to_pylist():
            if row["change"] not in ("punctuate", "close"):
                count += 1
    return count


Part = tuple[Any, ...]
"""A row of `rides_with_fares`: car, start, end, km, doubled km, fare."""


def expected_parts(
    rides_by_car: Mapping[str, Sequence[Event[int]]] = RIDES_IN_THE_END,
    fares_by_car: Mapping[str, Sequence[Event[str]]] = FARES_IN_THE_END,
) -> list[Part]:
    """Return the rows of the left join, by the definition of joins."""
    parts: list[Part] = []
    for car, rides in rides_by_car.items():
        for row in join(JoinKind.LEFT, rides, lasting(fares_by_car[car])):
            parts.append((car, row.start, row.end, row.left, 2 * row.left, row.right))
    return sorted(parts, key=str)


def parts_of(results: Sequence[dict[str, Any]]) -> list[Part]:
    """Return the result rows of `rides_with_fares` in order."""
    parts = [(row["car"], *row["lifetime"].values(), row["km"], row["doubled"], row["fare"]) for row in results]
    return sorted(parts, key=str)


def test_a_left_join_of_revised_rides_goes_on_after_a_restart(two_runs: TwoRuns) -> None:
    # Fares are complete up to 10, so the ends of those that hold then are not known: "night" of a, and "day" of b.
    assert parts_of(two_runs.first["rides_with_fares"]) == [("a", 2, 4, 15, 30, None), ("a", 4, 9, 15, 30, "day")]

    assert parts_of(two_runs.all["rides_with_fares"]) == expected_parts()


def test_the_results_of_a_join_are_events_of_another_query(two_runs: TwoRuns) -> None:
    results = two_runs.all["counts_of_rides_with_fares"]
    counts = {(row["car"], row["window"]["start"]): row["n"] for row in results}

    expected_counts: Counter[tuple[str, int]] = Counter()
    for car, start, end, *_ in expected_parts():
        for window_start in range(0, 40, 10):
            if start < window_start + 10 and window_start < end:
                expected_counts[car, window_start] += 1
    assert counts == expected_counts
    assert len(results) == len(counts)


def test_a_join_of_points_has_the_time_that_their_lifetimes_share(two_runs: TwoRuns) -> None:
    assert len(two_runs.first["starts_near_new_fares"]) == 2, "both are final as soon as they meet"
    # a: ride [2, 8) and fare [4, 10); b: ride [4, 10) and fare [1, 7)
    shared = [(row["car"], *row["lifetime"].values(), row["km"]) for row in two_runs.all["starts_near_new_fares"]]
    assert sorted(shared) == [("a", 4, 8, 15), ("b", 4, 7, 20)]


def test_the_results_of_two_queries_are_joined(two_runs: TwoRuns) -> None:
    results = two_runs.all["counts_of_rides_and_fares"]
    # columns: car, start, end, rides, fares
    counts = [(row["car"], *row["lifetime"].values(), row["n"], row["m"]) for row in results]
    assert sorted(counts) == [("a", 0, 10, 1, 2), ("b", 0, 10, 2, 1)]


def test_an_anti_join_has_the_parts_of_rides_without_a_fare_that_meets_the_condition(two_runs: TwoRuns) -> None:
    results = two_runs.all["rides_without_a_day_fare"]
    # columns: car, start, end, km
    parts = [(row["car"], *row["lifetime"].values(), row["km"]) for row in results]

    def has_day_fare(km: int, fare: str) -> bool | None:
        return is_for(km + 0.5, fare, "day")

    expected: list[tuple[Any, ...]] = []
    for car, rides in RIDES_IN_THE_END.items():
        for row in join(JoinKind.ANTI, rides, lasting(FARES_IN_THE_END[car]), has_day_fare):
            expected.append((car, row.start, row.end, row.left))
    assert sorted(parts) == sorted(expected)


@pytest.fixture
def static_rides(spark: SparkSession) -> DataFrame:
    """All rows of the rides as a table."""
    return spark.createDataFrame(pa.concat_tables(ride_tables()))


@pytest.fixture
def static_fares(spark: SparkSession) -> DataFrame:
    """All rows of the fares as a table."""
    return spark.createDataFrame(pa.concat_tables(fare_tables()))


def test_a_join_of_points_is_computed_pair_by_pair(static_rides: DataFrame, static_fares: DataFrame) -> None:
    query = starts_near_new_fares(static_rides, static_fares)

    assert query.plan.choice.evaluator == "pairing"


def test_the_plan_of_a_join_has_the_version_of_the_code_of_its_condition(
    static_rides: DataFrame, static_fares: DataFrame
) -> None:
    (code,) = rides_without_a_day_fare(static_rides, static_fares).plan.code

    assert code.name == "is_for"
    assert code.is_function
    assert code.version.startswith("code-")


def test_a_static_join_has_no_late_rows(static_rides: DataFrame, static_fares: DataFrame) -> None:
    query = rides_with_fares(static_rides, static_fares)

    rides = RIDES_IN_THE_END | {"b": [*RIDES_IN_THE_END["b"], Event(3, 9, 30)]}
    fares = FARES_IN_THE_END | {"b": [*FARES_IN_THE_END["b"], Event(7, INFINITY, "late")]}
    assert parts_of(collect(query.results())) == expected_parts(rides, fares)
    assert dict(query.results().dtypes)["km"] == "int"


def test_the_plan_of_a_join_says_the_progress_of_each_input_and_the_cost_of_a_row(
    static_rides: DataFrame, static_fares: DataFrame
) -> None:
    lines = rides_with_fares(static_rides, static_fares).plan_text().splitlines()

    assert "progress    left: punctuation rows" in lines
    cost = "a step for each kept event of its key, once in a batch, and for each event that it overlaps"
    assert f"row         {cost}" in lines


def test_a_row_that_a_join_rejects_is_shown_with_its_input(
    spark: SparkSession, static_rides: DataFrame, static_fares: DataFrame
) -> None:
    ride_without_id = pa.Table.from_pylist([{"change": "insert", "car": "b", "since": 30, "until": 40, "km": 1}], RIDES)
    rides = static_rides.union(spark.createDataFrame(ride_without_id))

    rejected_rows = collect(rides_with_fares(rides, static_fares).rejected_rows())

    assert [(row["input"], row["reason"]) for row in rejected_rows] == [("left", "null id")]


def test_a_stream_and_a_static_input_do_not_meet(spark: SparkSession, static_fares: DataFrame, tmp_path: Path) -> None:
    rides = stream_of(spark, tmp_path / "rides", ride_tables()[:1])
    with pytest.raises(QueryError, match="all streams, or all static DataFrames"):
        rides_with_fares(rides, static_fares)
