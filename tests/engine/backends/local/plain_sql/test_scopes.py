"""The names that expressions read: columns of tables, and columns of SELECT before them."""

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
        "SELECT KM, rides.Station, BIKE.Gears FROM rides",
        "SELECT riders + 1L AS a, a * 2 AS b, bike AS c, c.gears + b AS g FROM rides WHERE riders < 100",
        "SELECT riders AS station, station AS name FROM rides",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT kmm FROM rides", "'kmm' is not a column of the tables\n  did you mean km?"),
        ("SELECT kmm.x FROM rides", "'kmm.x' is not a column of the tables\n  did you mean km?"),
        ("SELECT rides.kmm FROM rides", "'rides.kmm' is not a column of the tables\n  did you mean km?"),
        (
            "SELECT rides.bikee.gears FROM rides",
            "'rides.bikee.gears' is not a column of the tables\n  did you mean bike?",
        ),
        ("SELECT station FROM rides, stations", "may be any of rides.station, stations.station"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
