"""Mistakes in windows and in GROUP BY. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    ENDS,
    EVENTS,
    REACHING,
    SAME,
    SESSION,
    TUMBLE,
    VERSIONS,
    Cases,
    assert_advice_is_a_query,
    counted,
    joined,
    of_rides,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "as of without a join": (
        counted(f"{EVENTS} FOR SYSTEM_TIME AS OF leaves AS r"),
        "write it after the right stream",
        joined(SAME, right=VERSIONS),
    ),
    "where over windows that follow rows": (
        within(ENDS, f"WHERE km > 2 {ENDS}", counted(SESSION)),
        "filter before: TABLE (SELECT ... WHERE ...); or after: FILTER",
        of_rides("TABLE rides", "TABLE (SELECT * FROM rides WHERE km > 2)", SESSION),
    ),
    "where over windows that follow rows, after": (
        within(ENDS, f"WHERE km > 2 {ENDS}", counted(SESSION)),
        "or after: FILTER",
        within("COUNT(*)", "COUNT(*) FILTER (WHERE km > 2)", counted(SESSION)),
    ),
    "two operators": (
        f"SELECT patterns.followed_by(id, within => INTERVAL '1' HOUR), COUNT(*) AS n FROM {TUMBLE} {ENDS}",
        "ask for the others in a query of their own",
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {REACHING} {ENDS}",
    ),
    "events without windows": (
        f"SELECT COUNT(*) AS n FROM {EVENTS}",
        "write GLOBAL_WINDOWS(TABLE ...) for one window over all rows",
        "SELECT COUNT(*) AS n FROM GLOBAL_WINDOWS(TABLE rides, DESCRIPTOR(leaves))",
    ),
    "columns beside an operator": (
        f"SELECT 1 AS x, patterns.followed_by(id, within => INTERVAL '1' HOUR) FROM {TUMBLE} {ENDS}",
        "write SELECT window, the operator",
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {REACHING} {ENDS}",
    ),
    "windows that are not grouped by": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station",
        "write GROUP BY station, window_start, window_end",
        COUNTS,
    ),
    "one over all rows": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station",
        "one over all rows: GLOBAL_WINDOWS",
        "SELECT station, COUNT(*) AS n FROM GLOBAL_WINDOWS(TABLE rides, DESCRIPTOR(leaves)) GROUP BY station",
    ),
    "grouping by a place": (
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY 1, window",
        "write each key by its name",
        f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station, window",
    ),
    "grouping windows that follow rows": (
        f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, window",
        "write TABLE ... PARTITION BY station",
        within(
            "rides",
            "rides PARTITION BY station",
            f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, window",
        ),
    ),
    "grouping windows that follow rows by two": (
        f"SELECT station, city, COUNT(*) AS n FROM {SESSION} GROUP BY station, city, window",
        "write TABLE ... PARTITION BY (station, city)",
        within(
            "rides",
            "rides PARTITION BY (station, city)",
            f"SELECT station, COUNT(*) AS n FROM {SESSION} GROUP BY station, city, window",
        ),
    ),
    "two sets of keys": (
        within("rides", "rides PARTITION BY city", COUNTS),
        "name the same columns in both",
        within("rides", "rides PARTITION BY station", COUNTS),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
