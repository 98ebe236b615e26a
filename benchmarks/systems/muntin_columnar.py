"""Muntin with a module of `muntin-stats` that says what it keeps as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Calendar, Hopping, Session, Snapshot
from muntin_engine import module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinColumnar(SparkSystem):
    """The columnar evaluator."""

    name = "muntin columnar"
    has = (Hopping, Session, Calendar, Snapshot)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, module(f"stats.{question.aggregate}", "value"), "columnar")
