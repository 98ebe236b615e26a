"""Events as results on Spark: filtered, changed and revised, without a window or a join."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin.errors import PolicyError, QueryError
from muntin.policies import correct
from muntin_engine import EventStream, Recording, events, module, query_from_dict, read_state, union
from muntin_engine.recording.story import Fate
from tests.journeys.running import read_stream, write_batches

RIDES = pa.schema([("station", pa.string()), ("leaves", pa.int64()), ("km", pa.float64())])
CHANGES = pa.schema(
    [(name, pa.string()) for name in ("station", "does", "ride")]
    + [(name, pa.int64()) for name in ("start", "end", "new_end")]
    + [("km", pa.float64())]
)


def rides(*rows: tuple[str, int, float]) -> pa.Table:
    """Return a micro-batch of rides, each given as station, leaves and km."""
    return pa.Table.from_pylist([dict(zip(RIDES.names, row, strict=True)) for row in rows], RIDES)


def changes(*rows: dict[str, object]) -> pa.Table:
    """Return a micro-batch of changes of rides of one station."""
    return pa.Table.from_pylist([{"station": "north", **row} for row in rows], CHANGES)


def test_a_table_gives_the_events_that_meet_a_condition_with_their_new_lifetimes(spark: SparkSession) -> None:
    # leaves      1 (25 km)   2 (3 km)   4 (21 km)
    # lifetime   [1, 4)                 [4, 7)
    table = spark.createDataFrame(
        [("north", 1, 25.0), ("north", 2, 3.0), ("south", 4, 21.0)], "station string, leaves long, km double"
    )
    long_rides = events(table, key="station", at="leaves").where("km > 20").set_duration(3).with_columns(miles="km / 2")
    rows = long_rides.results().orderBy("lifetime").collect()
    assert [row.asDict(recursive=True) for row in rows] == [
        {"station": "north", "lifetime": {"start": 1, "end": 4}, "km": 25.0, "miles": 12.5},
        {"station": "south", "lifetime": {"start": 4, "end": 7}, "km": 21.0, "miles": 10.5},
    ]


@pytest.mark.nightly
def test_a_stream_with_a_watermark_writes_each_event_once_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    # leaves   8, 9 | 1 is late by the watermark 9 - 5 = 4, 6 is not
    first_batches = [rides(("north", 8, 30.0), ("north", 9, 2.0)), rides()]
    folder = write_batches(tmp_path / "in", first_batches)
    stream = events(read_stream(spark, folder), key="station", at="leaves", watermark=5, buckets=2)
    query = stream.where("km > 20").to_query()
    outputs = {name: str(tmp_path / name) for name in ("results", "late_rows")}

    def run() -> None:
        query.write(checkpoint=tmp_path / "checkpoint", available_now=True, **outputs).awaitTermination()

    run()
    write_batches(folder, [*first_batches, rides(("south", 1, 40.0), ("south", 6, 50.0))])
    run()

    rows = [(row.station, row.lifetime.start, row.km) for row in spark.read.parquet(outputs["results"]).collect()]
    assert sorted(rows) == [("north", 8, 30.0), ("south", 6, 50.0)]
    (late_row,) = spark.read.parquet(outputs["late_rows"]).collect()
    assert late_row.late_by == 3


def test_events_of_a_stream_without_a_watermark_pass_without_state_in_any_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = write_batches(tmp_path / "in", [rides(("north", 8, 30.0)), rides(("north", 1, 40.0), ("north", 2, 5.0))])
    stream = events(read_stream(spark, folder), key="station", at="leaves").where("km > 20")

    assert "evaluator   stateless" in stream.to_query().plan_text()
    stream.write(
        checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", available_now=True
    ).awaitTermination()
    rows = [(row.station, row.lifetime.start) for row in spark.read.parquet(str(tmp_path / "results")).collect()]
    assert sorted(rows) == [("north", 1), ("north", 8)]


# The lifetime of each ride   a   [1, ...   then it ends at 4
#                             b   [2, 5)    then it is retracted
#                             c   [2, 5)    of 1 km, then it is retracted
REVISED_RIDES = [
    changes(
        {"does": "insert", "ride": "a", "start": 1, "km": 30.0},
        {"does": "insert", "ride": "b", "start": 2, "end": 5, "km": 40.0},
        {"does": "insert", "ride": "c", "start": 2, "end": 5, "km": 1.0},
    ),
    changes(
        {"does": "revise", "ride": "a", "start": 1, "new_end": 4},
        {"does": "retract", "ride": "b", "start": 2, "end": 5},
        {"does": "retract", "ride": "c", "start": 2, "end": 5},
    ),
    changes({"does": "punctuate", "start": 9}),
]


def long_rides(stream: DataFrame) -> EventStream:
    """Return the rides of more than 20 km as they are revised, which are a and b."""
    rides = events(
        stream,
        key="station",
        id="ride",
        start="start",
        end="end",
        change="does",
        new_end="new_end",
        buckets=2,
    )
    return rides.where("km > 20")


def test_eager_results_revise_and_retract_events_and_final_ones_wait(spark: SparkSession, tmp_path: Path) -> None:
    stream = long_rides(read_stream(spark, write_batches(tmp_path / "in", REVISED_RIDES)))

    for emit in ("eager", "final"):
        query = stream.to_query(emit=emit)
        query.write(
            checkpoint=tmp_path / f"{emit} checkpoint", results=tmp_path / emit, available_now=True
        ).awaitTermination()

    insertions_first = (F.col("change") != "insert", F.col("ride"))
    eager_rows = spark.read.parquet(str(tmp_path / "eager")).orderBy(*insertions_first).collect()
    assert [(row.change, row.ride, row.lifetime.start, row.lifetime.end, row.new_end) for row in eager_rows] == [
        # change, ride, start, end, new end
        ("insert", "a", 1, None, None),
        ("insert", "b", 2, 5, None),
        ("revise", "a", 1, None, 4),
        ("retract", "b", 2, 5, None),
    ]
    (final_row,) = spark.read.parquet(str(tmp_path / "final")).drop("batch").collect()
    assert final_row.asDict(recursive=True) == {
        "station": "north",
        "lifetime": {"start": 1, "end": 4},
        "ride": "a",
        "km": 30.0,
    }


@pytest.mark.nightly
def test_a_recording_of_events_leads_from_each_to_its_row(spark: SparkSession, tmp_path: Path) -> None:
    stream = long_rides(read_stream(spark, write_batches(tmp_path / "in", REVISED_RIDES[:1])))
    stream.write(
        checkpoint=tmp_path / "checkpoint",
        results=tmp_path / "results",
        record=tmp_path / "recording",
        available_now=True,
        on_end="close",
    ).awaitTermination()

    story = Recording(tmp_path / "recording").story()
    members_by_ride = {change.values["ride"]: list(change.members) for change in story.changes}
    assert members_by_ride == {"a": [story.rows[0].number], "b": [story.rows[1].number]}
    assert [row.fate for row in story.rows[:3]] == [Fate.COUNTED, Fate.COUNTED, Fate.FILTERED]


@pytest.mark.nightly
def test_the_state_of_events_that_may_change_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    stream = long_rides(read_stream(spark, write_batches(tmp_path / "in", REVISED_RIDES[:1])))
    stream.write(
        checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", available_now=True
    ).awaitTermination()

    state = read_state(spark, tmp_path / "checkpoint").collect()

    # rides a and b, and c, which is known as left out
    assert sorted((row.kind, row.start) for row in state) == [("event", 1), ("event", 2), ("filtered", 2)]


def test_results_of_a_query_are_filtered_and_passed_on(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [("north", at, 1.0) for at in (1, 2, 3, 11)], "station string, leaves long, km double"
    )
    counts = events(table, key="station", at="leaves").window(tumbling(10)).aggregate(n=module("stats.count"))

    (row,) = counts.as_events().where("n > 1").to_query().results().collect()

    assert row.asDict(recursive=True) == {"station": "north", "lifetime": {"start": 0, "end": 10}, "n": 3}


def test_events_of_a_union_are_passed_on_together(spark: SparkSession) -> None:
    table = spark.createDataFrame([("north", 1, 1.0), ("south", 2, 2.0)], "station string, leaves long, km double")
    rides = events(table, key="station", at="leaves")

    united = union(first=rides, second=rides.shift(10))

    rows = sorted((row.station, row.lifetime.start, row.km) for row in united.results().collect())
    assert rows == [("north", 1, 1.0), ("north", 11, 1.0), ("south", 2, 2.0), ("south", 12, 2.0)]


def test_a_column_that_a_time_is_computed_from_stays(spark: SparkSession) -> None:
    table = spark.sql("SELECT 'north' AS station, 7 AS minute, 1.5D AS km")

    (row,) = events(table, key=F.upper("station"), at=F.col("minute") * 60).results().collect()

    assert row.lifetime.start == 7 * 60
    assert row.minute == 7
    assert row.station == "north"
    assert row.km == 1.5


def test_a_query_without_windows_is_written_as_data_and_read_again(spark: SparkSession) -> None:
    table = spark.sql("SELECT 'north' AS station, 7 AS leaves, 30.0D AS km")
    query = events(table, key="station", at="leaves").where("km > 20").to_query(emit="eager")

    query_from_data = query_from_dict(query.to_dict(rides=table), {"rides": table})

    assert query_from_data.plan == query.plan
    with pytest.raises(QueryError, match="no text in SQL"):
        query.to_sql()


def test_what_events_without_windows_cannot_do_is_refused_with_what_to_write(spark: SparkSession) -> None:
    table = spark.sql("SELECT 'north' AS station, 7 AS leaves, 30.0D AS km, 1 AS lifetime")
    with pytest.raises(QueryError, match="two columns named 'lifetime'"):
        events(table, key="station", at="leaves").results()
    stream = events(table.drop("lifetime"), key="station", at="leaves", watermark=5)
    with pytest.raises(PolicyError, match="events without windows have no windows to be early for"):
        stream.to_query(emit="speculative")
    with pytest.raises(PolicyError, match=r"leave out shedding\(\)"):
        stream.shedding(most_held=10).to_query()
    corrected = events(table.drop("lifetime"), key="station", at="leaves", watermark=5, late_policy=correct(10))
    with pytest.raises(PolicyError, match="use late_policy='side' and a longer delay"):
        corrected.to_query()


def test_a_stream_of_events_that_is_written_needs_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "in", [rides()])
    stream = events(read_stream(spark, folder), key="station", at="leaves")
    with pytest.raises(QueryError, match=r"write\(\) needs a checkpoint"):
        stream.write(results=str(tmp_path / "results"))
