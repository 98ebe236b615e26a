"""Mistakes in WITH, UNION and the shape of a query. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    ENDS,
    EVENTS,
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
    "a union at the top": (
        f"SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b",
        "UNION ALL unites them within TABLE (...)",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "no table": (
        "SELECT COUNT(*) AS n EMIT FINAL",
        f"write FROM {TUMBLE}",
        f"SELECT COUNT(*) AS n FROM {TUMBLE} {ENDS} EMIT FINAL",
    ),
    "two queries of one name": (
        f"WITH a AS (SELECT * FROM rides), a AS (SELECT * FROM rides) {of_rides('rides', 'a')}",
        "rename one of them",
        f"WITH a AS (SELECT * FROM rides), b AS (SELECT * FROM rides) {of_rides('rides', 'a')}",
    ),
    "times of a union": (
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), DESCRIPTOR(leaves), "
            "INTERVAL '1' HOUR)"
        ),
        "leave DESCRIPTOR out",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "a union without ALL": (
        counted(f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"),
        "write UNION ALL",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "columns of a union": (
        counted(
            f"TUMBLE(TABLE (SELECT id FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
        "write SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
    "streams of one name": (
        counted(f"TUMBLE(TABLE (SELECT * FROM {EVENTS} UNION ALL SELECT * FROM {EVENTS}), INTERVAL '1' HOUR)"),
        "name each: EVENTS(...) AS bikes",
        counted(
            f"TUMBLE(TABLE (SELECT * FROM {EVENTS} AS a UNION ALL SELECT * FROM {EVENTS} AS b), INTERVAL '1' HOUR)"
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
