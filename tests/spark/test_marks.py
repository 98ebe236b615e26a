"""Rows of heartbeats and clocks among the events, on both kinds of axis."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from muntin import Axis
from muntin_engine.api.heartbeats import Heartbeat
from muntin_engine.plan.lengths import AxisScale
from muntin_engine.spark.other_streams import marks_of, with_marks

SECOND = 1_000_000
TIME, TICKS = AxisScale(Axis.TIME), AxisScale(Axis.TICKS)


def marks(df: DataFrame) -> list[dict[str, Any]]:
    """Return what is not null of each row."""
    rows: list[Row] = df.collect()
    return [{name: value for name, value in row.asDict().items() if value is not None} for row in rows]


def test_nothing_is_added_to_events_alone(spark: SparkSession) -> None:
    df = spark.range(1).select(F.lit(5).alias("start"))
    assert with_marks(df, marks_of(df.schema["start"], (), None, TICKS)) is df


def test_on_an_axis_of_integers(spark: SparkSession) -> None:
    df = spark.sql("SELECT 5L AS start, array(1) AS i0, 'a' AS k0")
    beats = spark.sql("SELECT 20 AS sent, 'north' AS link")
    clock = spark.sql("SELECT timestamp_seconds(7) AS reading")
    df = df.withColumn("change", F.lit("insert"))
    found = with_marks(df, marks_of(df.schema["start"], [Heartbeat(beats, "sent", 4, None)], clock, TICKS))
    assert found.schema["start"].dataType == df.schema["start"].dataType
    assert marks(found) == [
        {"start": 5, "i0": [1], "k0": "a", "change": "insert"},
        {"start": 16, "change": "punctuate"},
        {"start": 7 * SECOND, "change": "clock"},
    ]


def test_on_an_axis_of_time(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp_seconds(5) AS start, 'revise' AS change, 'south' AS source")
    beats = spark.sql("SELECT timestamp_seconds(20) AS sent, 'north' AS link")
    clock = spark.sql("SELECT timestamp_seconds(7) AS reading")
    beat = Heartbeat(beats, F.col("sent"), 4_500_000, "link")
    found = with_marks(df, marks_of(df.schema["start"], [beat], clock, TIME))
    assert marks(found.withColumn("start", F.unix_micros("start"))) == [
        {"start": 5 * SECOND, "change": "revise", "source": "south"},
        {"start": 15_500_000, "change": "punctuate", "source": "north"},
        {"start": 7 * SECOND, "change": "clock"},
    ]
