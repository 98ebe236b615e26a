"""Texts mean what they mean in SQL: results are those of Spark's own SQL over rows with their windows beside them.

The windows of rows come from Flink's definitions, in a few lines of Python: nothing of Muntin is in what is expected.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from muntin_engine import sql

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
_GROUP: Final = "GROUP BY k, window_start, window_end"


def windows_of(minute: int, key: Any, name: str) -> Iterator[tuple[int, int]]:
    """Yield the windows of a row, in minutes."""
    if name == "TUMBLE":
        yield minute - minute % 10, minute - minute % 10 + 10
    elif name == "HOP":
        yield from ((start, start + 15) for start in range(minute - minute % 5, minute - 15, -5))
    elif name == "CUMULATE":
        start = minute - minute % 30
        yield from ((start, end) for end in range(start + 10, start + 31, 10) if minute < end)
    else:  # a row joins the session of its key whose last row is at most the gap away
        last = first = minute
        times = [row[0] for row in _ROWS if row[1] == key]
        while any(first - 10 <= time < first for time in times):
            first = max(time for time in times if time < first)
        while any(last < time <= last + 10 for time in times):
            last = min(time for time in times if time > last)
        yield first, last + 10


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    at = _START + timedelta(0)
    rows = [(n, k, at + timedelta(minutes=minute), v, i, b) for n, (minute, k, v, i, b) in enumerate(_ROWS)]
    return spark.createDataFrame(rows, _SCHEMA)


@pytest.fixture(scope="module")
def windowed(spark: SparkSession, rides: DataFrame) -> dict[str, DataFrame]:
    """The rows beside each of their windows, by the name of the function."""
    tables = {}
    for name in ("TUMBLE", "HOP", "CUMULATE", "SESSION"):
        rows: list[tuple[Any, ...]] = []
        for row, (minute, key, *_) in zip(rides.collect(), _ROWS, strict=True):
            for start, end in windows_of(minute, key, name):
                rows.append((*row, _START + timedelta(minutes=start), _START + timedelta(minutes=end)))
        tables[name] = spark.createDataFrame(rows, f"{_SCHEMA}, window_start timestamp, window_end timestamp")
    return tables


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    "text",
    [
        f"SELECT k, window_start, COUNT(*) AS n, COUNT(v) AS c, SUM(i) AS s, AVG(v) AS m FROM {_TUMBLE} {_GROUP}",
        f"SELECT window_end, k, MAX(i) FILTER (WHERE b) AS m, COUNT(*) FILTER (WHERE v > 0) AS n FROM {_HOP} {_GROUP}",
        f"SELECT r.k, r.window_start, -SUM(r.i) * 2 AS x FROM {_TUMBLE} AS r GROUP BY window_end, r.k, window_start",
        f"SELECT CASE WHEN AVG(v) > 2 THEN 'it''s' ELSE '\\\\d' END AS c FROM {_CUMULATE} WHERE k != 'it''s' {_GROUP}",
        f"SELECT k, AVG(v) / COUNT(*) AS ratio FROM {_HOP} WHERE NOT b OR i IN (1, 2) {_GROUP} HAVING ratio > 0",
        f"SELECT k, SUM(v) AS s, s + 1 AS more FROM {_TUMBLE} {_GROUP} HAVING k IS NOT NULL AND COUNT(*) > 0",
        f"SELECT k, window_start, window_end, COUNT(DISTINCT i) AS n, MIN(v) AS low FROM {_SESSION} {_GROUP}",
        f"SELECT * FROM (SELECT k, window_end AS window_start, SUM(i) AS s FROM {_HOP} {_GROUP}) AS o WHERE o.s > 1",
        f"SELECT s, i FROM (SELECT SUM(i) AS s, COUNT(v) AS i FROM {_TUMBLE} {_GROUP}) WHERE i < s",
        "WITH a AS (SELECT * FROM rides WHERE v > 0), c(id, k, t, v, i, b) AS (SELECT * FROM a) SELECT k, SUM(v) AS s"
        f" FROM {_TUMBLE.replace('TABLE rides', 'TABLE c')} {_GROUP}",
    ],
)
def test_results_are_those_of_spark_over_rows_with_their_windows(
    spark: SparkSession, rides: DataFrame, windowed: dict[str, DataFrame], text: str
) -> None:
    name = next(name for name in windowed if f"{name}(" in text)
    call = next(function for function in (_TUMBLE, _HOP, _CUMULATE, _SESSION) if function.startswith(name))
    tables: dict[str, Any] = {"rides": rides, "windowed": windowed[name]}
    if text.startswith("WITH"):
        plain = text.replace("rides", "{windowed}")
        call = call.replace("TABLE rides", "TABLE c")
        plain = plain.replace(", b) AS", ", b, window_start, window_end) AS")
        meant = spark.sql(plain.replace(call, "c"), windowed=windowed[name])
    else:
        meant = spark.sql(text.replace(call, "{windowed}"), **tables)
    expected = Counter(map(tuple, meant.collect()))
    assert Counter(map(tuple, sql(spark, text, rides=rides).results().collect())) == expected
    in_this_process = sql(text, rides=rides.toArrow()).results()
    assert Counter(map(tuple, spark.createDataFrame(in_this_process).collect())) == expected


_POINTS: Final = "EVENTS(TABLE rides, DESCRIPTOR(t))"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            f"SELECT l.id, r.id AS other FROM {_POINTS} AS l LEFT JOIN {_POINTS} AS r ON l.k = r.k",
            "SELECT l.id, r.id AS other FROM {rides} AS l LEFT JOIN {rides} AS r ON l.k = r.k AND l.t = r.t",
        ),
        (
            f"SELECT l.id, r.id AS other FROM {_TUMBLE} AS l JOIN {_TUMBLE} AS r "
            "ON l.k <=> r.k AND l.window_start = r.window_start AND l.window_end = r.window_end WHERE r.v > 0",
            "SELECT l.id, r.id AS other FROM {rides} AS l JOIN {rides} AS r ON l.k <=> r.k AND r.v > 0 "
            "AND floor(unix_timestamp(l.t) / 600) = floor(unix_timestamp(r.t) / 600)",
        ),
        (
            f"SELECT l.id, r.id AS other FROM {_POINTS} AS l JOIN EVENTS(TABLE (SELECT * FROM rides WHERE b), "
            "DESCRIPTOR(t)) FOR SYSTEM_TIME AS OF l.t AS r USING (k)",
            "SELECT l.id, r.id AS other FROM {rides} AS l JOIN (SELECT *, lead(t, 1, t'9999') OVER (PARTITION BY k "
            "ORDER BY t) AS until FROM {rides} WHERE b) AS r ON l.k = r.k AND l.t >= r.t AND l.t < r.until",
        ),
        (  # the rows at 0 and 10 minutes are ten minutes apart, and the end of WITHIN is no part of it
            "SELECT a, b FROM rides MATCH_RECOGNIZE (ORDER BY t, id MEASURES A.id AS a, B.id AS b ONE ROW PER MATCH "
            "AFTER MATCH SKIP TO NEXT ROW PATTERN (A X*? B) WITHIN INTERVAL '10' MINUTES "
            "DEFINE A AS A.b, B AS B.i < 1) AS m",
            "SELECT * FROM VALUES (3, 4) AS m (a, b)",
        ),
    ],
)
def test_joins_and_patterns_are_those_of_sql(spark: SparkSession, rides: DataFrame, text: str, meant: str) -> None:
    results = Counter(map(tuple, sql(spark, text, rides=rides).results().collect()))
    tables: dict[str, Any] = {"rides": rides} if "{rides}" in meant else {}
    assert results == Counter(
        map(tuple, spark.sql(meant.replace("t'9999'", "timestamp'9999-01-01'"), **tables).collect())
    )


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
            f"SELECT COUNT(*) AS n FROM {_TUMBLE.replace(_TEN, _NINETY)}",
            "INTERVAL '1:30'",
            "is no length of time",
        ),
    ],
)
def test_a_text_that_would_mean_something_else_is_refused_at_its_place(text: str, at: str, message: str) -> None:
    from muntin_engine.sql_text.query_reading import read
    from muntin_engine.sql_text.sql_source import SqlError, SqlText

    with pytest.raises(SqlError) as refused:
        read(SqlText(text), lambda name: False)
    assert message in str(refused.value)
    assert text[refused.value.column - 1 :].startswith(at), str(refused.value)
