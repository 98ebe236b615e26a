"""PyFlink: a Python aggregate over windows of the Table API, in streaming mode on the local mini cluster.

Days of a time zone are windows of its own, over times with a zone. The last rows are an OVER window at every row, of
which every tenth is kept: windows by a number of rows follow the order of arrival. Python aggregates have no OVER, but
those over a pandas Series do.

The rows are written as CSV first, in the measured time as reading Parquet is: Flink brings no reader of Parquet. They
are one file, so that one task reads them in order; two compute.
"""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, Table, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udaf
from pyflink.table.window import Session as FlinkSession
from pyflink.table.window import Slide, Tumble

from benchmarks.external.task import Answers, Task, run_task
from benchmarks.windows import Aggregate, Calendar, Hopping, LastRows, Session, Windows

ANSWERS = "`key` BIGINT, `start` TIMESTAMP(3), `value` DOUBLE"


class Average(AggregateFunction):
    """The average, one value after the other."""

    def create_accumulator(self) -> list[Any]:
        """Return count and sum of nothing."""
        return [0, 0.0]

    def accumulate(self, accumulator: list[Any], value: float) -> None:
        """Take one value."""
        accumulator[0] += 1
        accumulator[1] += value

    def merge(self, accumulator: list[Any], others: Any) -> None:
        """Take what others took."""
        for count, total in others:
            accumulator[0] += count
            accumulator[1] += total

    def get_value(self, accumulator: list[Any]) -> float:
        """Return the average."""
        average: float = accumulator[1] / accumulator[0]
        return average


class Max(AggregateFunction):
    """The largest, one value after the other."""

    def create_accumulator(self) -> list[float]:
        """Return the largest of nothing."""
        return [float("-inf")]

    def accumulate(self, accumulator: list[float], value: float) -> None:
        """Take one value."""
        accumulator[0] = max(accumulator[0], value)

    def merge(self, accumulator: list[float], others: Any) -> None:
        """Take what others took."""
        for (value,) in others:
            accumulator[0] = max(accumulator[0], value)

    def get_value(self, accumulator: list[float]) -> float:
        """Return the largest."""
        return accumulator[0]


def compute(task: Task, answers: Answers) -> None:
    """Run the query with an aggregate in Python."""
    run_query(task, answers, lambda: function_of(task.question.aggregate)(col("value")))


def compute_built_in(task: Task, answers: Answers) -> None:
    """Run the query with the aggregate that Flink has."""
    run_query(task, answers, lambda: col("value").avg if task.question.aggregate == "average" else col("value").max)


def run_query(task: Task, answers: Answers, aggregate: Callable[[], Any]) -> None:
    """Run a query; its output is thrown away, or read back from CSV if it is wanted.

    Args:
        task: The task.
        answers: Takes the output.
        aggregate: Makes the aggregate once there is an environment; over the last rows it is always in Python.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, sink = Path(folder) / "rows.csv", Path(folder) / "answers"
        write_rows(task, source)
        tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        tables.get_config().set("parallelism.default", "2")
        question = task.question
        zone = question.windows.zone if isinstance(question.windows, Calendar) else "UTC"
        tables.get_config().set("table.local-time-zone", zone)
        tables.execute_sql(
            "CREATE TABLE `rows` (`key` BIGINT, `ms` BIGINT, `value` DOUBLE, `at` AS TO_TIMESTAMP_LTZ(`ms`, 3),"
            f" WATERMARK FOR `at` AS TIMESTAMPADD(SECOND, -{question.delay}, `at`))"
            f" WITH ('connector'='filesystem', 'format'='csv', 'path'='{source.as_uri()}')"
        )
        where = f"'filesystem', 'format'='csv', 'path'='{sink.as_uri()}'" if answers.is_kept else "'blackhole'"
        tables.execute_sql(f"CREATE TABLE `answers` ({ANSWERS}) WITH ('connector'={where})")
        if isinstance(question.windows, LastRows):
            results = last_rows(tables, question.aggregate, question.windows)
        else:
            window = window_of(question.windows).on(col("at")).alias("w")
            grouped = tables.from_path("rows").window(window).group_by(col("w"), col("key"))
            results = grouped.select(col("key"), col("w").start, aggregate())
        results.execute_insert("answers").wait()
        if answers.is_kept:
            read_answers(sink, answers, zone)


def function_of(aggregate: Aggregate) -> Any:
    """Return an aggregate as Flink takes it."""
    function, state = {
        "average": (Average(), [DataTypes.BIGINT(), DataTypes.DOUBLE()]),
        "max": (Max(), [DataTypes.DOUBLE()]),
    }[aggregate]
    accumulator = DataTypes.ROW([DataTypes.FIELD(f"f{place}", of) for place, of in enumerate(state)])
    return udaf(function, result_type=DataTypes.DOUBLE(), accumulator_type=accumulator)


def window_of(windows: Windows) -> Any:
    """Return windows as Flink has them. Rows exactly the gap apart are in one session."""
    match windows:
        case Session(gap):
            return FlinkSession.with_gap(lit(gap).seconds)
        case Calendar():
            return Tumble.over(lit(1).days)
        case Hopping(size, hop):
            return Slide.over(lit(size).seconds).every(lit(hop).seconds)
    raise TypeError(f"there is no {windows} in Flink")


def last_rows(tables: TableEnvironment, aggregate: Aggregate, windows: LastRows) -> Table:
    """Return results over the last rows: count the rows of each key, then aggregate at each, then drop most."""
    function = udaf(
        pandas.Series.mean if aggregate == "average" else pandas.Series.max, result_type="DOUBLE", func_type="pandas"
    )
    tables.create_temporary_function("over_last", function)
    return tables.sql_query(
        "SELECT `key`, `at`, `value` FROM (SELECT `key`, `at`, `phase`,"
        f" over_last(`value`) OVER (PARTITION BY `key` ORDER BY `at` ROWS BETWEEN {windows.size - 1} PRECEDING"
        " AND CURRENT ROW) AS `value` FROM (SELECT *, MOD(COUNT(*) OVER (PARTITION BY `key` ORDER BY `at` ROWS BETWEEN"
        f" UNBOUNDED PRECEDING AND CURRENT ROW), {windows.every}) AS `phase` FROM `rows`)) WHERE `phase` = 0"
    )


def write_rows(task: Task, file: Path) -> None:
    """Write the rows as CSV, with times to the millisecond as Flink's watermarks are."""
    schema = pa.schema([("key", pa.int64()), ("at", pa.int64()), ("value", pa.float64())])
    with csv.CSVWriter(file, schema, write_options=csv.WriteOptions(include_header=False, quoting_style="none")) as out:
        for chunk in task.chunks():
            at = chunk.column(1).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            out.write_batch(pa.record_batch([chunk.column(0), at, chunk.column(2)], schema=schema))


def read_answers(folder: Path, answers: Answers, zone: str) -> None:
    """Read the answers that Flink wrote, in local times of a zone."""
    for file in folder.rglob("*"):
        if file.is_file() and file.stat().st_size:
            table = csv.read_csv(file, csv.ReadOptions(column_names=["key", "start", "value"]))
            starts = pc.assume_timezone(table["start"].cast(pa.timestamp("us")), zone).cast(pa.int64())
            for row in zip(table["key"].to_pylist(), starts.to_pylist(), table["value"].to_pylist(), strict=True):
                answers.add(*row)


if __name__ == "__main__":
    run_task(compute, "apache-flink")
