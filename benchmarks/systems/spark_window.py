"""Spark's own windows with its own aggregates: no Python runs.

Its windows have a fixed length. Days of a time zone are days of its local times, which go back by an hour where summer
time ends; so the watermark has to wait for an hour more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.question import Question
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Calendar, Hopping, Session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_HOUR: Final = 3600


class SparkWindow(SparkSystem):
    """`window()` or `session_window()` with a built-in aggregate, in append mode."""

    name = "spark window"
    has = (Hopping, Session, Calendar)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        from pyspark.sql import functions as F

        aggregate = {"average": F.avg, "max": F.max}[question.aggregate]
        delay, start = question.delay, F.col("window.start")
        match question.windows:
            case Session(gap):
                window = F.session_window("at", f"{gap} seconds")
            case Hopping(size, hop):
                window = F.window("at", f"{size} seconds", f"{hop} seconds")
            case Calendar(zone):
                stream = stream.withColumn("at", F.from_utc_timestamp("at", zone))  # the session is in UTC
                window, start, delay = F.window("at", "1 day"), F.to_utc_timestamp(start, zone), delay + _HOUR
        return (
            stream.withWatermark("at", f"{delay} seconds")
            .groupBy("key", window.alias("window"))
            .agg(aggregate("value").alias("value"))
            .select("key", start.alias("start"), "value")
        )
