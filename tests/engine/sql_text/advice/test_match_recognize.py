"""Mistakes in MATCH_RECOGNIZE. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    EVENTS,
    MATCH,
    NO_SQL,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    counted,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "a step that is not in the pattern": (
        within("A AS A.km", "C AS C.km", MATCH),
        "write PATTERN (A B), or PATTERN (A X*? B) with rows between",
        MATCH,
    ),
    "a longer pattern": (
        within("(A B)", "(A B C)", MATCH),
        "write PATTERN (A B), or PATTERN (A X*? B) with rows between",
        within("(A B)", "(A X*? B)", MATCH),
    ),
    "no time within": (
        within("WITHIN INTERVAL '1' HOUR", "", MATCH),
        "write WITHIN INTERVAL '1' HOUR after the pattern",
        MATCH,
    ),
    "a decimal time within": (
        "SELECT * FROM numbers MATCH_RECOGNIZE (ORDER BY d MEASURES A.id AS first, B.id AS second"
        " AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN 1.5 DEFINE A AS A.id > 1) AS m",
        "write SELECT lifetime, patterns.followed_without(id, a, b, breaks, within => 5) FROM EVENTS(...)",
        "SELECT lifetime, patterns.followed_without(id, id > 1, id > 2, false, within => 5)"
        " FROM EVENTS(TABLE numbers, DESCRIPTOR(d))",
    ),
    "matches that are grouped": (
        f"{MATCH} GROUP BY station",
        "read them as a stream: FROM TUMBLE(TABLE (SELECT ... MATCH_RECOGNIZE ...), INTERVAL '1' HOUR)",
        counted(f"TUMBLE(TABLE ({MATCH}), INTERVAL '1' HOUR)"),
    ),
    "matches that are filtered": (
        f"{MATCH} WHERE first > 1",
        "filter rows in the table: FROM (SELECT ... WHERE ...) MATCH_RECOGNIZE (...)",
        within("FROM rides", "FROM (SELECT * FROM rides WHERE km > 1)", MATCH),
    ),
    "matches with an emission": (f"{MATCH} EMIT FINAL", "leave it out", MATCH),
    "matches in descending order": (within("leaves, id", "leaves DESC", MATCH), "write ORDER BY leaves, line", MATCH),
    "matches without an order": (
        within("ORDER BY leaves, id ", "", MATCH),
        "write ORDER BY and the column of times, and perhaps one that orders rows of the same time",
        MATCH,
    ),
    "matches by another order": (
        within("FROM rides", f"FROM {EVENTS}", within("leaves, id", "returns", MATCH)),
        "write ORDER BY leaves",
        within("FROM rides", f"FROM {EVENTS}", within("leaves, id", "leaves", MATCH)),
    ),
    "matches in windows": (
        within("FROM rides", f"FROM {TUMBLE}", MATCH),
        "write FROM EVENTS(TABLE ...) MATCH_RECOGNIZE (...)",
        within("FROM rides", f"FROM {EVENTS}", MATCH),
    ),
    "matches by an expression": (
        within("BY station", "BY upper(station)", MATCH),
        "name it in the table: FROM (SELECT *, upper(station) AS k FROM ...) MATCH_RECOGNIZE (... PARTITION BY k ...)",
        within("FROM rides", "FROM (SELECT *, upper(station) AS k FROM rides)", within("BY station", "BY k", MATCH)),
    ),
    "matches with two keys": (
        within("FROM rides", "FROM EVENTS(TABLE rides PARTITION BY city, DESCRIPTOR(leaves))", MATCH),
        "leave one of them out",
        within("FROM rides", f"FROM {EVENTS}", MATCH),
    ),
    "all rows of a match": (within("ONE ROW", "ALL ROWS", MATCH), "write ONE ROW PER MATCH", MATCH),
    "matches that skip": (
        within("AFTER MATCH SKIP TO NEXT ROW", "", MATCH),
        "write AFTER MATCH SKIP TO NEXT ROW before PATTERN",
        MATCH,
    ),
    "a condition that calls": (
        within("A.km > 1", "luhn_check(A.station)", MATCH),
        "compute it in the table: FROM (SELECT *, ... AS x FROM rides) MATCH_RECOGNIZE (...)",
        within(
            "FROM rides",
            "FROM (SELECT *, luhn_check(station) AS x FROM rides)",
            within("A.km > 1", "A.x", MATCH),
        ),
    ),
    "a condition on another row": (
        within("A.km > 1", "A.km > B.km", MATCH),
        "compare rows in a stream operator of your own",
        NO_SQL,
    ),
    "a measure of no row": (within("A.id AS", "C.id AS", MATCH), "write A.km or B.km", within("A.id", "A.km", MATCH)),
    "no measures": (
        within("MEASURES A.id AS first, B.id AS second", "", MATCH),
        "write MEASURES A.id AS first, ...",
        MATCH,
    ),
    "a measure without a name": (within("A.id AS first", "A.id", MATCH), "write ... AS first", MATCH),
    "a measure of several rows": (
        within("A.id", "LAST(A.id)", MATCH),
        "write A.id; compute more in a query around this one",
        MATCH,
    ),
    "a column that is no measure": (
        within("SELECT *", "SELECT km", MATCH),
        "there are station, first, second",
        within("*", "station, first", MATCH),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
