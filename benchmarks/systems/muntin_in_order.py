"""Muntin over row windows, with a module of `muntin-stats` from which rows can be taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import LastRows
from muntin_engine import module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinInOrder(SparkSystem):
    """The evaluator of windows that follow rows: rows wait for the watermark, and are then taken one by one."""

    name = "muntin in order"
    has = (LastRows,)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, module(f"stats.{question.aggregate}", "value"), "in_order")
