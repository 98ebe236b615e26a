"""Rows of one time are ordered by several columns in turn, wherever an order is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import QueryError
from muntin.rows import batch, last
from muntin_engine import EventStream, events, query_from_dict, sql, union

ROWS = [
    # k, at, part, nr, x
    ("k", 1, 2, 7, "d"),
    ("k", 1, 1, 9, "b"),
    ("k", 2, 0, 0, "e"),
    ("k", 1, 2, None, "c"),
    ("k", 1, None, 5, "a"),
]

IN_ORDER = ["a", "b", "c", "d", "e"]
"""The values of `x` in order: by time, then by part, then by nr; null comes first in both."""


@pytest.fixture
def rows(spark: SparkSession) -> Any:
    return spark.createDataFrame(ROWS, "k string, at bigint, part int, nr int, x string")


@pytest.fixture
def stream(rows: Any) -> EventStream:
    return events(rows, key="k", at="at", order=["part", "nr"])


def test_row_windows_follow_several_columns(stream: EventStream) -> None:
    batched = stream.window(batch(9)).aggregate(x=stats.collect_list("x"))

    assert [row.x for row in batched.results().collect()] == [IN_ORDER], "one batch, as all rows are fewer than nine"
    assert "at one time by part, then nr" in batched.plan_text()


def test_modules_that_read_the_order_follow_several_columns(stream: EventStream) -> None:
    query = stream.window(tumbling(10)).aggregate(
        all=stats.collect_list("x"), first=stats.first("x"), last=stats.last("x")
    )
    (result,) = query.results().collect()
    assert result.all == IN_ORDER
    assert result.first == "a"
    assert result.last == "e"


def test_a_list_of_one_column_is_that_column(rows: Any) -> None:
    by_list = events(rows, key="k", at="at", order=["nr"]).window(last(2)).aggregate(n=stats.count())
    by_column = events(rows, key="k", at="at", order="nr").window(last(2)).aggregate(n=stats.count())
    assert by_list.plan.inputs == by_column.plan.inputs


@pytest.mark.nightly
def test_a_union_has_several_orders(rows: Any, stream: EventStream) -> None:
    later = events(rows.withColumn("at", rows.at + 10), key="k", at="at", order=["part", "nr"])
    united = union(one=stream, two=later).window(tumbling(10)).aggregate(x=stats.collect_list("x"))
    assert [row.x for row in united.results().collect()] == [IN_ORDER, IN_ORDER]


@pytest.mark.nightly
def test_a_query_over_results_has_several_orders(rows: Any) -> None:
    # each x counts once, so the results of one time are ordered by x, the second column
    counts = events(rows, key="x", at="at").window(tumbling(1), timestamps="point_at_end").aggregate(n=stats.count())
    chained = counts.as_events(key=None, order=["n", "x"]).window(batch(9)).aggregate(x=stats.collect_list("x"))
    assert [row.x for row in chained.results().collect()] == [IN_ORDER]


def test_of_samples_of_one_time_the_last_by_several_columns_holds(rows: Any) -> None:
    samples = events(rows, key="k", at="at", edge=True, order=["part", "nr"])
    query = samples.window(tumbling(2)).aggregate(x=stats.collect_list("x"))
    windows = {row.window.start: row.x for row in query.results().collect()}
    assert windows[0] == ["d"]  # of the four at 1
    assert windows[2] == ["e"]


def test_several_orders_are_kept_by_data_and_by_sql_text(spark: SparkSession, rows: Any, stream: EventStream) -> None:
    query = stream.window(tumbling(10)).aggregate(x=stats.collect_list("x"))
    from_data = query_from_dict(query.to_dict(rows=rows), {"rows": rows})
    from_sql = sql(spark, query.to_sql(rows=rows), rows=rows)
    assert "ORDER BY (part, nr)" in query.to_sql(rows=rows)
    assert [row.x for row in from_data.results().collect()] == [IN_ORDER]
    assert [row.x for row in from_sql.results().collect()] == [IN_ORDER]


def test_a_pattern_in_sql_follows_several_columns(spark: SparkSession, rows: Any) -> None:
    text = """
        SELECT * FROM rows MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY at, part, nr
            MEASURES A.x AS opened, B.x AS closed
            AFTER MATCH SKIP TO NEXT ROW
            PATTERN (A X*? B) WITHIN INTERVAL '1' HOUR DEFINE A AS x = 'a', B AS x = 'd')
    """
    timed = rows.withColumn("at", F.timestamp_seconds("at"))

    matches = sql(spark, text, rows=timed).results().collect()
    assert [(row.opened, row.closed) for row in matches] == [("a", "d")]


def test_a_checkpoint_depends_on_the_columns_of_the_order_in_their_order(rows: Any) -> None:
    def identity_with(order: str | list[str]) -> Mapping[str, Any]:
        """Return what a checkpoint knows of the input of a query with an order."""
        query = events(rows, key="k", at="at", order=order).window(last(2)).aggregate(n=stats.count())
        return query.plan.inputs[0].identity()

    identity = identity_with(["part", "nr"])
    assert identity["then_by"] == [1]
    assert identity_with(["nr", "part"]) != identity
    assert "then_by" not in identity_with("part")


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([], r"order=\[\] names no column"),
        (["part", 3], "order"),
        (["part", "gone"], "gone"),
    ],
    ids=["no column", "a number", "an unknown column"],
)
def test_an_order_that_names_no_columns_is_refused(rows: Any, order: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        events(rows, key="k", at="at", order=order)


def test_over_a_stream_the_order_holds_in_whatever_order_rows_come(
    spark: SparkSession, rows: Any, tmp_path: Path
) -> None:
    rows.write.parquet(str(tmp_path / "rows"))
    arriving = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
    stream = events(arriving, key="k", at="at", order=["part", "nr"], watermark=5)
    query = stream.window(batch(9)).aggregate(x=stats.collect_list("x"))
    query.write(
        checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", available_now=True, on_end="close"
    ).awaitTermination()
    assert [row.x for row in spark.read.parquet(str(tmp_path / "results")).collect()] == [IN_ORDER]
