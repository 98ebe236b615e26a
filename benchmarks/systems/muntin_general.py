"""Muntin with the same plain Python aggregate, under the evaluators that see all members of a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from benchmarks.question import Question
from benchmarks.systems.muntin_query import muntin_results
from benchmarks.systems.plain_aggregates import PLAIN
from benchmarks.systems.system import SparkSystem
from benchmarks.windows import Calendar, Hopping, LastingHops, Session, Snapshot
from muntin_engine import module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinGeneral(SparkSystem):
    """The general evaluator: every event is kept until its windows are closed."""

    name = "muntin general"
    evaluator: ClassVar[Literal["general", "grouped"]] = "general"
    has = (Hopping, Session, Calendar, Snapshot, LastingHops)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        return muntin_results(stream, question, module(PLAIN[question.aggregate], "value"), self.evaluator)


class MuntinGrouped(MuntinGeneral):
    """The grouped evaluator: rows are columns until their windows close."""

    name = "muntin grouped"
    evaluator = "grouped"
