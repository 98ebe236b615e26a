"""Spark's own windows with its own aggregates: no Python runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.system import SparkSystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkWindow(SparkSystem):
    """`window()` or `session_window()` with a built-in aggregate, in append mode."""

    name = "spark window"

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        from pyspark.sql import functions as F

        aggregate = {"average": F.avg, "max": F.max}[question.aggregate]
        size = f"{question.size} seconds"
        window = (
            F.session_window("at", size) if question.is_session else F.window("at", size, f"{question.hop} seconds")
        )
        return (
            stream.withWatermark("at", f"{question.delay} seconds")
            .groupBy("key", window.alias("window"))
            .agg(aggregate("value").alias("value"))
            .selectExpr("key", "window.start AS start", "value")
        )
