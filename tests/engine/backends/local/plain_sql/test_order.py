"""ORDER BY, LIMIT and DISTINCT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin.errors import QueryError
from tests.engine.backends.local.plain_sql.beside_spark import computed_here, contents, rows_as_text, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT station, is_paid FROM rides",
        "SELECT DISTINCT size AS a, a + 1 AS b FROM stations",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT station, km FROM rides ORDER BY station, km DESC, leaves",
        "SELECT station AS s, riders FROM rides ORDER BY s DESC NULLS FIRST, 2, leaves LIMIT 5",
        "SELECT station, COUNT(*) AS n FROM rides GROUP BY station ORDER BY COUNT(*) DESC, station",
        "SELECT station, km FROM rides GROUP BY station, km ORDER BY MAX(km), station",
        "SELECT station, MAX(km) AS km FROM rides GROUP BY station ORDER BY MAX(rides.km), station",
        "SELECT DISTINCT station, is_paid FROM rides ORDER BY upper(station), station, is_paid",
        "SELECT leaves FROM rides ORDER BY km NULLS LAST, leaves LIMIT 3 OFFSET 2",
    ],
)
def test_rows_are_in_the_order_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    rows = computed_here(text)
    assert contents(rows) == contents(expected)
    assert rows_as_text(rows) == rows_as_text(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT MAX(km) AS km FROM rides ORDER BY MAX(km)", "aggregates km, which is the name of a column of SELECT"),
        (
            "SELECT DISTINCT station FROM rides ORDER BY km",
            "is no column of SELECT DISTINCT\n  order by one of station",
        ),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
