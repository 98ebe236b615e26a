"""The tables of FROM and their joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from muntin.errors import QueryError
from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows
from tests.engine.backends.local.plain_sql.beside_spark import computed_here, contents, translated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "text",
    [
        "SELECT STATION, r.km, r.riders FROM rides JOIN rides AS r USING (station)",
        "SELECT * FROM stations s JOIN rides AS r USING (station)",
        "SELECT * FROM stations s RIGHT JOIN rides AS r USING (station)",
        (
            "SELECT station, s.station AS left, r.station AS right"
            " FROM stations s FULL OUTER JOIN rides AS r USING (station)"
        ),
        "SELECT * FROM rides LEFT SEMI JOIN stations USING (station)",
        "SELECT * FROM rides r LEFT ANTI JOIN stations s ON r.station <=> s.station",
        "SELECT a.city, b.city AS other FROM stations a CROSS JOIN stations b WHERE a.size < b.size",
        "SELECT a.city, b.city AS other FROM stations a, stations b WHERE a.size = b.size",
        "SELECT a.city, b.city AS other FROM stations a CROSS JOIN stations b ON a.size < b.size",
        "SELECT station, a.city, b.size FROM stations a CROSS JOIN stations b USING (station)",
        "SELECT city, other FROM (SELECT city FROM stations) CROSS JOIN (SELECT city AS other FROM stations)",
    ],
)
def test_rows_names_and_types_are_those_of_spark(views: SparkSession, text: str) -> None:
    expected = views.sql(text).toArrow()
    assert contents(computed_here(text)) == contents(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM rides NATURAL JOIN stations", "is not translated"),
        ("SELECT * FROM rides TABLESAMPLE (10 ROWS)", "is not translated"),
        ("SELECT km FROM rides LATERAL VIEW explode(array(1)) AS x", "is not translated"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        translated(text)


@pytest.mark.parametrize("text", ["SELECT x FROM a JOIN b USING (k)", "SELECT x FROM b JOIN a USING (k)"])
def test_using_a_column_whose_values_have_no_meaning_is_refused(text: str) -> None:
    tables = {
        "a": pa.table({"k": pa.nulls(1), "x": [1]}),
        "b": pa.table({"k": pa.array([pa.MonthDayNano([1, 0, 0])])}),
    }
    with pytest.raises(QueryError, match="compares void and void in USING"):
        QueriedRows.of(text, tables)
