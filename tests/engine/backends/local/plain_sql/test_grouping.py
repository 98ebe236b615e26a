"""Groups, aggregates and HAVING."""

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
            "SELECT station, COUNT(*), COUNT(km) AS n, SUM(riders) AS s, AVG(riders) AS m, MAX(leaves) AS t"
            " FROM rides WHERE riders < 100 GROUP BY station"
        ),
        "SELECT km, COUNT(*) AS n FROM rides GROUP BY km",
        (
            "SELECT UPPER(station) AS s, MIN(km) AS low, MAX(km) AS high, SUM(fare) AS fare,"
            " COUNT(DISTINCT riders) AS n FROM rides GROUP BY upper(rides.station) HAVING n > 0 AND MIN(fare) > -5"
        ),
        "SELECT lower(station) AS key, is_paid, SUM(riders % 7) * 2 AS s FROM rides GROUP BY key, 2",
        "SELECT COUNT(*) AS n, SUM(km) AS s, MIN(station) AS first FROM rides WHERE station = 'nowhere'",
        "SELECT SUM(riders) / COUNT(*) AS mean, -MAX(riders) AS least FROM rides",
        "SELECT station, -riders AS riders FROM rides GROUP BY station, riders HAVING riders > 0",
        "SELECT station, SUM(riders) AS riders FROM rides WHERE riders < 100 GROUP BY station HAVING MAX(riders) > 1",
        "SELECT 1 AS x FROM rides HAVING COUNT(*) > 3",
        (
            "SELECT station, COUNT(*) FILTER (WHERE riders > 1) AS n, SUM(km) FILTER (WHERE is_paid) AS s,"
            " COUNT(DISTINCT riders) FILTER (WHERE 6 / riders > 1) AS d FROM rides GROUP BY station"
        ),
        "SELECT SUM(DISTINCT riders) AS n, SUM(DISTINCT fare) AS f, AVG(DISTINCT riders) AS a FROM rides",
        "SELECT station, COUNT(*) AS n, n * 2 AS twice FROM rides GROUP BY station",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT km, COUNT(*) AS n FROM rides GROUP BY station", "'km' is neither grouped nor aggregated"),
        ("SELECT STDDEV(km) AS s FROM rides", "not known to mean the same without Spark"),
        ("SELECT SUM(DISTINCT km) AS s FROM rides", "compares floats"),
        ("SELECT SUM(riders) AS s, SUM(s) AS t FROM rides", "'s', in 'SUM\\(s\\)' is not a column"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)
