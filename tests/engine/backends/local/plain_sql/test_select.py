"""Columns and conditions of a SELECT."""

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
        "SELECT * FROM rides",
        (
            "SELECT station AS s, riders + 1L AS n, bike.kind, fare * 2 AS twice"
            " FROM rides WHERE km > 0 AND riders < 100"
        ),
        "SELECT riders * INTERVAL '1' MINUTE AS lasts, leaves + riders * INTERVAL 1 SECOND AS ends FROM rides",
        "SELECT 1 AS x, 'a' AS y, NULL AS z",
        "SELECT city FROM stations WHERE city NOT LIKE 'B%' AND city NOT LIKE 'n!%' ESCAPE '!'",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ROW_NUMBER() OVER (ORDER BY km) AS n FROM rides", "needs 'window'"),
        ("SELECT km FROM rides WHERE station IN (SELECT station FROM stations)", "looks into a query"),
        ("SELECT km FROM rides WHERE riders", "'riders' is int\n  expected: a condition"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
