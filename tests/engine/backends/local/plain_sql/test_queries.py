"""Queries of WITH clauses, queries in FROM and UNION, and what is no query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin.errors import QueryError
from tests.engine.backends.local.plain_sql.beside_spark import computed_here, contents, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "text",
    [
        (
            "WITH big AS (SELECT * FROM rides WHERE riders > 1),"
            " named(s, n) AS (SELECT station, COUNT(*) FROM big GROUP BY 1)"
            " SELECT s, n, size FROM named JOIN stations ON s = station"
        ),
        "SELECT x.a + x.b AS c FROM (SELECT riders AS a, size AS b FROM rides JOIN stations USING (station)) AS x",
        "SELECT station FROM rides UNION ALL SELECT city FROM stations",
        "SELECT station FROM rides UNION SELECT station FROM stations",
        # No station can be cast, and no row has so many riders.
        "SELECT i FROM (SELECT CAST(station AS INT) AS i FROM rides WHERE riders > 99999999999) WHERE i > 3",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM ridez", "'ridez' is no table\n  did you mean rides?"),
        ("SELECT * FROM rides INTERSECT SELECT * FROM rides", "is no SELECT"),
        ("SELECT km FROM", "cannot be read as a query"),
        ("SELECT 1 AS x; SELECT 2 AS x", "expected one query, got 2"),
        ("DROP TABLE rides", "is no SELECT"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
