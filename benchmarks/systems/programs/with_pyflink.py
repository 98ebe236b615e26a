"""PyFlink: a Python aggregate over windows of the Table API, in streaming mode on the local mini cluster.

The rows are written as CSV first, in the measured time as reading Parquet is: PyFlink brings no reader of Parquet. They
are one file, so that one task reads them in order; two compute.
"""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udaf
from pyflink.table.window import Session as FlinkSession
from pyflink.table.window import Slide

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.systems.programs.task import Answers, Task, run_task

ANSWERS: Final = "`key` BIGINT, `start` TIMESTAMP(3), `value` DOUBLE"
ROWS: Final = pa.schema([("key", pa.int64()), ("at", pa.int64()), ("value", pa.float64())])
"""The rows as CSV, with times in milliseconds as Flink's watermarks are."""


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


def compute(task: Task, answers: Answers) -> None:
    """Run the query; its output is thrown away, or read back from CSV if it is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows.csv"
        sink = Path(folder) / "answers"
        write_rows(task, source)

        tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        tables.get_config().set("parallelism.default", "2")
        tables.get_config().set("table.local-time-zone", "UTC")
        tables.execute_sql(
            "CREATE TABLE `rows` (`key` BIGINT, `ms` BIGINT, `value` DOUBLE, `at` AS TO_TIMESTAMP_LTZ(`ms`, 3),"
            f" WATERMARK FOR `at` AS TIMESTAMPADD(SECOND, -{task.delay}, `at`))"
            f" WITH ('connector'='filesystem', 'format'='csv', 'path'='{source.as_uri()}')"
        )
        connector = f"'filesystem', 'format'='csv', 'path'='{sink.as_uri()}'" if answers.is_kept else "'blackhole'"
        tables.execute_sql(f"CREATE TABLE `answers` ({ANSWERS}) WITH ('connector'={connector})")

        window = window_of(task.question).on(col("at")).alias("w")
        grouped = tables.from_path("rows").window(window).group_by(col("w"), col("key"))
        results = grouped.select(col("key"), col("w").start, average_function()(col("value")))
        results.execute_insert("answers").wait()
        if answers.is_kept:
            read_answers(sink, answers)


def average_function() -> Any:
    """Return the average as Flink takes it."""
    fields = [DataTypes.FIELD("count", DataTypes.BIGINT()), DataTypes.FIELD("total", DataTypes.DOUBLE())]
    return udaf(Average(), result_type=DataTypes.DOUBLE(), accumulator_type=DataTypes.ROW(fields))


def window_of(question: Question) -> Any:
    """Return windows as Flink has them. Rows exactly the gap apart are in one session."""
    if isinstance(question, Session):
        return FlinkSession.with_gap(lit(question.gap).seconds)
    assert isinstance(question, Hopping)
    return Slide.over(lit(question.size).seconds).every(lit(question.hop).seconds)


def write_rows(task: Task, file: Path) -> None:
    """Write the rows as CSV."""
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    with csv.CSVWriter(file, ROWS, write_options=options) as out:
        for chunk in task.chunks():
            at = chunk.column(1).cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
            out.write_batch(pa.record_batch([chunk.column(0), at, chunk.column(2)], schema=ROWS))


def read_answers(folder: Path, answers: Answers) -> None:
    """Read the answers that Flink wrote."""
    for file in folder.rglob("*"):
        if file.is_file() and file.stat().st_size:
            table = csv.read_csv(file, csv.ReadOptions(column_names=["key", "start", "value"]))
            starts = pc.assume_timezone(table["start"].cast(pa.timestamp("us")), "UTC").cast(pa.int64())
            rows = zip(table["key"].to_pylist(), starts.to_pylist(), table["value"].to_pylist(), strict=True)
            for key, start, value in rows:
                answers.add(key, start, value)


if __name__ == "__main__":
    run_task(compute, "apache-flink")
