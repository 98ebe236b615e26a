"""Mistakes in queries over the results of other queries. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    ENDS,
    HOURS_OF_COUNTS,
    Cases,
    assert_advice_is_a_query,
    counted,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "a condition on results in a chain": (
        counted(f"TUMBLE(TABLE ({COUNTS} HAVING n > 1), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
        "compute it in the outer one: AVG(km / n), WHERE n > 3",
        within(
            ENDS,
            f"WHERE n > 1 {ENDS}",
            counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
        ),
    ),
    "other times of a chain": (
        counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(leaves), INTERVAL '1' DAY)"),
        "write DESCRIPTOR(window_start, window_end)",
        counted(f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' DAY)"),
    ),
    "windows over results": (
        f"SELECT n FROM ({COUNTS}) GROUP BY n",
        "write FROM TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)",
        f"SELECT SUM(n) AS s FROM {HOURS_OF_COUNTS} {ENDS}",
    ),
    "an aggregate over results": (
        f"SELECT SUM(n) AS s FROM ({COUNTS})",
        "write FROM TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)",
        f"SELECT SUM(n) AS s FROM {HOURS_OF_COUNTS} {ENDS}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
