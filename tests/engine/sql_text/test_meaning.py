"""Texts mean what they mean in SQL: results are those of Spark's own SQL over rows with their windows beside them.

The windows of rows come from Flink's definitions, in a few lines of Python: nothing of Muntin is in what is expected.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from muntin_engine import sql
from muntin_engine.sql_text.query_reading import read
from muntin_engine.sql_text.sql_source import SqlError, SqlText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_SCHEMA: Final = "id int, k string, t timestamp, v double, i int, b boolean"
_START: Final = datetime(2024, 1, 1, 8)  # noqa: DTZ001  # Spark takes and returns times without a zone
# (minute, key, v, i, b)
_ROWS: Final = (
    *((0, "a", 1.5, 1, True), (1, None, None, 2, None), (9, "b", -2.0, None, False), (10, "a", 7.0, 5, True)),
    *((10, None, 0.0, -3, False), (20, "it's", 2.25, 0, None), (25, "b", 4.0, 2, True), (31, "a", None, None, False)),
)
_TUMBLE: Final = "TUMBLE(TABLE rides, DESCRIPTOR(t), INTERVAL '10' MINUTES)"
_HOP: Final = "HOP(TABLE rides, DESCRIPTOR(t), INTERVAL '5' MINUTES, INTERVAL '15' MINUTES)"
_CUMULATE: Final = "CUMULATE(TABLE rides, DESCRIPTOR(t), INTERVAL '10' MINUTES, INTERVAL '30' MINUTES)"
_SESSION: Final = "SESSION(TABLE rides PARTITION BY k, DESCRIPTOR(t), INTERVAL '10' MINUTES)"
_WINDOW_FUNCTIONS: Final = {"TUMBLE": _TUMBLE, "HOP": _HOP, "CUMULATE": _CUMULATE, "SESSION": _SESSION}
_GROUP: Final = "GROUP BY k, window_start, window_end"


def windows_of(function: str, minute: int, key: Any) -> Iterator[tuple[int, int]]:
    """Yield the windows that the row of a key at a minute is in: the minutes of their starts and ends.

    They follow Flink's definitions, with the sizes that the calls of the functions have above.
    """
    if function == "TUMBLE":
        start = minute - minute % 10
        yield start, start + 10
    elif function == "HOP":
        last_start = minute - minute % 5
        # Windows of 15 minutes that start earlier have the row, too, down to the last one that ends after it.
        yield from ((start, start + 15) for start in range(last_start, minute - 15, -5))
    elif function == "CUMULATE":
        start = minute - minute % 30
        yield from ((start, end) for end in (start + 10, start + 20, start + 30) if minute < end)
    else:
        # A row is in the session of its key whose nearest row is at most the gap away, before or after it.
        minutes_of_key = [row[0] for row in _ROWS if row[1] == key]
        first = last = minute
        while any(first - 10 <= earlier < first for earlier in minutes_of_key):
            first = max(earlier for earlier in minutes_of_key if earlier < first)
        while any(last < later <= last + 10 for later in minutes_of_key):
            last = min(later for later in minutes_of_key if later > last)
        yield first, last + 10


def after(minutes: int) -> datetime:
    return _START + timedelta(minutes=minutes)


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    rows = [(id, key, after(minute), v, i, b) for id, (minute, key, v, i, b) in enumerate(_ROWS)]
    return spark.createDataFrame(rows, _SCHEMA)


@pytest.fixture(scope="module")
def windowed(spark: SparkSession) -> dict[str, DataFrame]:
    """By the name of a function, the rows beside each of their windows."""
    tables: dict[str, DataFrame] = {}
    for function in _WINDOW_FUNCTIONS:
        rows: list[tuple[Any, ...]] = []
        for id, (minute, key, v, i, b) in enumerate(_ROWS):
            for start, end in windows_of(function, minute, key):
                rows.append((id, key, after(minute), v, i, b, after(start), after(end)))
        tables[function] = spark.createDataFrame(rows, f"{_SCHEMA}, window_start timestamp, window_end timestamp")
    return tables


def counted_rows(df: DataFrame) -> Counter[tuple[Any, ...]]:
    """Return how often each row is there."""
    return Counter(map(tuple, df.collect()))


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (
            "TUMBLE",
            f"SELECT k, window_start, COUNT(*) AS n, COUNT(v) AS c, SUM(i) AS s, AVG(v) AS m FROM {{windows}} {_GROUP}",
        ),
        (
            "HOP",
            "SELECT window_end, k, MAX(i) FILTER (WHERE b) AS m, COUNT(*) FILTER (WHERE v > 0) AS n"
            f" FROM {{windows}} {_GROUP}",
        ),
        (
            "TUMBLE",
            "SELECT r.k, r.window_start, -SUM(r.i) * 2 AS x FROM {windows} AS r GROUP BY window_end, r.k, window_start",
        ),
        (
            "CUMULATE",
            "SELECT CASE WHEN AVG(v) > 2 THEN 'it''s' ELSE '\\\\d' END AS c"
            f" FROM {{windows}} WHERE k != 'it''s' {_GROUP}",
        ),
        (
            "HOP",
            f"SELECT k, AVG(v) / COUNT(*) AS ratio FROM {{windows}} WHERE NOT b OR i IN (1, 2) {_GROUP}"
            " HAVING ratio > 0",
        ),
        (
            "TUMBLE",
            f"SELECT k, SUM(v) AS s, s + 1 AS more FROM {{windows}} {_GROUP} HAVING k IS NOT NULL AND COUNT(*) > 0",
        ),
        (
            "SESSION",
            f"SELECT k, window_start, window_end, COUNT(DISTINCT i) AS n, MIN(v) AS low FROM {{windows}} {_GROUP}",
        ),
        (
            "HOP",
            f"SELECT * FROM (SELECT k, window_end AS window_start, SUM(i) AS s FROM {{windows}} {_GROUP}) AS o"
            " WHERE o.s > 1",
        ),
        ("TUMBLE", f"SELECT s, i FROM (SELECT SUM(i) AS s, COUNT(v) AS i FROM {{windows}} {_GROUP}) WHERE i < s"),
    ],
)
def test_results_are_those_of_spark_over_rows_with_their_windows(
    spark: SparkSession, rides: DataFrame, windowed: dict[str, DataFrame], function: str, text: str
) -> None:
    """{windows} is the call of a window function in Muntin, and in Spark a table of the rows beside their windows."""
    muntin_text = text.format(windows=_WINDOW_FUNCTIONS[function])
    spark_text = text.format(windows="{windowed}")
    expected = counted_rows(spark.sql(spark_text, windowed=windowed[function]))

    assert counted_rows(sql(spark, muntin_text, rides=rides).results()) == expected

    in_this_process = sql(muntin_text, rides=rides.toArrow()).results()
    assert counted_rows(spark.createDataFrame(in_this_process)) == expected


def test_queries_of_with_are_those_of_spark(
    spark: SparkSession, rides: DataFrame, windowed: dict[str, DataFrame]
) -> None:
    muntin_text = (
        "WITH a AS (SELECT * FROM rides WHERE v > 0), c(id, k, t, v, i, b) AS (SELECT * FROM a)"
        f" SELECT k, SUM(v) AS s FROM TUMBLE(TABLE c, DESCRIPTOR(t), INTERVAL '10' MINUTES) {_GROUP}"
    )
    spark_text = (
        "WITH a AS (SELECT * FROM {windowed} WHERE v > 0),"
        " c(id, k, t, v, i, b, window_start, window_end) AS (SELECT * FROM a)"
        f" SELECT k, SUM(v) AS s FROM c {_GROUP}"
    )
    expected = counted_rows(spark.sql(spark_text, windowed=windowed["TUMBLE"]))

    assert counted_rows(sql(spark, muntin_text, rides=rides).results()) == expected

    in_this_process = sql(muntin_text, rides=rides.toArrow()).results()
    assert counted_rows(spark.createDataFrame(in_this_process)) == expected


_POINTS: Final = "EVENTS(TABLE rides, DESCRIPTOR(t))"


@pytest.mark.parametrize(
    ("text", "spark_text"),
    [
        (  # events of points meet at equal times
            f"SELECT l.id, r.id AS other FROM {_POINTS} AS l LEFT JOIN {_POINTS} AS r ON l.k = r.k",
            "SELECT l.id, r.id AS other FROM {rides} AS l LEFT JOIN {rides} AS r ON l.k = r.k AND l.t = r.t",
        ),
        (  # events meet in equal windows of 600 seconds
            f"SELECT l.id, r.id AS other FROM {_TUMBLE} AS l JOIN {_TUMBLE} AS r "
            "ON l.k <=> r.k AND l.window_start = r.window_start AND l.window_end = r.window_end WHERE r.v > 0",
            "SELECT l.id, r.id AS other FROM {rides} AS l JOIN {rides} AS r ON l.k <=> r.k AND r.v > 0 "
            "AND floor(unix_timestamp(l.t) / 600) = floor(unix_timestamp(r.t) / 600)",
        ),
        (  # a row of the right side holds until the next one of its key
            f"SELECT l.id, r.id AS other FROM {_POINTS} AS l JOIN EVENTS(TABLE (SELECT * FROM rides WHERE b), "
            "DESCRIPTOR(t)) FOR SYSTEM_TIME AS OF l.t AS r USING (k)",
            "SELECT l.id, r.id AS other FROM {rides} AS l JOIN (SELECT *, "
            "lead(t, 1, timestamp'9999-01-01') OVER (PARTITION BY k ORDER BY t) AS until FROM {rides} WHERE b) AS r "
            "ON l.k = r.k AND l.t >= r.t AND l.t < r.until",
        ),
        (  # the rows at 0 and 10 minutes are ten minutes apart, and the end of WITHIN is no part of it
            "SELECT a, b FROM rides MATCH_RECOGNIZE (ORDER BY t, id MEASURES A.id AS a, B.id AS b ONE ROW PER MATCH "
            "AFTER MATCH SKIP TO NEXT ROW PATTERN (A X*? B) WITHIN INTERVAL '10' MINUTES "
            "DEFINE A AS A.b, B AS B.i < 1) AS m",
            "SELECT * FROM VALUES (3, 4) AS m (a, b)",
        ),
    ],
)
def test_joins_and_patterns_are_those_of_sql(spark: SparkSession, rides: DataFrame, text: str, spark_text: str) -> None:
    expected = counted_rows(spark.sql(spark_text, rides=rides))
    assert counted_rows(sql(spark, text, rides=rides).results()) == expected


_INNER: Final = f"SELECT k, COUNT(*) AS n FROM {_TUMBLE} {_GROUP}"
_EVENTS: Final = "SELECT * FROM EVENTS(TABLE rides, DESCRIPTOR(t))"
_MATCH: Final = (
    "SELECT x FROM rides MATCH_RECOGNIZE (ORDER BY t MEASURES A.v AS x AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) "
    "WITHIN INTERVAL '1' HOUR DEFINE A AS b)"
)
_TEN = "'10' MINUTES"
_NINETY = "'1:30' HOUR TO MINUTE"
_JOINED: Final = "SELECT l.id FROM {0} AS l {1} {0} AS r ON l.k = r.k AND l.window_start = r.window_start"


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        (f"SELECT k, COUNT(*) AS n FROM {_TUMBLE} GROUP BY k", "GROUP BY k", "GROUP BY does not name the windows"),
        (f"SELECT COUNT(*) AS n FROM {_CUMULATE} GROUP BY window_start", "GROUP", "does not name the windows"),
        (f"SELECT COUNT(*) AS n FROM {_TUMBLE} GROUP BY 1, window", "1, window", "1 is no column"),
        (f"SELECT k, AVG(v) AS v, v * 2 AS w FROM {_TUMBLE} {_GROUP}", "v * 2", "v is neither a key nor an aggregate"),
        (f"SELECT upper(k) AS u, COUNT(*) AS n FROM {_TUMBLE} GROUP BY upper(k), window", "k) AS u", "AS k FROM ...)"),
        (f"SELECT KURTOSIS(COUNT(*)) AS n FROM {_TUMBLE} {_GROUP}", "KURTOSIS", "is no module"),
        (f"SELECT COLLECT_LIST(v ORDER BY t) AS n FROM {_TUMBLE} {_GROUP}", "v ORDER", "modules do not read"),
        (f"SELECT COUNT(*) AS n FROM {_SESSION} WHERE v > 1 {_GROUP}", "WHERE", "whose windows go by the rows"),
        (f"SELECT SUM(n) AS s FROM ({_INNER})", "SUM", "needs windows of its own"),
        (f"SELECT n FROM ({_INNER}) HAVING n > 1", "HAVING", "reads the results of a query"),
        (f"SELECT * EXCEPT (n) FROM ({_INNER})", "n)", "EXCEPT is not read over streams"),
        (f"SELECT x FROM ({_INNER}) AS o(x, y)", "x, y", "columns are named in SELECT"),
        (
            f"SELECT COUNT(*) AS n FROM GLOBAL_WINDOWS(TABLE ({_EVENTS} UNION ALL {_EVENTS}))",
            "EVENTS(TABLE rides, DESCRIPTOR(t))))",
            "two streams are called rides",
        ),
        (f"SELECT l.id FROM {_POINTS} AS l NATURAL JOIN {_POINTS} AS r", _POINTS + " AS r", "NATURAL"),
        (
            _JOINED.format(_HOP, "JOIN") + " AND l.window_end = r.window_end",
            "HOP(TABLE rides, DESCRIPTOR(t), INTERVAL '5' MINUTES, INTERVAL '15' MINUTES) AS r",
            "rows share several windows",
        ),
        (
            f"SELECT l.id FROM {_POINTS} AS l LEFT ANTI JOIN {_POINTS} AS r USING (k) WHERE r.v > 1",
            "r.v",
            "WHERE reads r",
        ),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('rides', 'rides WATERMARK FOR t AS t + INTERVAL 5 SECONDS')}",
            "WATERMARK",
            "this is no watermark",
        ),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('rides', 'rides WATERMARK FOR t AS u - INTERVAL 5 SECONDS')}",
            "u - INTERVAL",
            "the watermark is of u",
        ),
        (f"{_MATCH} AS m GROUP BY x", "GROUP", "matches are rows of their own"),
        (_MATCH.replace("ORDER BY t", "ORDER BY t DESC"), "t DESC", "rows follow one another by t DESC"),
        (_MATCH.replace("A.v AS", "LAST(A.v) AS"), "LAST", "is of several rows"),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('INTERVAL', 'SIZE => INTERVAL 1 HOUR, SIZE => INTERVAL')}",
            "SIZE => INTERVAL '10'",
            "size is given twice",
        ),
        (
            f"SELECT stats.quantile(v, q => 0.5, q => 0.9) AS q FROM {_TUMBLE} {_GROUP}",
            "q => 0.9",
            "q is given twice",
        ),
        (
            f"SELECT l.id FROM {_POINTS} AS l JOIN {_POINTS} AS r ON my.near(l.v, r.v, within => 1, within => 2)",
            "within => 2",
            "within is given twice",
        ),
        (
            "SELECT COUNT(*) AS n FROM SESSION(TABLE rides PARTITION BY k ORDER BY v, DESCRIPTOR(t), "
            f"INTERVAL '1' HOUR, ORDER => id) {_GROUP}",
            "ORDER => id",
            "order is given by its place already",
        ),
        (f"{_INNER} EMIT EARLY after_count(count => 1, COUNT => 2)", "COUNT => 2", "count is given twice"),
        (f"{_INNER} EMIT EARLY after_count(1, count => 2)", "after_count", "count is given by its place already"),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('rides', 'rides THEN shift(1, by => 2)')}",
            "shift(",
            "by is given by its place already",
        ),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('rides', 'rides THEN shift(-NULL)')}",
            "-NULL",
            "-NULL is no value here",
        ),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace('rides', 'rides THEN shift(MAP(ARRAY(1), 2))')}",
            "MAP",
            "MAP(ARRAY(1), 2) is no value here",
        ),
        (f"SELECT k, MAX(MAP(k)) AS m FROM {_TUMBLE} {_GROUP}", "SELECT", "a function has too few arguments"),
        (
            f"SELECT k, v, COUNT(*) AS n FROM {_TUMBLE} GROUP BY v, k",
            "GROUP BY",
            "write GROUP BY v, k, window_start, window_end",
        ),
        (
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace(_TEN, _NINETY)}",
            "INTERVAL '1:30'",
            "is no length of time",
        ),
    ],
)
def test_a_text_that_would_mean_something_else_is_refused_at_its_place(text: str, at: str, message: str) -> None:
    """At the place of the error, the text goes on with `at`."""

    def is_operator(name: str) -> bool:
        return False

    with pytest.raises(SqlError) as refused:
        read(SqlText(text), is_operator)

    assert message in str(refused.value)
    rest_of_text = text[refused.value.column - 1 :]
    assert rest_of_text.startswith(at), str(refused.value)
