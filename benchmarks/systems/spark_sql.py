"""Spark's own SQL where streams meet or follow one another: no Python runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.system import SparkSystem
from benchmarks.systems.viewed import viewed
from benchmarks.windows import Band, Nexmark, Views
from benchmarks.windows.band import IS_LEFT
from benchmarks.windows.nexmark import ARE_AUCTIONS, ARE_PEOPLE, EURO, PERIOD, SIZE, SKIP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkSql(SparkSystem):
    """Stream-stream joins and chained aggregations, in append mode."""

    name = "spark sql"
    has = (Band, Nexmark, Views)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        known = stream.withWatermark("at", f"{question.delay} seconds")
        if isinstance(question.windows, Band):
            return _pairs(known, question.windows.reach)
        if isinstance(question.windows, Views):
            return _views(viewed(known), question.windows.size)
        assert isinstance(question.windows, Nexmark)
        match question.windows.query:
            case 0:
                return stream.selectExpr("key", "at AS start", "value")
            case 1:
                return stream.selectExpr("key", "at AS start", f"value * {EURO}D AS value")
            case 2:
                return stream.where(f"key % {SKIP} = 0").selectExpr("key", "at AS start", "value")
            case 5:
                return _hot(known)
            case 7:
                return _highest(known)
        return _new_sellers(known)


def _pairs(known: DataFrame, reach: int) -> DataFrame:
    from pyspark.sql import functions as F

    left = known.where(IS_LEFT).selectExpr("key", "at AS start")
    right = known.where(f"NOT ({IS_LEFT})").selectExpr("key AS other", "at", "value")
    is_near = f"key = other AND at BETWEEN start - INTERVAL {reach} SECONDS AND start + INTERVAL {reach} SECONDS"
    return left.join(right, F.expr(is_near)).select("key", "start", "value")


def _views(seen: DataFrame, size: int) -> DataFrame:
    from pyspark.sql import functions as F

    counted = seen.groupBy("campaign", F.window("at", f"{size} seconds").alias("window")).count()
    return counted.selectExpr("campaign AS key", "window.start AS start", "CAST(count AS double) AS value")


def _hot(known: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("at", f"{SIZE} seconds", f"{PERIOD} seconds")
    counted = known.groupBy(window.alias("window"), "key").count()
    most = counted.groupBy("window").agg(
        F.max("count").alias("most"), F.collect_list(F.struct("key", "count")).alias("counts")
    )
    hot = most.selectExpr("window.start AS start", "inline(filter(counts, it -> it.count = most))")
    return hot.selectExpr("key", "start", "CAST(count AS double) AS value")


def _highest(known: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    of_windows = known.groupBy(F.window("at", f"{SIZE} seconds").alias("window"))
    best = of_windows.agg(F.max(F.struct("value", "key")).alias("best"))
    return best.selectExpr("best.key AS key", "window.start AS start", "best.value AS value")


def _new_sellers(known: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    window = F.window("at", f"{SIZE} seconds").alias("window")
    came = known.where(ARE_PEOPLE).select("key", window)
    opened = known.where(ARE_AUCTIONS).select("key", window, "value")
    return came.join(opened, ["key", "window"]).selectExpr("key", "window.start AS start", "value")
