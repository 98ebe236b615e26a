"""Mistakes in the clauses of streams and of queries. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    ENDS,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    of_rides,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "a clause twice": (f"{COUNTS} EMIT FINAL EMIT CHANGES", "leave one of them out", f"{COUNTS} EMIT FINAL"),
    "an unknown emission": (f"{COUNTS} EMIT CHANGE", "did you mean CHANGES?", f"{COUNTS} EMIT CHANGES"),
    "no trigger": (
        f"{COUNTS} EMIT EARLY 5",
        "write EMIT EARLY EVERY INTERVAL '1' MINUTE, or a trigger such as after_count(100)",
        f"{COUNTS} EMIT EARLY after_count(100)",
    ),
    "no trigger, but a period": (
        f"{COUNTS} EMIT EARLY 5",
        "write EMIT EARLY EVERY INTERVAL '1' MINUTE",
        f"{COUNTS} EMIT EARLY EVERY INTERVAL '1' MINUTE",
    ),
    "no word": (
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP",
        "write CLIP FULL",
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP FULL",
    ),
    "no timestamps": (f"{COUNTS} EVALUATOR", "write EVALUATOR AUTO", f"{COUNTS} EVALUATOR AUTO"),
    "keys that are not forgotten": (
        f"{COUNTS} FORGET INTERVAL '1' DAY",
        "write FORGET KEYS AFTER INTERVAL '30' DAYS",
        f"{COUNTS} FORGET KEYS AFTER INTERVAL '30' DAYS",
    ),
    "no watermark": (
        of_rides("rides", "rides WATERMARK INTERVAL '1' HOUR"),
        "write WATERMARK leaves DELAY OF INTERVAL '10' MINUTES, or WATERMARK bounded_disorder(rows => 100)",
        of_rides("rides", "rides WATERMARK leaves DELAY OF INTERVAL '10' MINUTES"),
    ),
    "no watermark of time": (
        of_rides("rides", "rides WATERMARK INTERVAL '1' HOUR"),
        "or WATERMARK bounded_disorder(rows => 100)",
        of_rides("rides", "rides WATERMARK bounded_disorder(rows => 100)"),
    ),
    "a watermark of another column": (
        of_rides("rides", "rides WATERMARK returns DELAY OF INTERVAL '10' MINUTES"),
        "write WATERMARK leaves DELAY OF ...",
        of_rides("rides", "rides WATERMARK leaves DELAY OF INTERVAL '10' MINUTES"),
    ),
    **{
        f"late rows, then LATE {words}": (
            of_rides("rides", "rides LATE CORRECT"),
            "write LATE SIDE, LATE DROP, LATE ADJUST or LATE CORRECT WITHIN INTERVAL '1' HOUR",
            of_rides("rides", f"rides LATE {words}"),
        )
        for words in ("SIDE", "DROP", "ADJUST", "CORRECT WITHIN INTERVAL '1' HOUR")
    },
    "no step": (
        of_rides("rides", "rides THEN 5"),
        "write THEN shift(INTERVAL '1' HOUR)",
        of_rides("rides", "rides THEN shift(INTERVAL '1' HOUR)"),
    ),
    "an unknown step": (
        of_rides("rides", "rides THEN shft(INTERVAL '1' HOUR)"),
        "did you mean shift?",
        of_rides("rides", "rides THEN shift(INTERVAL '1' HOUR)"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
