"""Integer times with a unit, and decimals: lengths and results are what the times are."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import count_by_start, hopping, tumbling
from muntin.errors import QueryError
from muntin.rows import last
from muntin_engine import events, module
from tests.journeys.running import MemorySink, collect_together, stream_of
from tests.modules.members import Count, Lifetimes


def test_windows_over_milliseconds_are_as_long_as_they_say(spark: SparkSession) -> None:
    df = spark.sql("SELECT * FROM VALUES (0L), (599999L), (600000L), (1800000L) AS (at)")
    stream = events(df, at="at", unit="ms", buckets=1)
    tens = stream.window(tumbling("10 minutes")).aggregate(n=module(Count))
    pairs = stream.window(count_by_start(4)).aggregate(n=module(Count))
    halves = tens.named("input").as_events(buckets=1).window(hopping("30 minutes", "30 minutes"))
    results = collect_together({"tens": tens, "pairs": pairs, "halves": halves.aggregate(n=module(Count))})
    assert values_by_extent(results["tens"]) == {(0, 600000): 2, (600000, 1200000): 1, (1800000, 2400000): 1}
    assert values_by_extent(results["pairs"]) == {(0, 1800001): 4}
    assert values_by_extent(results["halves"]) == {(0, 1800000): 2, (1800000, 3600000): 1}


def values_by_extent(rows: list[dict[str, Any]]) -> dict[tuple[Any, Any], Any]:
    """Return the result `n` of each window, of which there is one row, by its start and end."""
    values: dict[tuple[Any, Any], Any] = {}
    for row in rows:
        extent = (row["window"]["start"], row["window"]["end"])
        assert extent not in values
        values[extent] = row["n"]
    return values


STEP = Decimal("0.25")
STEPS = tumbling(STEP)
PRICES = [Decimal(text) for text in ("-0.30", "0.00", "0.24", "0.25", "0.26", "1.75", "99.99")]


def test_decimals_are_an_axis_with_windows_in_their_own_numbers(spark: SparkSession) -> None:
    """ON-06, TH-11: the windows of a number are those that contain it, found by arithmetic on decimals alone."""
    rows = [(number, price) for number, price in enumerate(PRICES)]
    df = spark.createDataFrame(rows, "n int, price decimal(4,2)")
    stream = events(df, at="price", buckets=1)
    stream_in_order = events(df, at="price", order="n", buckets=1)
    steps = stream.window(tumbling(STEP)).aggregate(n=module(Count))
    queries = {
        "steps": steps,
        "general": stream.window(hopping(1, STEP)).aggregate(n=module(Lifetimes, "n")),
        "rows": stream_in_order.window(last(2)).aggregate(n=module(Count)),
        "fours": stream.window(count_by_start(4)).aggregate(n=module(Count)),
        "whole": steps.named("inner").as_events(buckets=1).window(tumbling(50)).aggregate(n=module(Count)),
    }
    results = collect_together(queries)
    windows = {name: values_by_extent(result_rows) for name, result_rows in results.items()}

    # A price counts in the step that contains it; the division of Decimal rounds to zero, and not down.
    starts = [(price // STEP - (price < 0 and price % STEP != 0)) * STEP for price in PRICES]
    assert windows["steps"] == {(float(start), float(start + STEP)): starts.count(start) for start in starts}

    # The windows of length 1 that begin up to three steps before that of a price have it, with its lifetime of 0.01.
    lifetimes: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for step_start in starts:
        for steps_back in range(4):
            start = step_start - STEP * steps_back
            members = []
            for number, price in rows:
                if start <= price < start + 1:
                    members.append({"_1": float(price), "_2": float(price + Decimal("0.01")), "_3": number})
            lifetimes[float(start), float(start + 1)] = members
    assert windows["general"] == lifetimes

    hundredth = 0.01
    assert windows["fours"] == {
        (float(first), float(fourth) + hundredth): 4 for first, fourth in zip(PRICES, PRICES[3:], strict=False)
    }
    pairs_of_rows = {(float(first), float(second) + hundredth): 2 for first, second in pairwise(PRICES)}
    first_row_alone = {(float(PRICES[0]), float(PRICES[0]) + hundredth): 1}
    assert windows["rows"] == pairs_of_rows | first_row_alone
    assert windows["whole"] == {(-50.0, 0.0): 1, (0.0, 50.0): 3, (50.0, 100.0): 1}
    window = steps.results().schema["window"].dataType
    assert window.simpleString() == "struct<start:decimal(19,2),end:decimal(19,2)>"
    assert "tumbling(Decimal('0.25'))" in steps.plan_text()


@pytest.mark.nightly
def test_a_stream_of_decimals_says_late_and_bad_rows_in_decimals(spark: SparkSession, tmp_path: Path) -> None:
    """ON-06, TH-11."""

    def batch(*numbers: str | None) -> pa.Table:
        marks = [None if number is None else Decimal(number) for number in numbers]
        return pa.table({"mark": pa.array(marks, pa.decimal128(38, 2))})

    batches = [batch("1.10", "3.00"), batch("1.20", "2.60", f"{2**62}.00", None), batch("9")]
    stream = events(stream_of(spark, tmp_path / "in", batches), at="mark", watermark=Decimal("0.50"), buckets=1)
    query = stream.window(tumbling(STEP)).aggregate(n=module(Count))
    sinks: dict[str, Any] = {name: MemorySink() for name in ("results", "late_rows", "rejected_rows", "metrics")}
    query.write(checkpoint=tmp_path / "checkpoint", available_now=True, **sinks).awaitTermination()
    ends = [(row["window"]["end"], row["n"]) for row in sinks["results"].rows]
    assert sorted(ends) == [(Decimal("1.25"), 1), (Decimal("2.75"), 1), (Decimal("3.25"), 1)]
    watermarks = [row["watermark"] for row in sinks["metrics"].rows]
    assert watermarks[:3] == [Decimal("2.50"), Decimal("2.50"), Decimal("8.50")]
    (late,) = sinks["late_rows"].rows
    assert json.loads(late["row"]) == {"mark": "1.20"}
    assert late["late_by"] == Decimal("1.30")
    assert "1.20" in late["message"]
    far, missing = sinks["rejected_rows"].rows
    assert far["reason"] == "time out of range"
    assert missing["reason"] == "null time"
    assert json.loads(far["row"])["mark"] == f"{2**62}.00"


@pytest.mark.cases(1)
@pytest.mark.parametrize("zone", ["UTC", None])
def test_a_row_behind_a_watermark_of_timestamps_is_late_by_an_interval(
    spark: SparkSession, tmp_path: Path, zone: str | None
) -> None:
    # minute        0   1   2   3   4   5   6   7
    # batch 0       x                       x        watermark 5 - delay 1 = 4
    # batch 1           x                            3 minutes late
    def batch(*minutes: int) -> pa.Table:
        times = [datetime(2024, 5, 1, 8, minute, tzinfo=UTC if zone else None) for minute in minutes]
        return pa.table({"at": pa.array(times, pa.timestamp("us", zone))})

    df = stream_of(spark, tmp_path / "in", [batch(0, 5), batch(1)])
    query = events(df, at="at", watermark=timedelta(minutes=1), buckets=1).window(tumbling("2 minutes"))
    counts = query.aggregate(n=module(Count))
    folder = tmp_path / "late"
    counts.write(
        checkpoint=tmp_path / "checkpoint", results=MemorySink(), late_rows=folder, available_now=True
    ).awaitTermination()
    late = spark.read.parquet(str(folder))
    assert dict(late.dtypes)["late_by"] == "interval day to second"
    assert [row["late_by"] for row in late.collect()] == [timedelta(minutes=3)]
    assert late.where("late_by > INTERVAL '2' MINUTE").count() == 1
    assert dict(counts.rejected_rows().dtypes)["late_by"] == "interval day to second"


def test_columns_that_are_no_axis_are_refused_with_what_to_write(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1.5D AS x, 'low' AS level, date'2024-05-01' AS day, 1.5BD AS d, 2.25BD AS e, 1L AS i")

    def refusal(window: Any = STEPS, **columns: Any) -> str:
        with pytest.raises(QueryError) as failure:
            events(df, **columns).window(window).aggregate(n=module(Count))
        return str(failure.value)

    assert "a float has no next one: 'CAST(x AS decimal(18, 6))'" in refusal(at="x")
    assert "'CAST(level AS timestamp)'" in refusal(at="level")
    assert "\"CASE level WHEN 'low' THEN 1 WHEN 'high' THEN 2 END\"" in refusal(at="level")
    assert "cast it, for example to timestamp" in refusal(at="day")
    assert "at most 18 places" in refusal(at=F.col("d").cast("decimal(30, 20)"))
    assert "must be of one type, got d decimal(2,1), e decimal(3,2)" in refusal(start="d", end="e")
    assert "are decimals of 1 places" in refusal(at="d")
    assert "give lengths as numbers, such as 5 or Decimal('0.25')" in refusal(tumbling("1 hour"), at="d")
    assert "are decimals, so unit='ms' says nothing" in refusal(at="d", unit="ms")
    assert "is Decimal('0.25'), and the times in i are integers" in refusal(at="i")
    assert "are timestamps" in refusal(at=F.timestamp_seconds("i"))


def test_decimals_follow_heartbeats_and_no_clock(spark: SparkSession) -> None:
    beats = spark.sql("SELECT 3.00BD AS sent, 1 AS x")
    bids = spark.sql("SELECT 1.00BD AS mark UNION ALL SELECT 2.50BD")
    stream = events(bids, at="mark", buckets=1).with_heartbeat(beats, at="sent", delay=Decimal("0.10"))
    results = stream.window(tumbling(STEP)).aggregate(n=module(Count)).results().select("window.*", "n").collect()
    assert sorted((row.start, row.n) for row in results) == [(Decimal("1.00"), 1), (Decimal("2.50"), 1)]
    with pytest.raises(QueryError, match="a clock reads time"):
        events(bids, at="mark").with_clock(spark.sql("SELECT timestamp_seconds(1) AS now")).window(STEPS).aggregate(
            n=module(Count)
        )
