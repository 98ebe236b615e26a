"""Every aggregate of SQL gives what Spark's own gives over the same rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin_engine import sql
from muntin_engine.sql_text.sql_aggregates import AGGREGATES

ROWS: Final = (
    # key, minute, x, y
    *(("a", 0, 4.0, 1.0), ("a", 1, 1.5, 2.0), ("a", 3, None, 3.0), ("a", 4, 4.0, -2.0), ("a", 12, 7.0, 0.5)),
    *(("b", 2, -1.0, 0.0), ("b", 5, 3.0, None), ("b", 7, -1.0, 8.0), ("b", 13, 2.5, 2.5), ("b", 14, 2.5, 1.0)),
)
SCHEMA: Final = "k string, t timestamp, x double, y double"
OF_TWO_COLUMNS: Final = frozenset({"CORR", "COVAR_SAMP", "COVAR_POP", "MAX_BY", "MIN_BY"})

SAID_OTHERWISE: Final = {
    # Spark's take any of the rows if the input has no order; ours take them in the order of their times.
    "FIRST_VALUE": "min_by(x, t)",
    "LAST_VALUE": "max_by(x, t)",
}
"""What to ask of Spark in the place of an aggregate of the same name."""


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    start = datetime(2024, 1, 1, 8)  # noqa: DTZ001  # Spark takes and returns times without a zone
    return spark.createDataFrame([(k, start.replace(minute=minute), x, y) for k, minute, x, y in ROWS], SCHEMA)


def by_window(rows: list[Any]) -> dict[tuple[str, datetime], Any]:
    """Return values by their key and the start of their window; lists, whose order is up to Spark, are sorted."""
    values: dict[tuple[str, datetime], Any] = {}
    for key, start, value in rows:
        values[key, start] = sorted(value) if isinstance(value, list) else value
    return values


@pytest.mark.cases(8)
@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_is_that_of_spark(spark: SparkSession, rides: DataFrame, name: str) -> None:
    arguments = "x, y" if name in OF_TWO_COLUMNS else "x"
    ours = sql(
        spark,
        f"SELECT k, window_start, {name}({arguments}) AS value "
        "FROM TUMBLE(TABLE rides, DESCRIPTOR(t), INTERVAL '10' MINUTES) GROUP BY k, window_start, window_end",
        rides=rides,
    )
    spark_call = SAID_OTHERWISE.get(name, f"{name}({arguments})")
    theirs = spark.sql(
        f"SELECT k, window.start, value FROM (SELECT k, window(t, '10 minutes') AS window, {spark_call} AS value "
        "FROM {rides} GROUP BY 1, 2)",
        rides=rides,
    )

    values = by_window(ours.results().collect())
    expected_values = by_window(theirs.collect())
    assert len(values) == 4  # two keys, two windows
    assert values.keys() == expected_values.keys()
    for window, expected in expected_values.items():
        if expected is None:
            assert values[window] is None, window
        else:
            assert values[window] == pytest.approx(expected, rel=1e-12), window
