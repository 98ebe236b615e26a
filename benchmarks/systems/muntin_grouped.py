"""Muntin with the same plain Python aggregate, which sees all members of a window when it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.plain_aggregates import PLAIN
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Calendar, Hopping, LastingHops, Session, Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinGrouped(SparkSystem):
    """The grouped evaluator: rows are columns until their windows close."""

    name = "muntin grouped"
    has = (Hopping, Session, Calendar, Snapshot, LastingHops)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, PLAIN[question.aggregate], "grouped")
