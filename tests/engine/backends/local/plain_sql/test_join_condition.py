"""Conditions of joins."""

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
        "SELECT r.*, city FROM rides r LEFT JOIN stations s ON r.station = s.station AND s.size > 1",
        "SELECT a.station FROM rides a JOIN rides b ON a.km = b.km",
        # The quotient would fail for the size 1, which the condition before it leaves out.
        (
            "SELECT a.city FROM stations a LEFT JOIN stations b"
            " ON a.station = b.station AND a.size > 1 AND 10 / (a.size - 1) > b.size"
        ),
        "SELECT r.station FROM rides r JOIN stations s ON r.station = s.station AND r.riders / (s.size - 5) > 0",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT a.city FROM stations a JOIN stations b ON a.city = b.city AND a.size = b.size + 1",
            "may fail for rows that have no pair, .*\n  write what cannot fail",
        ),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
