"""Integer times with a unit: lengths are time, and results are in the unit."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import QueryError, correct, count_by_start, hopping, tumbling
from muntin_engine import events, module
from tests.spark.modules import Count
from tests.spark.running import collect_together


def test_windows_over_milliseconds_are_as_long_as_they_say(spark: SparkSession) -> None:
    df = spark.sql("SELECT * FROM VALUES (0L), (599999L), (600000L), (1800000L) AS (at)")
    stream = events(df, at="at", unit="ms", buckets=1)
    tens = stream.window(tumbling("10 minutes")).aggregate(n=module(Count))
    pairs = stream.window(count_by_start(4)).aggregate(n=module(Count))
    halves = tens.named("input").as_events(buckets=1).window(hopping("30 minutes", "30 minutes"))
    found = collect_together({"tens": tens, "pairs": pairs, "halves": halves.aggregate(n=module(Count))})
    extents = {
        name: [(row["window"]["start"], row["window"]["end"], row["n"]) for row in found[name]] for name in found
    }
    assert sorted(extents["tens"]) == [(0, 600000, 2), (600000, 1200000, 1), (1800000, 2400000, 1)]
    assert extents["pairs"] == [(0, 1800001, 4)]
    assert sorted(extents["halves"]) == [(0, 1800000, 2), (1800000, 3600000, 1)]


def test_a_length_that_means_nothing_on_the_axis_is_refused_with_what_to_write(spark: SparkSession) -> None:
    integers, at = spark.range(3), F.timestamp_millis("id")

    def rejection(window: Any, **columns: Any) -> str:
        with pytest.raises(QueryError) as failure:
            events(integers, **columns).window(window).aggregate(n=module(Count))
        return str(failure.value)

    assert "the size of a window is 10 minutes, and the times in id are integers" in rejection(
        tumbling("10 minutes"), at="id"
    )
    assert "'10 seconds' or timedelta(seconds=10)" in rejection(tumbling(10), at=at)
    assert "the delay is the bare number 60" in rejection(tumbling("1 hour"), at=at, delay=60)
    assert "the allowed lateness is the bare number 5" in rejection(tumbling("1 hour"), at=at, late=correct(5))
    assert "are in ms" in rejection(tumbling(10), at="id", unit="ms")
