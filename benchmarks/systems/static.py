"""Windows over a static input, all rows of which are there: a backfill. Results are written to nowhere."""

from __future__ import annotations

import os
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

import pandas as pd
import pyarrow as pa

from benchmarks.data import Files
from benchmarks.measurement import Batch, Run
from benchmarks.memory import MemoryWatch, processor_time
from benchmarks.question import Question
from benchmarks.systems.muntin_query import specification_of
from benchmarks.systems.muntin_whole import MuntinFunction, MuntinWhole
from benchmarks.systems.plain_aggregates import PlainAverage
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS, Hopping
from muntin_engine import ModuleCall, events, module

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class StaticSystem(System):
    """A system that is a query of Spark over files."""

    needs_spark = True
    closes_all = True

    @abstractmethod
    def results(self, rows: DataFrame, question: Question) -> DataFrame:
        """Return the results as a DataFrame with the columns of `ANSWERS`.

        Args:
            rows: Has the columns `key` (long), `at` (timestamp) and `value` (double).
            question: What to compute.
        """

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query to its end, however long it takes."""
        with MemoryWatch.over(os.getpid(), with_root=False) as watch:
            worked, started = processor_time(os.getpid()), time.monotonic()
            self.results(_rows(files), question).write.format("noop").mode("overwrite").save()
            seconds, worked = time.monotonic() - started, processor_time(os.getpid()) - worked
        rows = files.rows * len(files.paths)
        return Run(seconds, (Batch(rows, seconds),), watch.peak, cpu_seconds=max(0.0, worked))

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the query into a table."""
        return self.results(_rows(files), question).toArrow().cast(ANSWERS)


class MuntinStatic(StaticSystem):
    """Muntin as it plans a static input.

    Args:
        name: The name of the system.
        average: How the average is computed.
    """

    def __init__(self, name: str, average: ModuleCall) -> None:
        self.name = name
        self._average = average

    def results(self, rows: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        known = events(rows, key="key", at="at").window(specification_of(question.windows))
        found = known.aggregate(value=self._average).results()
        return found.selectExpr("key", "window.start AS start", "value")


MUNTIN_STATIC: Final = (
    MuntinStatic("muntin static", module("stats.average", "value")),
    MuntinStatic("muntin static, combine", module(PlainAverage, "value")),
    MuntinStatic("muntin static, class", MuntinWhole.call),
    MuntinStatic("muntin static, function", MuntinFunction.call),
)


class SparkStatic(StaticSystem):
    """Spark's `window()` with its own average: no Python runs."""

    name = "spark static window"

    def results(self, rows: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        from pyspark.sql import functions as F

        return _grouped(rows, question, F.avg("value"))


class PandasUdf(StaticSystem):
    """Spark's `window()` with an average in Python: a call for each key and window."""

    name = "pandas_udf"

    def results(self, rows: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        from pyspark.sql.pandas.functions import pandas_udf

        def average(values: pd.Series) -> float:
            return float(values.mean())

        return _grouped(rows, question, pandas_udf(average, "double")("value"))  # type: ignore[call-overload, unused-ignore]


def _rows(files: Files) -> DataFrame:
    from benchmarks.session import spark_session

    return spark_session().read.parquet(*map(str, files.paths))


def _grouped(rows: DataFrame, question: Question, average: Column) -> DataFrame:
    from pyspark.sql import functions as F

    assert isinstance(question.windows, Hopping)
    window = F.window("at", f"{question.windows.size} seconds", f"{question.windows.hop} seconds")
    found = rows.groupBy("key", window.alias("window")).agg(average.alias("value"))
    return found.selectExpr("key", "window.start AS start", "value")
