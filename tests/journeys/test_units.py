"""Integer times with a unit, and decimals: lengths and results are what the times are."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import count_by_start, hopping, tumbling
from muntin.errors import QueryError
from muntin.rows import last
from muntin_engine import Query, events, module
from tests.journeys.running import MemorySink, collect_together, stream_of
from tests.modules.members import Count, Lifetimes

MINUTE = 60_000
"""A minute in milliseconds."""


def test_windows_over_milliseconds_are_as_long_as_they_say(spark: SparkSession) -> None:
    # minute   0, and 9:59.999 | 10 | 30
    df = spark.sql("SELECT * FROM VALUES (0L), (599999L), (600000L), (1800000L) AS (at)")
    stream = events(df, at="at", unit="ms", buckets=1)

    ten_minutes = stream.window(tumbling("10 minutes")).aggregate(n=module(Count))
    four_events = stream.window(count_by_start(4)).aggregate(n=module(Count))
    half_hours = ten_minutes.named("input").as_events(buckets=1).window(hopping("30 minutes", "30 minutes"))
    results = collect_together(
        {
            "ten minutes": ten_minutes,
            "four events": four_events,
            "half hours": half_hours.aggregate(n=module(Count)),
        }
    )

    assert values_by_extent(results["ten minutes"]) == {
        (0, 10 * MINUTE): 2,
        (10 * MINUTE, 20 * MINUTE): 1,
        (30 * MINUTE, 40 * MINUTE): 1,
    }
    assert values_by_extent(results["four events"]) == {(0, 30 * MINUTE + 1): 4}, "the last event lasts a millisecond"
    # Its events are the windows of ten minutes.
    assert values_by_extent(results["half hours"]) == {(0, 30 * MINUTE): 2, (30 * MINUTE, 60 * MINUTE): 1}


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

# Below zero, at a step's start, in the middle and at the last number of a step, and the last price that fits the type.
PRICES = [Decimal(text) for text in ("-0.30", "0.00", "0.24", "0.25", "0.26", "1.75", "99.99")]

STEP_STARTS = [Decimal(text) for text in ("-0.50", "0.00", "0.00", "0.25", "0.25", "1.75", "99.75")]
"""The start of the step that has each price."""

TICK = Decimal("0.01")
"""The least difference of two prices: a price, as a point event, lasts so long."""


class PricesBySpark(NamedTuple):
    """Queries over an axis of prices, and what Spark made of them.

    Attributes:
        steps: The query of the prices of each step.
        values: The result `n` of each window by its start and end, for each query.
    """

    steps: Query
    values: dict[str, dict[tuple[Any, Any], Any]]


@pytest.fixture(scope="module")
def prices(spark: SparkSession) -> PricesBySpark:
    """Windows of each evaluator over an axis of decimals, computed as one query of Spark."""
    df = spark.createDataFrame(list(enumerate(PRICES)), "n int, price decimal(4,2)")
    stream = events(df, at="price", buckets=1)
    stream_in_order = events(df, at="price", order="n", buckets=1)
    steps = stream.window(STEPS).aggregate(n=module(Count))
    queries = {
        "steps": steps,
        "hopping": stream.window(hopping(1, STEP)).aggregate(n=module(Lifetimes, "n")),
        "last two rows": stream_in_order.window(last(2)).aggregate(n=module(Count)),
        "four prices": stream.window(count_by_start(4)).aggregate(n=module(Count)),
        "fifties of steps": steps.named("inner").as_events(buckets=1).window(tumbling(50)).aggregate(n=module(Count)),
    }
    results = collect_together(queries)
    return PricesBySpark(steps, {name: values_by_extent(rows) for name, rows in results.items()})


def test_a_decimal_counts_in_the_window_that_contains_it(prices: PricesBySpark) -> None:
    """ON-06, TH-11: the window of a number is the one that contains it, also below zero: -0.30 is in [-0.50, -0.25)."""
    counts = Counter(STEP_STARTS)
    assert prices.values["steps"] == {(float(start), float(start + STEP)): n for start, n in counts.items()}

    # Its events are the steps: one at -0.50, three at 0.00, 0.25 and 1.75, one at 99.75.
    assert prices.values["fifties of steps"] == {(-50.0, 0.0): 1, (0.0, 50.0): 3, (50.0, 100.0): 1}


def test_hopping_windows_of_decimals_have_their_events_with_their_lifetimes(prices: PricesBySpark) -> None:
    """ON-06, TH-11."""
    lifetimes: dict[tuple[float, float], list[dict[str, Any]]] = {}
    # A window of length 1 has four steps, so those with a price begin at its step, or up to three before.
    for step_start in STEP_STARTS:
        for steps_back in range(4):
            window_start = step_start - STEP * steps_back
            window_end = window_start + 1
            members = []
            for number, price in enumerate(PRICES):
                if window_start <= price < window_end:
                    members.append({"_1": float(price), "_2": float(price + TICK), "_3": number})
            lifetimes[float(window_start), float(window_end)] = members

    assert prices.values["hopping"] == lifetimes


def test_windows_that_count_decimals_end_one_hundredth_after_their_last_one(prices: PricesBySpark) -> None:
    """ON-06, TH-11."""
    fours = zip(PRICES, PRICES[3:], strict=False)
    assert prices.values["four prices"] == {(float(first), float(fourth + TICK)): 4 for first, fourth in fours}

    pairs = {(float(first), float(second + TICK)): 2 for first, second in pairwise(PRICES)}
    first_row_alone = {(float(PRICES[0]), float(PRICES[0] + TICK)): 1}
    assert prices.values["last two rows"] == pairs | first_row_alone


def test_windows_over_decimals_are_shown_and_typed_as_decimals(prices: PricesBySpark) -> None:
    window_type = prices.steps.results().schema["window"].dataType
    assert window_type.simpleString() == "struct<start:decimal(19,2),end:decimal(19,2)>"
    assert "tumbling(Decimal('0.25'))" in prices.steps.plan_text()


@pytest.mark.nightly
def test_a_stream_of_decimals_says_late_and_bad_rows_in_decimals(spark: SparkSession, tmp_path: Path) -> None:
    """ON-06, TH-11."""
    # batch 0   1.10, 3.00                                     watermark 3.00 - delay 0.50 = 2.50
    # batch 1   1.20 is late, 2.60, one out of range, a null
    # batch 2   9                                              watermark 8.50: all windows of batches 0 and 1 close
    out_of_range = f"{2**62}.00"
    batches = [
        table_of_marks("1.10", "3.00"),
        table_of_marks("1.20", "2.60", out_of_range, None),
        table_of_marks("9"),
    ]
    stream = events(stream_of(spark, tmp_path / "in", batches), at="mark", watermark=Decimal("0.50"), buckets=1)
    query = stream.window(STEPS).aggregate(n=module(Count))
    sinks: dict[str, Any] = {name: MemorySink() for name in ("results", "late_rows", "rejected_rows", "metrics")}
    query.write(checkpoint=tmp_path / "checkpoint", available_now=True, **sinks).awaitTermination()

    ends = [(row["window"]["end"], row["n"]) for row in sinks["results"].rows]
    assert sorted(ends) == [(Decimal("1.25"), 1), (Decimal("2.75"), 1), (Decimal("3.25"), 1)]
    watermarks = [row["watermark"] for row in sinks["metrics"].rows]
    assert watermarks[:3] == [Decimal("2.50"), Decimal("2.50"), Decimal("8.50")]

    (late_row,) = sinks["late_rows"].rows
    assert json.loads(late_row["row"]) == {"mark": "1.20"}
    assert late_row["late_by"] == Decimal("1.30")
    assert "1.20" in late_row["message"]

    row_out_of_range, row_without_time = sinks["rejected_rows"].rows
    assert row_out_of_range["reason"] == "time out of range"
    assert json.loads(row_out_of_range["row"])["mark"] == out_of_range
    assert row_without_time["reason"] == "null time"


def table_of_marks(*marks: str | None) -> pa.Table:
    """Return a micro-batch of decimals in a column `mark`, wide enough for one that is no tick of the axis."""
    decimals = [None if mark is None else Decimal(mark) for mark in marks]
    return pa.table({"mark": pa.array(decimals, pa.decimal128(38, 2))})


@pytest.mark.cases(1)
@pytest.mark.parametrize("zone", ["UTC", None])
def test_a_row_behind_a_watermark_of_timestamps_is_late_by_an_interval(
    spark: SparkSession, tmp_path: Path, zone: str | None
) -> None:
    # minute        0   1   2   3   4   5
    # batch 0       x                   x        watermark 5 - delay 1 = 4
    # batch 1           x                        3 minutes late
    def batch(*minutes: int) -> pa.Table:
        times = [datetime(2024, 5, 1, 8, minute, tzinfo=UTC if zone else None) for minute in minutes]
        return pa.table({"at": pa.array(times, pa.timestamp("us", zone))})

    df = stream_of(spark, tmp_path / "in", [batch(0, 5), batch(1)])
    windows = events(df, at="at", watermark=timedelta(minutes=1), buckets=1).window(tumbling("2 minutes"))
    counts = windows.aggregate(n=module(Count))
    folder = tmp_path / "late"
    counts.write(
        checkpoint=tmp_path / "checkpoint", results=MemorySink(), late_rows=folder, available_now=True
    ).awaitTermination()

    late_rows = spark.read.parquet(str(folder))
    assert dict(late_rows.dtypes)["late_by"] == "interval day to second"
    assert [row["late_by"] for row in late_rows.collect()] == [timedelta(minutes=3)]
    assert late_rows.where("late_by > INTERVAL '2' MINUTE").count() == 1
    assert dict(counts.rejected_rows().dtypes)["late_by"] == "interval day to second"


def test_columns_that_are_no_axis_are_refused_with_what_to_write(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1.5D AS x, 'low' AS level, date'2024-05-01' AS day, 1.5BD AS d, 2.25BD AS e, 1L AS i")

    def refusal(window: Any = STEPS, **columns: Any) -> str:
        """Return the error of windows over the columns of times."""
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
    counts = stream.window(STEPS).aggregate(n=module(Count))
    rows = counts.results().select("window.*", "n").collect()
    assert sorted((row.start, row.n) for row in rows) == [(Decimal("1.00"), 1), (Decimal("2.50"), 1)]

    clock = spark.sql("SELECT timestamp_seconds(1) AS now")
    windows = events(bids, at="mark").with_clock(clock).window(STEPS)
    with pytest.raises(QueryError, match="a clock reads time"):
        windows.aggregate(n=module(Count))
