"""Mistakes in the calls of aggregates and modules. Each message says what to write, and Spark plans it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.engine.sql_text.advice.mistakes import (
    COUNTS,
    ENDS,
    TUMBLE,
    Cases,
    assert_advice_is_a_query,
    within,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By its name, a mistake: the wrong query, a part of the message, and the query that the message advises.
CASES: Final[Cases] = {
    "an unknown module": (
        within("COUNT(*)", "stats.averge(km)", COUNTS),
        "did you mean 'stats.average'",
        within("COUNT(*)", "stats.average(km)", COUNTS),
    ),
    "distinct sums": (
        within("COUNT(*)", "SUM(DISTINCT km)", COUNTS),
        "write COUNT(DISTINCT km)",
        within("COUNT(*)", "COUNT(DISTINCT km)", COUNTS),
    ),
    "an aggregate of an aggregate": (
        within("COUNT(*)", "MAX(SUM(km))", COUNTS),
        "aggregate the results of a query: TABLE (SELECT ...)",
        f"SELECT MAX(n) AS m FROM TUMBLE(TABLE ({COUNTS}), INTERVAL '1' HOUR) {ENDS}",
    ),
    "a filter of a module without columns": (
        within("COUNT(*)", "patterns.state_machine() FILTER (WHERE km > 1)", COUNTS),
        "filter the events of the query: WHERE",
        within("GROUP", "WHERE km > 1 GROUP", COUNTS),
    ),
    "no aggregate": (within("COUNT(*) AS n", "km", COUNTS), "write COUNT(*) AS n", COUNTS),
    "the rows of windows": (
        within("COUNT(*) AS n", "km", COUNTS),
        "stats.collect_list(km)",
        within("COUNT(*)", "stats.collect_list(km)", COUNTS),
    ),
    "a column that is no key": (
        f"SELECT city, COUNT(*) AS n FROM {TUMBLE} {ENDS}",
        "write an aggregate such as MAX(city), or GROUP BY it",
        f"SELECT MAX(station) AS station, COUNT(*) AS n FROM {TUMBLE} {ENDS}",
    ),
    "a key that is an expression": (
        f"SELECT upper(city) AS u, COUNT(*) AS n FROM {TUMBLE} GROUP BY upper(city), window",
        "name it in the table: TABLE (SELECT *, upper(city) AS k FROM ...)",
        within(
            "rides",
            "(SELECT *, upper(city) AS k FROM rides)",
            f"SELECT k, COUNT(*) AS n FROM {TUMBLE} GROUP BY k, window",
        ),
    ),
    "a column without a name": (
        f"SELECT SUM(km) / COUNT(*) FROM {TUMBLE} {ENDS}",
        "write ... AS ratio",
        f"SELECT SUM(km) / COUNT(*) AS ratio FROM {TUMBLE} {ENDS}",
    ),
    "two columns of a name": (
        f"SELECT SUM(km) AS x, COUNT(*) AS x FROM {TUMBLE} {ENDS}",
        "name one of them otherwise with AS",
        f"SELECT SUM(km) AS x, COUNT(*) AS y FROM {TUMBLE} {ENDS}",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_refused_with_advice_that_is_a_query(
    spark: SparkSession, tables: dict[str, Any], name: str
) -> None:
    assert_advice_is_a_query(spark, tables, CASES[name])
