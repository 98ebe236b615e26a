"""Muntin with a plain Python aggregate that can combine states, so that a row is touched once, in its slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.plain_aggregates import PLAIN
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Calendar, Hopping, Session
from muntin_engine import module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinSliced(SparkSystem):
    """Python state over slices."""

    name = "muntin sliced"
    has = (Hopping, Session, Calendar)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, module(PLAIN[question.aggregate], "value"), "sliced")
