"""Spark's own windows and SQL with its own aggregates: no Python runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pandas as pd

from benchmarks.questions.band import IS_LEFT, Band
from benchmarks.questions.calendar_days import CalendarDays
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.nexmark import ARE_AUCTIONS, ARE_PEOPLE, EURO, PERIOD, SIZE, SKIP, Nexmark
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.questions.views import ADS, CAMPAIGNS, TYPES, Views
from benchmarks.systems.spark import StreamSystem, TableSystem

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HOUR: Final = 3600


def of_windows(stream: DataFrame, question: Question, delay: int) -> DataFrame:
    """Return the results of `window()` or `session_window()` with a built-in aggregate.

    Windows of Spark have a fixed length. Days of a time zone are days of its local times, which go back by an hour
    where summer time ends; so the watermark has to wait for an hour more.
    """
    from pyspark.sql import functions as F

    is_max = isinstance(question, Hopping) and question.aggregate == "max"
    aggregate = F.max("value") if is_max else F.avg("value")
    start = F.col("window.start")
    match question:
        case Session(gap):
            window = F.session_window("at", f"{gap} seconds")
        case Hopping(size, hop):
            window = F.window("at", f"{size} seconds", f"{hop} seconds")

        case CalendarDays(zone):
            stream = stream.withColumn("at", F.from_utc_timestamp("at", zone))  # the session is in UTC
            window = F.window("at", "1 day")
            start = F.to_utc_timestamp(start, zone)
            delay += _HOUR
        case _:
            raise TypeError(f"there is no {question} in Spark")
    grouped = stream.withWatermark("at", f"{delay} seconds").groupBy("key", window.alias("window"))
    return grouped.agg(aggregate.alias("value")).select("key", start.alias("start"), "value")


def of_table(rows: DataFrame, question: Question, _: int) -> DataFrame:
    """Return the results of `window()` with Spark's own average over a static input."""
    from pyspark.sql import functions as F

    return _grouped_table(rows, question, F.avg("value"))


def of_table_by_udf(rows: DataFrame, question: Question, _: int) -> DataFrame:
    """Return the results of `window()` with an average in Python: a call for each key and window."""
    from pyspark.sql.pandas.functions import pandas_udf

    def average(values: pd.Series) -> float:
        return float(values.mean())

    return _grouped_table(rows, question, pandas_udf(average, "double")("value"))  # type: ignore[call-overload, unused-ignore]


def _grouped_table(rows: DataFrame, question: Question, average: Column) -> DataFrame:
    """Return an average of each key and window over a static input."""
    from pyspark.sql import functions as F

    assert isinstance(question, Hopping), f"no case asks a table for {question}"
    window = F.window("at", f"{question.size} seconds", f"{question.hop} seconds")
    averages = rows.groupBy("key", window.alias("window")).agg(average.alias("value"))
    return averages.selectExpr("key", "window.start AS start", "value")


def of_joins(stream: DataFrame, question: Question, delay: int) -> DataFrame:
    """Return the results of stream-stream joins and chained aggregations."""
    rows = stream.withWatermark("at", f"{delay} seconds")
    match question:
        case Band(reach):
            return _pairs(rows, reach)
        case Views(size):
            return _views(campaigns_of_views(rows), size)
        case Nexmark(0):
            return stream.selectExpr("key", "at AS start", "value")
        case Nexmark(1):
            return stream.selectExpr("key", "at AS start", f"value * {EURO}D AS value")
        case Nexmark(2):
            return stream.where(f"key % {SKIP} = 0").selectExpr("key", "at AS start", "value")
        case Nexmark(5):
            return _hot_auctions(rows)
        case Nexmark(7):
            return _highest_bids(rows)
        case Nexmark(8):
            return _new_sellers(rows)
    raise TypeError(f"there is no {question} in Spark's SQL here")


def campaigns_of_views(stream: DataFrame) -> DataFrame:
    """Return the views with the campaign of their ad, as `campaign` and `at`.

    It is the part of the Yahoo streaming benchmark before its windows: plain Spark, for Muntin as well.
    """
    campaigns = stream.sparkSession.range(ADS).selectExpr("id AS ad", f"id % {CAMPAIGNS} AS campaign")
    events = stream.selectExpr("key AS ad", "at", f"{TYPES} AS type")
    return events.where("type = 'view'").join(campaigns, "ad").select("campaign", "at")


def _pairs(rows: DataFrame, reach: int) -> DataFrame:
    """Join the left and the right rows of a key that are at most `reach` seconds apart."""
    from pyspark.sql import functions as F

    left = rows.where(IS_LEFT).selectExpr("key", "at AS start")
    right = rows.where(f"NOT ({IS_LEFT})").selectExpr("key AS other", "at", "value")
    is_near = f"key = other AND at BETWEEN start - INTERVAL {reach} SECONDS AND start + INTERVAL {reach} SECONDS"
    return left.join(right, F.expr(is_near)).select("key", "start", "value")


def _views(views: DataFrame, size: int) -> DataFrame:
    """Count the views of each campaign in tumbling windows of `size` seconds."""
    from pyspark.sql import functions as F

    counted = views.groupBy("campaign", F.window("at", f"{size} seconds").alias("window")).count()
    return counted.selectExpr("campaign AS key", "window.start AS start", "CAST(count AS double) AS value")


def _hot_auctions(rows: DataFrame) -> DataFrame:
    """Return the auctions with the most bids of each hopping window: query 5 of Nexmark."""
    from pyspark.sql import functions as F

    window = F.window("at", f"{SIZE} seconds", f"{PERIOD} seconds")
    counted = rows.groupBy(window.alias("window"), "key").count()
    counts = F.collect_list(F.struct("key", "count")).alias("counts")
    of_windows = counted.groupBy("window").agg(F.max("count").alias("most"), counts)
    hot = of_windows.selectExpr("window.start AS start", "inline(filter(counts, it -> it.count = most))")
    return hot.selectExpr("key", "start", "CAST(count AS double) AS value")


def _highest_bids(rows: DataFrame) -> DataFrame:
    """Return the bid with the highest price of each tumbling window: query 7 of Nexmark."""
    from pyspark.sql import functions as F

    of_windows = rows.groupBy(F.window("at", f"{SIZE} seconds").alias("window"))
    best = of_windows.agg(F.max(F.struct("value", "key")).alias("best"))
    return best.selectExpr("best.key AS key", "window.start AS start", "best.value AS value")


def _new_sellers(rows: DataFrame) -> DataFrame:
    """Return the auctions of people who came in the same tumbling window: query 8 of Nexmark."""
    from pyspark.sql import functions as F

    window = F.window("at", f"{SIZE} seconds").alias("window")
    people = rows.where(ARE_PEOPLE).select("key", window)
    auctions = rows.where(ARE_AUCTIONS).select("key", window, "value")
    return people.join(auctions, ["key", "window"]).selectExpr("key", "window.start AS start", "value")


SPARK_WINDOW: Final = StreamSystem("spark window", of_windows)
SPARK_SQL: Final = StreamSystem("spark sql", of_joins)
SPARK_TABLE: Final = TableSystem("spark static window", of_table)
PANDAS_UDF: Final = TableSystem("pandas_udf", of_table_by_udf)
