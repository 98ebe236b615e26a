"""A mistake in SQL is told with its line, a caret below the place, and the closest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin.errors import QueryError
from muntin_engine import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOURS = """SELECT station, window_start, AVG(km) AS km
FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
GROUP BY station, window_start, window_end"""


@pytest.mark.parametrize(
    ("right", "wrong", "at", "advice"),
    [
        ("TUMBLE", "TUMBL", "TUMBL", "did you mean TUMBLE?"),
        ("AVG(km)", "stats.avrage(km)", "stats.avrage", "did you mean 'stats.average'"),
        ("AVG(km)", "stats.quantile(km, p => 0.5)", "", "p"),
        ("AVG(km)", "AVG(kmm)", "kmm", "did you mean 'km'?"),
        ("SELECT station", "SELECT city", "city", "city is neither a key nor an aggregate"),
        ("DESCRIPTOR(leaves)", "DESCRIPTOR(leavez)", "leavez", "did you mean 'leaves'?"),
        ("INTERVAL '1' HOUR", "INTERVAL '1' HOUR, 5, 6, 7", "7", "TUMBLE takes size, offset, reach"),
        ("window_end", "window_end EMIT CHANGE", "CHANGE", "did you mean CHANGES?"),
        ("window_end", "window_end ORDER BY km", "", "results of a stream have no order"),
        ("window_end", "window_end LIMIT 3", "", "stats.top_k"),
        ("TABLE rides", "TABLE rides LATE CORECT", "LATE", "did you mean correct?"),
        ("AVG(km) AS km", "km", "", "no column is an aggregate"),
        ("FROM TUMBLE", "FORM TUMBLE", "FORM", "FROM"),
        ("TABLE rides,", "rides,", "rides", "write TUMBLE(TABLE rides"),
        ("window_end", "window_end EMIT FINAL EMIT CHANGES", "EMIT CHANGES", "EMIT is said twice"),
        ("rides,", "rides LATE DROP LATE SIDE,", "LATE SIDE", "LATE is said twice"),
        ("rides,", "rides WATERMARK seen DELAY OF INTERVAL '1' MINUTE,", "seen", "the times of the stream are leaves"),
        ("'1' HOUR", "'1' HOUR, SIZE => INTERVAL '2' HOUR", "", "size is given by its place already"),
        ("AVG(km) AS km", "SUM(km) OVER (ORDER BY km) AS km", "", "results come one by one"),
        ("station, window_start, window_end", "ROLLUP(station), window_start, window_end", "", "several groupings"),
        (
            "TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)\nGROUP BY station, window_start, window_end",
            "SNAPSHOT(TABLE rides, DESCRIPTOR(leaves))\nGROUP BY window_start, window_end, station",
            "station",
            "SNAPSHOT cuts the events of all keys together, and GROUP BY station would divide them",
        ),
        ("AVG(km)", "AVG(SUM(km))", "SUM(km)", "is an aggregate within an aggregate"),
    ],
)
def test_a_mistake_is_reported_at_its_place(spark: SparkSession, right: str, wrong: str, at: str, advice: str) -> None:
    text = HOURS.replace(right, wrong, 1)
    rides = spark.createDataFrame([], "station string, leaves timestamp, km double, city string")
    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)
    message = str(refused.value)
    assert advice in message
    if at:
        place = text.index(at, text.index(wrong))
        line = text[:place].count("\n")
        column = place - (text[:place].rfind("\n") + 1)
        assert f"line {line + 1}, column {column + 1}: " in message
        assert f"\n  {' ' * column}^" in message


@pytest.mark.parametrize(
    ("right", "wrong", "at", "advice"),
    [
        ("FROM TUMBLE", "FROM TUMBLE", "TUMBLE", "such as WATERMARK DELAY OF INTERVAL '10' MINUTE"),
        ("rides,", "nowhere,", "nowhere", "`nowhere` cannot be found"),
        ("TABLE rides", "TABLE (SELECT zz FROM rides)", "zz", "`zz` cannot be resolved"),
        ("'1' HOUR", "'0' HOURS", "TUMBLE", "a tumbling window needs a size above zero"),
        ("AVG(km)", "SUM(station)", "SUM", "CAST(station AS double)"),
        ("window_end", "window_end CLIP NONE", "NONE", "does not accept CLIP NONE"),
        ("AVG(km)", "stats.quantile(km)", "stats.quantile", "missing a required argument: 'q'"),
        ("leaves)", "station)", "station", "the time column station is of type string"),
        ("'1' HOUR", "'1' HOUR, BUCKETS => 1000", "1000", "1 to 256 buckets"),
        ("rides,", "rides WATERMARK DELAY OF INTERVAL '-1' DAY,", "TUMBLE", "a delay is at least 0"),
        ("window_end", "window_end FORGET KEYS AFTER INTERVAL '0' DAYS", "FORGET", "FORGET KEYS AFTER INTERVAL '0"),
        ("window_end", "window_end EVALUATOR COLUMNAR", "", "leave the choice open with EVALUATOR AUTO"),
        ("GROUP", "WHERE window_start IS NULL GROUP", "window_start IS", "where reads 'window_start'"),
    ],
)
def test_an_error_of_a_call_is_reported_in_sql_at_its_place(
    spark: SparkSession, right: str, wrong: str, at: str, advice: str
) -> None:
    text = HOURS.replace("AVG(km)", "stats.time_weighted_average(km)") if "CLIP" in wrong else HOURS
    text = text.replace("AVG(km)", "stats.collect_list(km)") if "COLUMNAR" in wrong else text
    text = text.replace(right, wrong, 1) if right != "window_end" else text + wrong.removeprefix("window_end")
    rides = spark.readStream.format("rate").load() if right == wrong else spark.range(0)
    rides = rides.selectExpr("'a' AS station", "timestamp'2024-05-01 08:00' AS leaves", "1D AS km")
    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)
    message = str(refused.value)
    assert advice in message
    assert not any(word in message for word in ("watermark=", "clip=", "F.col(", "events(", "evaluator=", "query["))
    place = text.index(at, 0 if at == "TUMBLE" else HOURS.index(right))
    line = text[:place].count("\n")
    column = place - (text[:place].rfind("\n") + 1)
    assert f"line {line + 1}, column {column + 1}: " in message or not at


def test_an_error_in_sql_keeps_its_argument_and_its_value(spark: SparkSession) -> None:
    rides = spark.createDataFrame([], "station string, leaves timestamp, km double")
    text = f"{HOURS.replace('AVG(km)', 'stats.time_weighted_average(km)')} CLIP NONE"
    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)
    assert (refused.value.argument, refused.value.value) == ("clip", "none")
    assert "stats.time_weighted_average 0.1.0 does not accept CLIP NONE\n" in str(refused.value)


@pytest.mark.parametrize(
    ("clauses", "at"),
    [("EVALUATOR COLUMNAR", "COLUMNAR"), ("TIMESTAMPS UNCHANGED", "UNCHANGED"), ("FORGET KEYS AFTER 0", "FORGET")],
)
def test_the_caret_is_below_the_value_of_the_clause_or_below_the_clause(
    spark: SparkSession, clauses: str, at: str
) -> None:
    rides = spark.createDataFrame([], "station string, leaves timestamp, km double")
    text = f"{HOURS.replace('AVG(km)', 'stats.collect_list(km)')}\n{clauses}"
    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)
    assert f"line 4, column {clauses.index(at) + 1}: " in str(refused.value)


def test_what_spark_runs_alone_is_said(spark: SparkSession) -> None:
    with pytest.raises(QueryError, match=r"spark.sql"):
        sql(spark, "SELECT 1")
