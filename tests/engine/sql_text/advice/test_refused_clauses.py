"""Clauses of SQL that streams do not have. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "an order": (f"{COUNTS} ORDER BY n", "order them where you read them: query.results().orderBy('n')", COUNTS),
    "a limit": (
        f"{COUNTS} LIMIT 3",
        "stats.top_k or stats.top_by keep the largest of each window",
        within("COUNT(*) AS n", "window, stats.top_k(km, k => 3)", COUNTS),
    ),
    "a distinct": (
        within("SELECT", "SELECT DISTINCT", COUNTS),
        "COUNT(DISTINCT km) counts values",
        within("*", "DISTINCT km", COUNTS),
    ),
    "a rank": (
        f"{COUNTS} QUALIFY row_number() OVER (ORDER BY n) = 1",
        "stats.top_k or stats.top_by rank within a window",
        within("COUNT(*) AS n", "window, stats.top_by(id, km, k => 1)", COUNTS),
    ),
    "a lateral view": (
        within("GROUP", "LATERAL VIEW explode(array(1, 2)) AS x GROUP", COUNTS),
        "write it in the table: TABLE (SELECT ... LATERAL VIEW ...)",
        within("TABLE rides", "TABLE (SELECT * FROM rides LATERAL VIEW explode(array(1, 2)) t AS x)", COUNTS),
    ),
    "names of columns": (
        f"SELECT x FROM ({COUNTS}) AS o(x, y)",
        "write SELECT ... AS name, and not AS t(name, ...)",
        f"SELECT station AS x FROM ({COUNTS}) AS o",
    ),
    "a sample": (
        within("GROUP", "TABLESAMPLE (10 PERCENT) GROUP", COUNTS),
        "write it in the table: TABLE (SELECT ...)",
        within("TABLE rides", "TABLE (SELECT * FROM rides TABLESAMPLE (10 PERCENT))", COUNTS),
    ),
    "several groupings": (
        f"SELECT COUNT(*) AS n FROM {TUMBLE} GROUP BY ROLLUP(station), window",
        "write a query for each, or name the keys",
        COUNTS,
    ),
    "a rank beside": (
        within("COUNT(*)", "row_number() OVER (ORDER BY km)", COUNTS),
        "stats.top_k and stats.top_by rank within a window; LAST(...) follows rows",
        "SELECT SUM(km) AS s FROM LAST(TABLE rides PARTITION BY station ORDER BY id, DESCRIPTOR(leaves), 2)"
        " GROUP BY station, window",
    ),
    "an aggregate that is no module": (
        within("COUNT(*)", "KURTOSIS(km)", COUNTS),
        "aggregates are COUNT, SUM, AVG",
        within("*", "km", COUNTS),
    ),
    "an order within an aggregate": (
        within("COUNT(*)", "COLLECT_LIST(km ORDER BY id)", COUNTS),
        "the order is that of events: TABLE rides ORDER BY line",
        within("COUNT(*)", "COLLECT_LIST(km)", within("rides", "rides ORDER BY id", COUNTS)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
