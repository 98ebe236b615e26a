"""Mistakes that the calls behind a query refuse. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    ENDS,
    NEAR,
    NO_SQL,
    SAME,
    SESSION,
    TUMBLE,
    Cases,
    R,
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
    "late rows of rows in order": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id LATE ADJUST, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
        "use LATE SIDE or LATE DROP",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id LATE DROP, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "early results of windows that are cut by events": (
        f"{counted(SESSION)} EMIT EARLY every_count(1) ACCUMULATE",
        "use EMIT EARLY ... RETRACT",
        f"{counted(SESSION)} EMIT EARLY every_count(1) RETRACT",
    ),
    "late rows of a join": (
        joined(SAME, left=R.replace("rides", "rides LATE CORRECT WITHIN INTERVAL '1' HOUR")),
        "use LATE SIDE and a longer delay",
        joined(SAME, left=R.replace("rides", "rides LATE SIDE")),
    ),
    "a clip of rows": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window CLIP FULL",
        "the rows of LAST(TABLE ..., 2) are points inside it",
        NO_SQL,
    ),
    "a unit of timestamps": (
        of_rides("'1' HOUR", "'1' HOUR, UNIT => 'ms'"),
        "so UNIT => 'ms' says nothing of them: leave it out",
        counted(TUMBLE),
    ),
    "a length without a unit": (
        of_rides("INTERVAL '1' HOUR", "5"),
        "for example INTERVAL '5' SECOND",
        of_rides("INTERVAL '1' HOUR", "INTERVAL '5' SECOND"),
    ),
    "a length of integers without a unit": (
        of_rides("rides, DESCRIPTOR(leaves)", "numbers, DESCRIPTOR(t)"),
        "as in UNIT => 'ms'",
        of_rides(
            "rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR", "numbers, DESCRIPTOR(t), INTERVAL '1' HOUR, UNIT => 'ms'"
        ),
    ),
    "timestamps that modules do not set": (
        f"{COUNTS} TIMESTAMPS UNCHANGED",
        "use TIMESTAMPS ALIGN or TIMESTAMPS POINT_AT_END",
        f"{COUNTS} TIMESTAMPS POINT_AT_END",
    ),
    "an order of maps": (
        "SELECT COUNT(*) AS n FROM LAST(TABLE (SELECT *, map(id, id) AS tags FROM rides) PARTITION BY station"
        " ORDER BY tags, DESCRIPTOR(leaves), 2) GROUP BY station, window",
        "ORDER BY tags is of type map<int,int>",
        NO_SQL,
    ),
    "too little reach": (
        f"SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM {TUMBLE} {ENDS}",
        "write: TUMBLE(TABLE ..., INTERVAL '1' HOUR, REACH => INTERVAL '1 minute 1 second')",
        "SELECT window, patterns.followed_by(id, within => INTERVAL '1' MINUTE) FROM "
        f"TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1 hour', REACH => INTERVAL '1 minute 1 second') {ENDS}",
    ),
    "rows without an order": (
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
        "name one that tells rows of one time apart, such as an offset: TABLE ... ORDER BY offset",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "a sum of text": (
        within("COUNT(*)", "SUM(city)", COUNTS),
        "CAST(city AS double)",
        within("COUNT(*)", "SUM(CAST(id AS double))", COUNTS),
    ),
    "a clip that the module refuses": (
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP NONE",
        "it accepts CLIP FULL",
        f"SELECT stats.time_weighted_average(km) AS n FROM {TUMBLE} {ENDS} CLIP FULL",
    ),
    "an evaluator that cannot": (
        within("COUNT(*)", "stats.collect_list(km)", f"{COUNTS} EVALUATOR COLUMNAR"),
        "leave the choice open with EVALUATOR AUTO",
        within("COUNT(*)", "stats.collect_list(km)", f"{COUNTS} EVALUATOR AUTO"),
    ),
    "a join of what has no column": (
        joined("r.stationn = s.station"),
        "did you mean 'station'?",
        joined("r.station = s.station"),
    ),
    "a time that is text": (
        of_rides("leaves", "station"),
        "timestamp",
        of_rides(
            "TABLE rides, DESCRIPTOR(leaves)",
            "TABLE (SELECT *, CAST(leaves AS timestamp) AS t FROM rides), DESCRIPTOR(t)",
        ),
    ),
    "bounds of decimals": (
        joined(
            "s.d BETWEEN r.d - 1.5 AND r.d AND s.d > r.d - 1",
            left="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS r",
            right="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS s",
        ),
        "write s.d BETWEEN r.d - 2.5 AND r.d + 2.5",
        joined(
            "s.d BETWEEN r.d - 2.5 AND r.d + 2.5",
            left="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS r",
            right="EVENTS(TABLE numbers, DESCRIPTOR(d)) AS s",
        ),
    ),
    "bounds of two kinds": (
        joined(f"{SAME} AND s.since BETWEEN r.leaves - 5 AND r.leaves + INTERVAL '1' HOUR"),
        "write both as intervals, or both as numbers",
        joined(f"{SAME} AND {NEAR}"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
