"""Modules named by typed calls, and functions as modules, on workers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import ModuleCall, Query, ShippingError, StateMismatchError, events, module
from tests.journeys.running import MemorySink, read_stream, write_batches

LIMIT = 2.0


class Extremes(NamedTuple):
    low: float
    high: float


def extremes(km: list[float]) -> Extremes:
    return Extremes(min(km), max(km))


def above(km: np.ndarray) -> int:
    return int((km > LIMIT).sum())


def picky(km: list[float]) -> float:
    if 7.0 in km:
        raise ZeroDivisionError("seven is not liked here")
    return km[0]


def rides(spark: SparkSession, rows: str) -> Any:
    """Return windows of ten ticks over rows in SQL: `(at, km, kg), ...`."""
    df = spark.sql(f"SELECT * FROM VALUES {rows} AS (at, km, kg)")
    return events(df, at="at", buckets=1).window(tumbling(10))


def results_of(spark: SparkSession, rows: str, **calls: ModuleCall) -> list[dict[str, Any]]:
    """Return the results of calls of modules in each window, in the order of windows."""
    results = rides(spark, rows).aggregate(**calls).results().orderBy("window").collect()
    return [{name: row[name] for name in calls} for row in results]


# at, km, kg
ROWS = "(1, 1.0D, 2.0D), (2, 4.0D, 1.0D), (3, 2.5D, CAST(NULL AS DOUBLE)), (12, CAST(NULL AS DOUBLE), 5.0D)"


def test_a_function_of_a_column_is_an_aggregate_in_one_line(spark: SparkSession) -> None:
    first_window, second_window = results_of(
        spark,
        ROWS,
        spread=module(np.ptp, "km", returns=float),
        median=module(np.percentile, "km", q=50, returns=float),
        above=module(above, "km"),
        extremes=module(extremes, "km"),
        dot=module(lambda x, y: float(x @ y), "km", "kg", returns=float),
        n=stats.count(),
    )
    # nulls: a row with one in a column of the function is skipped, and where all are, the result is null
    expected = {"spread": 3.0, "median": 2.5, "above": 2, "extremes": Extremes(1.0, 4.0), "dot": 6.0, "n": 3}
    assert first_window == expected
    assert second_window == dict.fromkeys(expected) | {"n": 1}


def test_a_function_that_returns_none_gives_a_null(spark: SparkSession) -> None:
    (row,) = results_of(spark, "(1, 7.0D, 1.0D)", m=module(lambda km: None, "km", returns=float))
    assert row == {"m": None}


def test_a_function_is_given_times_as_arrays_and_returns_them(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp'2024-05-01 08:00:00Z' + make_dt_interval(0, 0, id) AS at FROM range(3)")
    windows = events(df, at="at", buckets=1).window(tumbling("1 hour"))
    calls = {"last": module(np.max, "at", returns=datetime), "lasted": module(np.ptp, "at", returns=timedelta)}
    (row,) = windows.aggregate(**calls).results().collect()
    assert row["last"].astimezone(UTC) == datetime(2024, 5, 1, 8, 2, tzinfo=UTC)
    assert row["lasted"] == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("call", "expected_parts"),
    [
        (lambda: module(picky, "km"), ["function.picky code-", "seven is not liked here", "compute_result"]),
        (lambda: module(lambda km: "many", "km", returns=float), ["function.lambda code-", "'many'", "float"]),
        (lambda: module(np.unique, "km", returns=float), ["numpy.unique code-", "float"]),
    ],
    ids=["it raises", "it returns text", "it returns an array"],
)
def test_the_fault_of_a_function_is_reported_with_its_name(
    spark: SparkSession, call: Callable[[], ModuleCall], expected_parts: list[str]
) -> None:
    with pytest.raises(PySparkException) as failure:
        results_of(spark, "(1, 7.0D, 1.0D), (2, 3.0D, 1.0D)", m=call())
    missing = [part for part in expected_parts if part not in str(failure.value)]
    assert not missing, f"{failure.value}\ndoes not say {missing}"


def test_a_function_that_cannot_travel_is_refused_before_the_query_starts(spark: SparkSession) -> None:
    lock = threading.Lock()
    holds_a_lock = module(lambda km: float(lock.locked()), "km", returns=float)
    refusal = r"cannot travel to the workers: cannot pickle '_thread.lock' object"
    with pytest.raises(ShippingError, match=refusal) as error:
        rides(spark, ROWS).aggregate(m=holds_a_lock).results()
    assert "function.lambda code-" in str(error.value)


@pytest.fixture
def query_over(spark: SparkSession, tmp_path: Path) -> Callable[..., Query]:
    """Make a query of calls over the first micro-batches of a stream; the second one closes the window [0, 10)."""

    def make(files: int, **calls: ModuleCall) -> Query:
        batches = [pa.table({"at": [1, 2], "km": [1.0, 4.0]}), pa.table({"at": [3, 25], "km": [9.0, 1.0]})]
        df = read_stream(spark, write_batches(tmp_path / "in", batches[:files]))
        return events(df, at="at", watermark=0, buckets=1).window(tumbling(10)).aggregate(**calls)

    return make


def results_written(query: Query, checkpoint: Path) -> list[dict[str, Any]]:
    sink = MemorySink()
    query.write(checkpoint=checkpoint, results=sink, available_now=True).awaitTermination()
    return list(sink.rows)


@pytest.mark.nightly
def test_a_checkpoint_goes_on_between_a_name_and_a_typed_call(query_over: Callable[..., Query], tmp_path: Path) -> None:
    by_name = {"mean": module("stats.average", "km"), "high": module("stats.quantile", "km", q=0.5)}
    typed = {"mean": stats.average("km"), "high": stats.quantile("km", q=0.5)}
    assert results_written(query_over(files=1, **by_name), tmp_path / "checkpoint") == []
    (row,) = results_written(query_over(files=2, **typed), tmp_path / "checkpoint")
    assert (row["mean"], row["high"]) == (pytest.approx(14 / 3), 4.0)
    query_over(files=2, **by_name).check(tmp_path / "checkpoint")
    with pytest.raises(StateMismatchError):
        query_over(files=2, mean=stats.average("km"), high=stats.quantile("km", q=0.6)).check(tmp_path / "checkpoint")


def test_a_checkpoint_goes_on_with_the_same_function_and_not_with_another(
    query_over: Callable[..., Query], tmp_path: Path
) -> None:
    assert results_written(query_over(files=1, m=module(np.ptp, "km", returns=float)), tmp_path / "checkpoint") == []
    (row,) = results_written(query_over(files=2, m=module(np.ptp, "km", returns=float)), tmp_path / "checkpoint")
    assert row["m"] == 8.0
    with pytest.raises(StateMismatchError, match=r"numpy\.ptp"):
        query_over(files=2, m=module(np.max, "km", returns=float)).check(tmp_path / "checkpoint")
