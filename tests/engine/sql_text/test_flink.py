"""The examples of Flink's page on windowing table-valued functions, with the results that it prints."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from muntin_engine import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BIDS = """
    SELECT timestamp(concat('2020-04-15 ', t)) AS bidtime, CAST(price AS decimal(10, 2)) AS price, item, supplier_id
    FROM VALUES ('08:05', 4, 'C', 'supplier1'), ('08:07', 2, 'A', 'supplier1'), ('08:09', 5, 'D', 'supplier2'),
                ('08:11', 3, 'B', 'supplier2'), ('08:13', 1, 'E', 'supplier1'), ('08:17', 6, 'F', 'supplier2')
    AS b (t, price, item, supplier_id)
"""
SESSIONS = """
    SELECT timestamp(concat('2020-04-15 ', t)) AS bidtime, CAST(price AS decimal(10, 2)) AS price, item
    FROM VALUES ('08:07', 4, 'A'), ('08:06', 2, 'A'), ('08:09', 5, 'B'), ('08:08', 3, 'A'), ('08:17', 1, 'B')
    AS b (t, price, item)
"""
SUMS = "SELECT window_start, window_end, SUM(price) AS total_price FROM {} GROUP BY window_start, window_end"
# The printed results: the start and the end of a window, and the sum of its prices.
TUMBLED = [("08:00", "08:10", 11.0), ("08:10", "08:20", 10.0)]
HOPPED = [("08:00", "08:10", 11.0), ("08:05", "08:15", 15.0), ("08:10", "08:20", 10.0), ("08:15", "08:25", 6.0)]
CUMULATED = [
    *(("08:00", "08:06", 4.0), ("08:00", "08:08", 6.0), ("08:00", "08:10", 11.0), ("08:10", "08:12", 3.0)),
    *(("08:10", "08:14", 4.0), ("08:10", "08:16", 4.0), ("08:10", "08:18", 10.0), ("08:10", "08:20", 10.0)),
]


def clock(time: datetime) -> str:
    return f"{time:%H:%M}"


@pytest.mark.parametrize(
    ("windows", "printed"),
    [
        ("TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)", TUMBLED),
        ("TABLE(TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES))", TUMBLED),
        (
            "TABLE(TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES))",
            TUMBLED,
        ),
        ("TABLE(HOP(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))", HOPPED),
        (
            "HOP(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SLIDE => INTERVAL '5' MINUTES,"
            " SIZE => INTERVAL '10' MINUTES)",
            HOPPED,
        ),
        ("TABLE(CUMULATE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES))", CUMULATED),
        (
            "CUMULATE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), STEP => INTERVAL '2' MINUTES,"
            " SIZE => INTERVAL '10' MINUTES)",
            CUMULATED,
        ),
    ],
)
def test_an_example_of_flinks_has_the_results_that_its_page_prints(
    spark: SparkSession, windows: str, printed: list[tuple[str, str, float]]
) -> None:
    rows = sql(spark, SUMS.format(windows), Bid=spark.sql(BIDS)).results().collect()
    results = [(clock(row.window_start), clock(row.window_end), float(row.total_price)) for row in rows]
    assert sorted(results) == printed


def test_sessions_of_each_item_have_the_results_that_flinks_page_prints(spark: SparkSession) -> None:
    text = """
        SELECT window_start, window_end, item, SUM(price) AS total_price
        FROM TABLE(SESSION(TABLE Bid PARTITION BY item, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES))
        GROUP BY item, window_start, window_end
    """
    rows = sql(spark, text, Bid=spark.sql(SESSIONS)).results().collect()
    results = [(row.item, clock(row.window_start), clock(row.window_end), float(row.total_price)) for row in rows]
    assert sorted(results) == [
        ("A", "08:06", "08:13", 9.0),
        ("B", "08:09", "08:14", 5.0),
        ("B", "08:17", "08:22", 1.0),
    ]


def test_sessions_of_all_items_have_the_results_that_flinks_page_prints(spark: SparkSession) -> None:
    text = SUMS.format("TABLE(SESSION(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '5' MINUTES))")
    rows = sql(spark, text, Bid=spark.sql(SESSIONS)).results().collect()
    results = [(clock(row.window_start), clock(row.window_end), float(row.total_price)) for row in rows]
    assert sorted(results) == [("08:06", "08:14", 14.0), ("08:17", "08:22", 1.0)]
