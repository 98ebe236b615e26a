"""Results that their columns cannot hold: null or infinite in the results, counted, warned of, or an error."""

from __future__ import annotations

import time
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin_engine import Query, batch_metrics, events, module, root_cause
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import collect, counts_of, stream_of
from tests.modules.members import Doubles, Googol

MOST = 2**63 - 1
"""The largest number of a bigint."""


def rows_of_two_keys(spark: SparkSession) -> DataFrame:
    """Two rows of one key, whose sum no bigint holds, and one of another."""
    return spark.createDataFrame([("a", 1, MOST), ("a", 2, MOST), ("b", 3, 7)], "k string, at bigint, n bigint")


def overflow_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the texts of the warnings of values that their columns cannot hold."""
    return [record.getMessage() for record in caplog.records if record.name == "muntin.overflows"]


def awaited_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return these warnings of a stream, at the latest after a minute: Spark tells a listener of them when it can."""
    for _ in range(600):
        if overflow_warnings(caplog):
            break
        time.sleep(0.1)
    return overflow_warnings(caplog)


def sums(df: DataFrame, evaluator: Literal["auto", "general"] = "auto") -> Query:
    """Return a query with a sum that may be too large for a bigint, and a value that is too large for a double."""
    window = events(df, key="k", at="at", buckets=2).window(tumbling(10), evaluator=evaluator)
    return window.aggregate(total=module("stats.sum", "n"), rows=module("stats.count"), huge=module(Googol, "n"))


@pytest.mark.parametrize("evaluator", ["auto", "general"])
def test_a_query_of_a_table_warns_once_of_the_values_that_its_columns_cannot_hold(
    spark: SparkSession, caplog: pytest.LogCaptureFixture, evaluator: Any
) -> None:
    rows = collect(sums(rows_of_two_keys(spark), evaluator).results())
    assert {row["k"]: (row["total"], row["rows"], row["huge"]) for row in rows} == {
        "a": (None, 2, float("inf")),
        "b": (7, 1, float("inf")),
    }

    (warning,) = overflow_warnings(caplog)
    _, of_huge, of_total = warning.split("muntin: ")
    assert "1 values of the results are too large for their column 'total'" in of_total
    assert "stats.sum 0.1.0 returned a value that its column 'total', of int64, cannot hold" in of_total
    assert f"value: {2 * MOST}\n" in of_total
    assert "key: ('a',)\n" in of_total
    assert "window: [0, 10)\n" in of_total

    assert "2 values of the results are too large for their column 'huge'" in of_huge
    assert "it is infinite in the results; the metric overflows:huge counts such values" in of_huge


def test_a_stream_counts_the_values_that_its_columns_cannot_hold_and_warns_once(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # window      [0, 10)        [10, 20)         [20, 30)
    # batch 0     MOST + MOST
    # batch 1                    MOST + MOST      1, which closes the windows before
    schema = pa.schema([("k", pa.string()), ("at", pa.int64()), ("n", pa.int64())])
    batches = [
        pa.table([["a", "a"], [1, 2], [MOST, MOST]], schema=schema),
        pa.table([["a", "a", "b"], [11, 12, 25], [MOST, MOST, 1]], schema=schema),
    ]
    stream = stream_of(spark, tmp_path / "in", batches)
    windows = events(stream, key="k", at="at", watermark=0, buckets=2).window(tumbling(10))
    results: list[tuple[int, Any]] = []

    def add_results(batch: DataFrame, number: int) -> None:
        results.extend((row["window"]["start"], row["total"]) for row in collect(batch))

    running = windows.aggregate(total=module("stats.sum", "n")).write(
        results=add_results, checkpoint=tmp_path / "checkpoint", available_now=True
    )
    running.awaitTermination()

    assert sorted(results) == [(0, None), (10, None)]
    assert sum(counts["overflows:total"] for counts in counts_of(running)) == 2
    metrics = [batch_metrics(progress)["muntin"].overflows for progress in running.recentProgress]
    assert sum(overflows.get("total", 0) for overflows in metrics) == 2
    (warning,) = awaited_warnings(caplog)
    assert "too large for the column 'total'" in warning


def test_a_session_may_stop_at_a_result_that_its_column_cannot_hold(spark: SparkSession) -> None:
    window = events(rows_of_two_keys(spark), key="k", at="at").window(tumbling(10))
    query = window.aggregate(total=module("stats.sum", "n"))
    with setting(spark, "spark.muntin.overflow.fail", "true"), pytest.raises(PySparkException) as failure:
        query.results().collect()
    message = root_cause(failure.value)
    assert "stats.sum 0.1.0 returned a value that its column 'total', of int64, cannot hold" in message
    assert f"value: {2 * MOST}" in message
    assert "key: ('a',)" in message
    assert "to do: cast the column that the module reads to a wider type" in message


def test_rows_of_operators_that_are_too_large_are_null_and_counted(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    windows = events(rows_of_two_keys(spark), key="k", at="at").window(tumbling(10))

    rows = collect(windows.apply(module(Doubles, "n")).results())

    values = [(row["k"], row["value"]) for row in rows]
    assert Counter(values) == {("a", None): 2, ("b", 14): 1}
    (warning,) = overflow_warnings(caplog)
    assert "2 values of the results are too large for their column 'value'" in warning


def test_sums_of_decimals_that_are_too_large_are_null_and_counted(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    # of 38 digits, so that two of them need 39
    large_decimal = F.lit(Decimal(9) * 10**37).cast("decimal(38, 0)")
    df = rows_of_two_keys(spark).select("k", "at", large_decimal.alias("d"))
    query = events(df, key="k", at="at").window(tumbling(10)).aggregate(total=module("stats.sum", "d"))

    rows = collect(query.results())

    assert {row["k"]: row["total"] is None for row in rows} == {"a": True, "b": False}
    (warning,) = overflow_warnings(caplog)
    assert "of decimal128(38, 0), cannot hold" in warning
