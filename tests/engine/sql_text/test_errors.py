"""A mistake in SQL is told with its line, a caret below the place, and the closest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from muntin.errors import QueryError
from muntin_engine import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEMA = "station string, leaves timestamp, km double, city string"


def hours(
    *,
    select: str = "station, window_start, AVG(km) AS km",
    function: str = "TUMBLE",
    table: str = "TABLE rides",
    times: str = "DESCRIPTOR(leaves)",
    size: str = "INTERVAL '1' HOUR",
    group: str = "GROUP BY station, window_start, window_end",
    clauses: str = "",
) -> str:
    """Return a query with other words in some of its parts; by default it has no mistake."""
    return f"SELECT {select}\nFROM {function}({table}, {times}, {size})\n{group}{clauses}"


def without_mark(marked_text: str) -> tuple[str, int | None]:
    """Return a text without its `^`, and the position at which it stood, or None if there is none."""
    position = marked_text.find("^")
    return marked_text.replace("^", ""), position if position >= 0 else None


def assert_is_at(message: str, text: str, position: int) -> None:
    """Assert that a message names the line and the column of a position in a text, and has a caret below it."""
    line = text[:position].count("\n")
    column = position - (text[:position].rfind("\n") + 1)
    assert f"line {line + 1}, column {column + 1}: " in message
    assert f"\n  {' ' * column}^" in message


@pytest.mark.parametrize(
    ("marked_text", "advice"),
    [
        (hours(function="^TUMBL"), "did you mean TUMBLE?"),
        (hours(select="station, ^stats.avrage(km) AS km"), "did you mean 'stats.average'"),
        (hours(select="station, ^stats.quantile(km, p => 0.5) AS km"), "does not accept its parameters"),
        (hours(select="station, AVG(^kmm) AS km"), "did you mean 'km'?"),
        (hours(select="^city, window_start, AVG(km) AS km"), "city is neither a key nor an aggregate"),
        (hours(times="DESCRIPTOR(^leavez)"), "did you mean 'leaves'?"),
        (hours(size="INTERVAL '1' HOUR, 5, 6, ^7"), "TUMBLE takes size, offset, reach"),
        (hours(clauses=" EMIT ^CHANGE"), "did you mean CHANGES?"),
        (hours(clauses=" ORDER BY km"), "results of a stream have no order"),
        (hours(clauses=" LIMIT 3"), "stats.top_k"),
        (hours(table="TABLE rides ^LATE CORECT"), "did you mean correct?"),
        (hours(select="station, window_start, km"), "no column is an aggregate"),
        (hours().replace("FROM TUMBLE", "^FORM TUMBLE"), "did you mean FROM?"),
        (hours(table="^rides"), "write TUMBLE(TABLE rides"),
        (hours(clauses=" EMIT FINAL ^EMIT CHANGES"), "EMIT is said twice"),
        (hours(table="TABLE rides LATE DROP ^LATE SIDE"), "LATE is said twice"),
        (
            hours(table="TABLE rides WATERMARK ^seen DELAY OF INTERVAL '1' MINUTE"),
            "the times of the stream are leaves",
        ),
        (hours(size="INTERVAL '1' HOUR, SIZE => INTERVAL '2' HOUR"), "size is given by its place already"),
        (hours(select="station, SUM(km) OVER (ORDER BY km) AS km"), "results come one by one"),
        (hours(group="GROUP BY ROLLUP(station), window_start, window_end"), "several groupings"),
        (hours(select="station, AVG(^SUM(km)) AS km"), "is an aggregate within an aggregate"),
        (
            "SELECT station, AVG(km) AS km\nFROM SNAPSHOT(TABLE rides, DESCRIPTOR(leaves))\n"
            "GROUP BY window_start, window_end, ^station",
            "SNAPSHOT cuts the events of all keys together, and GROUP BY station would divide them",
        ),
    ],
)
def test_a_mistake_is_reported_at_its_place(spark: SparkSession, marked_text: str, advice: str) -> None:
    """Each text has a ^ before the word at which the error has to be; without one, the error may have any place."""
    text, position = without_mark(marked_text)
    rides = spark.createDataFrame([], _SCHEMA)

    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)

    message = str(refused.value)
    assert advice in message
    if position is not None:
        assert_is_at(message, text, position)


_WORDS_OF_PYTHON = ("watermark=", "clip=", "F.col(", "events(", "evaluator=", "query[")

_AVERAGE_BY_TIME = "station, window_start, stats.time_weighted_average(km) AS km"
_VALUES = "station, window_start, stats.collect_list(km) AS km"


@pytest.mark.parametrize(
    ("marked_text", "advice"),
    [
        (hours(table="TABLE ^nowhere"), "`nowhere` cannot be found"),
        (hours(table="TABLE (SELECT ^zz FROM rides)"), "`zz` cannot be resolved"),
        (hours(function="^TUMBLE", size="INTERVAL '0' HOURS"), "a tumbling window needs a size above zero"),
        (hours(select="station, window_start, ^SUM(station) AS km"), "CAST(station AS double)"),
        (hours(select=_AVERAGE_BY_TIME, clauses=" CLIP ^NONE"), "does not accept CLIP NONE"),
        (hours(select="station, window_start, ^stats.quantile(km) AS km"), "missing a required argument: 'q'"),
        (hours(times="DESCRIPTOR(^station)"), "the time column station is of type string"),
        (hours(size="INTERVAL '1' HOUR, BUCKETS => ^1000"), "1 to 256 buckets"),
        (
            hours(function="^TUMBLE", table="TABLE rides WATERMARK DELAY OF INTERVAL '-1' DAY"),
            "a delay is at least 0",
        ),
        (hours(clauses=" ^FORGET KEYS AFTER INTERVAL '0' DAYS"), "FORGET KEYS AFTER INTERVAL '0"),
        (hours(select=_VALUES, clauses=" EVALUATOR COLUMNAR"), "leave the choice open with EVALUATOR AUTO"),
        (
            hours(group="WHERE ^window_start IS NULL GROUP BY station, window_start, window_end"),
            "where reads 'window_start'",
        ),
    ],
)
def test_an_error_of_a_call_is_reported_at_its_place_and_in_words_of_sql(
    spark: SparkSession, marked_text: str, advice: str
) -> None:
    """Each text has a ^ before the word at which the error has to be; without one, the error may have any place."""
    text, position = without_mark(marked_text)
    rides = spark.range(0).selectExpr("'a' AS station", "timestamp'2024-05-01 08:00' AS leaves", "1D AS km")

    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)

    message = str(refused.value)
    assert advice in message
    assert [word for word in _WORDS_OF_PYTHON if word in message] == []
    if position is not None:
        assert_is_at(message, text, position)


def test_a_stream_without_a_watermark_is_reported_at_its_function_in_words_of_sql(spark: SparkSession) -> None:
    text, position = without_mark(hours(function="^TUMBLE"))
    assert position is not None
    stream = spark.readStream.format("rate").load()
    rides = stream.selectExpr("'a' AS station", "timestamp'2024-05-01 08:00' AS leaves", "1D AS km")

    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)

    message = str(refused.value)
    assert "such as WATERMARK DELAY OF INTERVAL '10' MINUTE" in message
    assert [word for word in _WORDS_OF_PYTHON if word in message] == []
    assert_is_at(message, text, position)


def test_an_error_in_sql_keeps_its_argument_and_its_value(spark: SparkSession) -> None:
    rides = spark.createDataFrame([], _SCHEMA)
    with pytest.raises(QueryError) as refused:
        sql(spark, hours(select=_AVERAGE_BY_TIME, clauses=" CLIP NONE"), rides=rides)
    assert (refused.value.argument, refused.value.value) == ("clip", "none")
    assert "stats.time_weighted_average 0.1.0 does not accept CLIP NONE\n" in str(refused.value)


@pytest.mark.parametrize("clauses", ["EVALUATOR ^COLUMNAR", "TIMESTAMPS ^UNCHANGED", "^FORGET KEYS AFTER 0"])
def test_the_caret_is_below_the_value_of_the_clause_or_below_the_clause(spark: SparkSession, clauses: str) -> None:
    text, position = without_mark(hours(select=_VALUES, clauses=f"\n{clauses}"))
    assert position is not None
    rides = spark.createDataFrame([], _SCHEMA)
    with pytest.raises(QueryError) as refused:
        sql(spark, text, rides=rides)
    assert_is_at(str(refused.value), text, position)


def test_a_query_that_spark_runs_alone_is_refused_with_its_call(spark: SparkSession) -> None:
    with pytest.raises(QueryError, match=r"spark.sql"):
        sql(spark, "SELECT 1")
