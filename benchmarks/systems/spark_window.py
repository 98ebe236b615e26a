"""Spark's own windows with its own aggregates: no Python runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.system import SparkSystem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SparkWindow(SparkSystem):
    """`window()` with a built-in aggregate, in append mode."""

    name = "spark window"

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        from pyspark.sql import functions as F

        aggregate = {"average": F.avg, "max": F.max}[question.aggregate]
        window = F.window("at", f"{question.size} seconds", f"{question.hop} seconds")
        return (
            stream.withWatermark("at", f"{question.delay} seconds")
            .groupBy("key", window)
            .agg(aggregate("value").alias("value"))
            .selectExpr("key", "window.start AS start", "value")
        )
