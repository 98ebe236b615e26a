"""Mistakes in window functions and their TABLE arguments. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    ENDS,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    counted,
    of_rides,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "an unknown function": (of_rides("TUMBLE", "TUMBL"), "did you mean TUMBLE?", counted(TUMBLE)),
    "a table where a stream is read": (
        f"SELECT COUNT(*) AS n FROM rides {ENDS} EMIT FINAL",
        "a window function such as TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)",
        f"SELECT COUNT(*) AS n FROM {TUMBLE} {ENDS} EMIT FINAL",
    ),
    "an argument twice": (
        of_rides("INTERVAL", "SIZE => INTERVAL '2' HOURS, SIZE => INTERVAL"),
        "leave one of them out",
        of_rides("INTERVAL", "SIZE => INTERVAL"),
    ),
    "no TABLE": (of_rides("TABLE ", ""), "write TUMBLE(TABLE rides, DESCRIPTOR(leaves), ...)", counted(TUMBLE)),
    "several keys without parentheses": (
        of_rides("rides", "rides PARTITION BY station, city"),
        "several keys stand in parentheses: TABLE rides PARTITION BY (station, city)",
        of_rides("rides", "rides PARTITION BY (station, city)").replace(ENDS, "GROUP BY station, city, window"),
    ),
    "too many arguments": (
        of_rides("HOUR", "HOUR, INTERVAL '0' HOUR, INTERVAL '0' HOUR, 8"),
        "other arguments have names: id, order",
        of_rides("HOUR", "HOUR, ID => id, BUCKETS => 8"),
    ),
    "an argument by place and by name": (
        of_rides("HOUR", "HOUR, SIZE => INTERVAL '2' HOURS"),
        "leave one of them out",
        counted(TUMBLE),
    ),
    "an unknown argument": (
        of_rides("HOUR", "HOUR, OFSET => INTERVAL '1' MINUTE"),
        "did you mean offset?",
        of_rides("HOUR", "HOUR, OFFSET => INTERVAL '1' MINUTE"),
    ),
    "no times": (
        of_rides("DESCRIPTOR(leaves), ", ""),
        "write DESCRIPTOR(leaves), or DESCRIPTOR(leaves, returns)",
        counted(TUMBLE),
    ),
    "starts and ends": (
        of_rides("leaves", "leaves, returns, id"),
        "or DESCRIPTOR(leaves, returns)",
        of_rides("leaves", "leaves, returns"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
