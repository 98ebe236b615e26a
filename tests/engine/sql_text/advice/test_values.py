"""Mistakes in literals, intervals and calls of literals. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    MATCH,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    counted,
    of_rides,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "no length": (
        within("INTERVAL '1' HOUR", "true", MATCH),
        "write INTERVAL '10' MINUTES, or a number of ticks",
        within("'1' HOUR", "'10' MINUTES", MATCH),
    ),
    "no value": (
        of_rides("INTERVAL '1' HOUR", "km > 1"),
        "write a literal, an interval, an array or a call of literals",
        counted(TUMBLE),
    ),
    "a call by place": (
        f"{COUNTS} EMIT EARLY after_count(1, 2, 3, 4)",
        "after_count takes count",
        f"{COUNTS} EMIT EARLY after_count(count => 1)",
    ),
    "a name twice": (
        f"{COUNTS} EMIT EARLY after_count(count => 1, count => 2)",
        "leave one of them out",
        f"{COUNTS} EMIT EARLY after_count(count => 2)",
    ),
    "a place and a name": (
        f"{COUNTS} EMIT EARLY after_count(1, count => 2)",
        "leave one of them out",
        f"{COUNTS} EMIT EARLY after_count(2)",
    ),
    "no length of time": (
        of_rides("'1' HOUR", "'1' MONTH"),
        "write INTERVAL '10' MINUTES; units are microsecond, millisecond, second, minute, hour, day, week",
        of_rides("'1' HOUR", "'10' MINUTES"),
    ),
    "a month": (
        of_rides("'1' HOUR", "'1' MONTH"),
        "CALENDAR has months and years: CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 month')",
        counted("CALENDAR(TABLE rides, DESCRIPTOR(leaves), '1 month')"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
