"""Plain queries in Spark's SQL over tables in this process: the same rows, names and types, or a refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import muntin_engine.testing.streaming
from muntin.errors import QueryError
from muntin_engine import Query, sql
from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows
from muntin_engine.testing.streaming import StartsJob, assert_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START: Final = datetime(2024, 5, 1, 8, tzinfo=UTC)

RIDES: Final = pa.table(
    {
        "station": pa.array(["a", "b", "a", None, "C", "c", "", "b"]),
        "leaves": pa.array([_START + timedelta(minutes=7 * n) for n in range(8)], pa.timestamp("us", "UTC")),
        "km": pa.array([1.5, 0.0, None, -0.0, float("nan"), 2.0, float("inf"), 2.0]),
        "riders": pa.array([1, 2, None, 4, 2147483647, -3, 2, 2], pa.int32()),
        "fare": pa.array([Decimal("1.25"), None, Decimal("-3.00"), *[Decimal("9.99")] * 5], pa.decimal128(8, 2)),
        "is_paid": pa.array([True, None, False, True, True, False, None, True]),
        "bike": pa.array([{"kind": "cargo", "gears": 3}] * 5 + [None] * 3),
    }
)

STATIONS: Final = pa.table(
    {
        "station": pa.array(["a", "b", "b", None, "d"]),
        "city": pa.array(["A", "B", "B2", "none", "D"]),
        "size": pa.array([1, 2, 3, 4, 5], pa.int64()),
    }
)

TEXTS: Final = (
    "SELECT * FROM rides",
    "SELECT STATION, r.km, rides.riders FROM rides JOIN rides AS r USING (station)".replace("rides.riders", "r.riders"),
    "SELECT station AS s, riders + 1L AS n, bike.kind, fare * 2 AS twice FROM rides WHERE km > 0 AND riders < 100",
    "SELECT r.*, city FROM rides r LEFT JOIN stations s ON r.station = s.station AND s.size > 1",
    "SELECT * FROM stations s JOIN rides AS r USING (station)",
    "SELECT * FROM stations s RIGHT JOIN rides AS r USING (station)",
    "SELECT station, s.station AS left, r.station AS right FROM stations s FULL OUTER JOIN rides AS r USING (station)",
    "SELECT * FROM rides LEFT SEMI JOIN stations USING (station)",
    "SELECT * FROM rides r LEFT ANTI JOIN stations s ON r.station <=> s.station",
    "SELECT a.city, b.city AS other FROM stations a CROSS JOIN stations b WHERE a.size < b.size",
    "SELECT a.city, b.city AS other FROM stations a, stations b WHERE a.size = b.size",
    "SELECT station, COUNT(*), COUNT(km) AS n, SUM(riders) AS s, AVG(riders) AS m, MAX(leaves) AS t"
    " FROM rides WHERE riders < 100 GROUP BY station",
    "SELECT km, COUNT(*) AS n FROM rides GROUP BY km",
    "SELECT UPPER(station) AS s, MIN(km) AS low, MAX(km) AS high, SUM(fare) AS fare, COUNT(DISTINCT riders) AS n"
    " FROM rides GROUP BY upper(rides.station) HAVING n > 0 AND MIN(fare) > -5",
    "SELECT lower(station) AS key, is_paid, SUM(riders % 7) * 2 AS s FROM rides GROUP BY key, 2",
    "SELECT COUNT(*) AS n, SUM(km) AS s, MIN(station) AS first FROM rides WHERE station = 'nowhere'",
    "SELECT SUM(riders) / COUNT(*) AS mean, -MAX(riders) AS least FROM rides",
    "SELECT DISTINCT station, is_paid FROM rides",
    "WITH big AS (SELECT * FROM rides WHERE riders > 1), named(s, n) AS (SELECT station, COUNT(*) FROM big GROUP BY 1)"
    " SELECT s, n, size FROM named JOIN stations ON s = station",
    "SELECT x.a + x.b AS c FROM (SELECT riders AS a, size AS b FROM rides JOIN stations USING (station)) AS x",
    "SELECT station FROM rides UNION ALL SELECT city FROM stations",
    "SELECT station FROM rides UNION SELECT station FROM stations",
    "SELECT riders * INTERVAL '1' MINUTE AS lasts, leaves + riders * INTERVAL 1 SECOND AS ends FROM rides",
    "SELECT 1 AS x, 'a' AS y, NULL AS z",
    "SELECT station, -riders AS riders FROM rides GROUP BY station, riders HAVING riders > 0",
    "SELECT station, SUM(riders) AS riders FROM rides WHERE riders < 100 GROUP BY station HAVING MAX(riders) > 1",
    "SELECT KM, rides.Station, BIKE.Gears FROM rides",
    "SELECT 1 AS x FROM rides HAVING COUNT(*) > 3",
    "SELECT a.station FROM rides a JOIN rides b ON a.km = b.km",
    "SELECT a.city FROM stations a LEFT JOIN stations b"
    " ON a.station = b.station AND a.size > 1 AND 10 / (a.size - 1) > b.size",
    "SELECT r.station FROM rides r JOIN stations s ON r.station = s.station AND r.riders / (s.size - 5) > 0",
    "SELECT station, COUNT(*) FILTER (WHERE riders > 1) AS n, SUM(km) FILTER (WHERE is_paid) AS s,"
    " COUNT(DISTINCT riders) FILTER (WHERE 6 / riders > 1) AS d FROM rides GROUP BY station",
    "SELECT SUM(DISTINCT riders) AS n, SUM(DISTINCT fare) AS f, AVG(DISTINCT riders) AS a FROM rides",
    "SELECT riders + 1L AS a, a * 2 AS b, bike AS c, c.gears + b AS g FROM rides WHERE riders < 100",
    "SELECT riders AS station, station AS name FROM rides",
    "SELECT station, COUNT(*) AS n, n * 2 AS twice FROM rides GROUP BY station",
    "SELECT DISTINCT size AS a, a + 1 AS b FROM stations",
    "SELECT city FROM stations WHERE city NOT LIKE 'B%' AND city NOT LIKE 'n!%' ESCAPE '!'",
    "SELECT i FROM (SELECT CAST(station AS INT) AS i FROM rides WHERE riders > 99999999999) WHERE i > 3",
)

ORDERED: Final = (
    "SELECT station, km FROM rides ORDER BY station, km DESC, leaves",
    "SELECT station AS s, riders FROM rides ORDER BY s DESC NULLS FIRST, 2, leaves LIMIT 5",
    "SELECT station, COUNT(*) AS n FROM rides GROUP BY station ORDER BY COUNT(*) DESC, station",
    "SELECT station, km FROM rides GROUP BY station, km ORDER BY MAX(km), station",
    "SELECT station, MAX(km) AS km FROM rides GROUP BY station ORDER BY MAX(rides.km), station",
    "SELECT DISTINCT station, is_paid FROM rides ORDER BY upper(station), station, is_paid",
    "SELECT leaves FROM rides ORDER BY km NULLS LAST, leaves LIMIT 3 OFFSET 2",
)


def rows_of(table: pa.Table) -> list[str]:
    return [repr(tuple(row.values())) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def views(spark: SparkSession) -> SparkSession:
    spark.createDataFrame(RIDES).createOrReplaceTempView("rides")
    spark.createDataFrame(STATIONS).createOrReplaceTempView("stations")
    return spark


@pytest.mark.parametrize("text", [*TEXTS, *ORDERED])
def test_a_query_has_the_rows_names_and_types_of_spark(views: SparkSession, text: str) -> None:
    rows = QueriedRows.of(text, {"rides": RIDES, "stations": STATIONS}).table()
    expected = views.sql(text).toArrow()
    assert rows.schema.names == expected.schema.names
    assert list(map(str, rows.schema.types)) == list(map(str, expected.schema.types))
    if text in ORDERED:
        assert rows_of(rows) == rows_of(expected)
    assert Counter(rows_of(rows)) == Counter(rows_of(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM ridez", "'ridez' is no table\n  did you mean rides?"),
        ("SELECT kmm FROM rides", "'kmm' is not a column of the tables\n  did you mean km?"),
        ("SELECT station FROM rides, stations", "may be any of rides.station, stations.station"),
        ("SELECT km + 1 FROM rides", "'km \\+ 1' has no name\n  name it"),
        ("SELECT km, COUNT(*) AS n FROM rides GROUP BY station", "'km' is neither grouped nor aggregated"),
        ("SELECT ROW_NUMBER() OVER (ORDER BY km) AS n FROM rides", "needs 'window'"),
        ("SELECT km FROM rides WHERE station IN (SELECT station FROM stations)", "looks into a query"),
        ("SELECT km, km FROM rides", "has several columns km"),
        (
            "SELECT km, rides.* FROM rides r",
            "'rides\\.\\*' has the columns of a table .* not there\n  the query reads r",
        ),
        ("SELECT STDDEV(km) AS s FROM rides", "not known to mean the same without Spark"),
        ("SELECT * FROM rides NATURAL JOIN stations", "is not translated"),
        ("SELECT * FROM rides TABLESAMPLE (10 ROWS)", "is not translated"),
        ("SELECT * FROM rides INTERSECT SELECT * FROM rides", "is no SELECT"),
        ("SELECT km FROM rides LATERAL VIEW explode(array(1)) AS x", "is not translated"),
        ("SELECT km FROM rides WHERE riders", "'riders' is int\n  expected: a condition"),
        ("SELECT km FROM", "cannot be read as a query"),
        ("SELECT MAX(km) AS km FROM rides ORDER BY MAX(km)", "aggregates km, which is the name of a column of SELECT"),
        (
            "SELECT DISTINCT station FROM rides ORDER BY km",
            "is no column of SELECT DISTINCT\n  order by one of station",
        ),
        ("SELECT SUM(DISTINCT km) AS s FROM rides", "compares floats"),
        ("SELECT SUM(riders) AS s, SUM(s) AS t FROM rides", "'s', in 'SUM\\(s\\)' is not a column"),
        (
            "SELECT a.city FROM stations a JOIN stations b ON a.city = b.city AND a.size = b.size + 1",
            "may fail for rows that have no pair, .*\n  write what cannot fail",
        ),
        ("SELECT 1 AS x; SELECT 2 AS x", "expected one query, got 2"),
        ("DROP TABLE rides", "is no SELECT"),
    ],
)
def test_what_has_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        QueriedRows.of(text, {"rides": RIDES, "stations": STATIONS})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT km / (riders - 1) AS x FROM rides", "division by zero, in 'km / \\(riders - 1\\)'"),
        ("SELECT CAST(station AS INT) AS x FROM rides", '\'a\' of the type "STRING" cannot be cast to "INT"'),
        ("SELECT riders + riders AS x FROM rides", "Overflow in addition of INT32"),
        ("SELECT MIN(km) AS x FROM rides WHERE km < 1", "the group has both 0.0 and -0.0: write MIN\\(x \\+ 0D\\)"),
    ],
)
def test_a_row_that_cannot_be_computed_is_an_error(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        QueriedRows.of(text, {"rides": RIDES}).table()


streaming = muntin_engine.testing.streaming.streaming
"""The fixture that runs a job."""

RIDES_OF_STREAM: Final = "station string, leaves timestamp, km double"

SELF_JOIN: Final = "SELECT a.city FROM s AS a JOIN s AS b ON a.size = b.size + 1"


def test_tables_of_all_kinds_are_read_twice_and_give_their_like(tmp_path: Path) -> None:
    pq.write_table(STATIONS, tmp_path / "s.parquet")
    frame = STATIONS.to_pandas()
    kinds: list[tuple[Any, type]] = [
        (STATIONS, pa.Table),
        (pa.RecordBatchReader.from_batches(STATIONS.schema, STATIONS.to_batches()), pa.Table),
        (str(tmp_path / "s.parquet"), pa.Table),
        (frame, pd.DataFrame),
        (pl.DataFrame(STATIONS), pl.DataFrame),
        (pl.DataFrame(STATIONS).lazy(), pl.LazyFrame),
        (duckdb.connect().from_arrow(STATIONS), duckdb.DuckDBPyRelation),
        (QueriedRows.of("SELECT * FROM s", {"s": frame}), pd.DataFrame),
    ]
    for table, kind in kinds:
        rows = QueriedRows.of(SELF_JOIN, {"s": table})
        result = rows.table()
        assert isinstance(result, kind)
    assert rows.table()["city"].tolist() == ["B", "B2", "none", "D"]


def _hours(query: str) -> Callable[[Any], Query[Any]]:
    text = f"""
        SELECT station, window_start, SUM(twice) AS km
        FROM TUMBLE(TABLE ({query}) WATERMARK DELAY OF INTERVAL '0' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
        GROUP BY station, window_start, window_end
    """
    return lambda rides: sql(text, rides=rides)


def test_a_query_of_the_rows_of_a_stream_is_one_of_each_micro_batch(streaming: StartsJob) -> None:
    job = streaming(_hours("SELECT *, km * 2 AS twice FROM rides WHERE km > 1"), RIDES_OF_STREAM)
    assert job.feed(("a", "2024-05-01T08:05:00Z", 3.0), ("a", "2024-05-01T08:40:00Z", 0.5)) == []
    assert_rows(job.feed(("a", "2024-05-01T09:40:00Z", 2.0)), [{"station": "a", "km": 6.0}])
    assert_rows(job.close(), [{"station": "a", "km": 4.0}])


def test_a_query_over_several_rows_of_a_stream_is_refused(streaming: StartsJob) -> None:
    with pytest.raises(QueryError, match="a query of a stream's rows that joins, groups or orders them"):
        streaming(_hours("SELECT *, km AS twice FROM rides ORDER BY km"), RIDES_OF_STREAM, backend="local").close()
