"""PyFlink: a Python aggregate over windows of the Table API, in streaming mode on the local mini cluster.

The rows are written as CSV first, in the measured time as reading Parquet is: Flink brings no reader of Parquet. They
are one file, so that one task reads them in order; two compute.
"""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv
from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, Table, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udaf
from pyflink.table.window import Slide

from benchmarks.external.task import Answers, Task, run_task

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
    """Run the query; its output is thrown away, or read back from CSV if it is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        source, sink = Path(folder) / "rows.csv", Path(folder) / "answers"
        write_rows(task, source)
        tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        tables.get_config().set("parallelism.default", "2")
        tables.execute_sql(
            f"CREATE TABLE `rows` (`key` BIGINT, `at` TIMESTAMP(3), `value` DOUBLE,"
            f" WATERMARK FOR `at` AS `at` - INTERVAL '{task.delay}' SECOND)"
            f" WITH ('connector'='filesystem', 'format'='csv', 'path'='{source.as_uri()}')"
        )
        where = f"'filesystem', 'format'='csv', 'path'='{sink.as_uri()}'" if answers.is_kept else "'blackhole'"
        tables.execute_sql(f"CREATE TABLE `answers` ({ANSWERS}) WITH ('connector'={where})")
        windows(task, tables.from_path("rows")).execute_insert("answers").wait()
        if answers.is_kept:
            read_answers(sink, answers)


def windows(task: Task, rows: Table) -> Table:
    """Return the query's results."""
    aggregate, state = {
        "average": (Average(), [DataTypes.BIGINT(), DataTypes.DOUBLE()]),
        "max": (Max(), [DataTypes.DOUBLE()]),
    }[task.aggregate]
    accumulator = DataTypes.ROW([DataTypes.FIELD(f"f{place}", of) for place, of in enumerate(state)])
    function = udaf(aggregate, result_type=DataTypes.DOUBLE(), accumulator_type=accumulator)
    window = Slide.over(lit(task.size).seconds).every(lit(task.hop).seconds).on(col("at")).alias("w")
    grouped = rows.window(window).group_by(col("w"), col("key"))
    return grouped.select(col("key"), col("w").start, function(col("value")))


def write_rows(task: Task, file: Path) -> None:
    """Write the rows as CSV, with times to the millisecond as Flink's watermarks are."""
    schema = pa.schema([("key", pa.int64()), ("at", pa.string()), ("value", pa.float64())])
    with csv.CSVWriter(file, schema, write_options=csv.WriteOptions(include_header=False, quoting_style="none")) as out:
        for chunk in task.chunks():
            at = chunk.column(1).cast(pa.timestamp("ms"), safe=False).cast(pa.string())
            out.write_batch(pa.record_batch([chunk.column(0), at, chunk.column(2)], schema=schema))


def read_answers(folder: Path, answers: Answers) -> None:
    """Read the answers that Flink wrote."""
    for file in folder.rglob("*"):
        if file.is_file() and file.stat().st_size:
            table = csv.read_csv(file, csv.ReadOptions(column_names=["key", "start", "value"]))
            starts = table["start"].cast(pa.timestamp("us")).cast(pa.int64())
            for row in zip(table["key"].to_pylist(), starts.to_pylist(), table["value"].to_pylist(), strict=True):
                answers.add(*row)


if __name__ == "__main__":
    run_task(compute, "apache-flink")
