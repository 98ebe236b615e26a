"""Samples of one time on Spark: the last by order holds, as in other systems that join a row to its last version."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin_engine import Query, events, module
from tests.journeys.running import MemorySink, stream_of

PRICES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("number", pa.int64()), ("price", pa.float64())])
SALES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("sale", pa.int64())])


def random_prices_and_sales(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw prices and sales of a few shops and times: several prices of a shop at one time, and a shop without any."""
    random = Random(seed)
    prices = []
    for number in range(40):
        prices.append((random.choice("ab"), random.randrange(6), number, random.choice((9.0, 10.0, -2.5))))
    sales = []
    for sale in range(30):
        sales.append((random.choice("abc"), random.randrange(8), sale))
    random.shuffle(prices)
    return pd.DataFrame(prices, columns=PRICES.names), pd.DataFrame(sales, columns=SALES.names)


def sales_with_prices(sales: DataFrame, prices: DataFrame) -> Query:
    """Return each sale with the price of its shop that holds at its time: the last one by number, of one time."""
    left = events(sales, key="shop", at="at", watermark=5)
    right = events(prices, key="shop", at="at", edge=True, order="number", watermark=5)
    return left.join(right, "left", left_columns=["sale"], right_columns=["price"])


def expected_prices(prices: pd.DataFrame, sales: pd.DataFrame) -> dict[int, str]:
    """Return the price of each sale as text, by `pandas.merge_asof`, which takes the last of the rows of one time."""
    ordered = prices.sort_values(["at", "number"], kind="stable")
    merged = pd.merge_asof(sales.sort_values("at", kind="stable"), ordered, on="at", by="shop")
    has_price = merged["number"].notna()
    expected: dict[int, str] = {}
    for sale, price, is_priced in zip(merged["sale"], merged["price"], has_price, strict=True):
        expected[sale] = repr(price) if is_priced else "None"
    return expected


def cut(table: pd.DataFrame, schema: pa.Schema, seed: int) -> list[pa.Table]:
    """Cut rows into four micro-batches in random order, none of which is too late for a delay of five ticks."""
    shuffled = table.sample(frac=1.0, random_state=seed)
    early_rows = shuffled[shuffled["at"] < 3]
    later_rows = shuffled[shuffled["at"] >= 3]
    batches = [early_rows.iloc[0::2], early_rows.iloc[1::2], later_rows.iloc[0::2], later_rows.iloc[1::2]]
    return [pa.Table.from_pandas(batch, schema, preserve_index=False) for batch in batches]


@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", range(2))
def test_a_join_with_samples_gives_what_merge_asof_gives(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    prices, sales = random_prices_and_sales(seed)
    static_sales = spark.createDataFrame(pa.Table.from_pandas(sales, SALES))
    static_prices = spark.createDataFrame(pa.Table.from_pandas(prices, PRICES))
    sales_stream = stream_of(spark, tmp_path / "sales", cut(sales, SALES, seed))
    prices_stream = stream_of(spark, tmp_path / "prices", cut(prices, PRICES, seed))

    static_results = sales_with_prices(static_sales, static_prices).results()
    stream_results = MemorySink()
    rejected_rows = MemorySink()
    sales_with_prices(sales_stream, prices_stream).write(
        checkpoint=tmp_path / "checkpoint",
        results=stream_results,
        rejected_rows=rejected_rows,
        available_now=True,
        on_end="close",
    ).awaitTermination()

    expected = expected_prices(prices, sales)
    assert {row["sale"]: repr(row["price"]) for row in static_results.collect()} == expected
    assert {row["sale"]: repr(row["price"]) for row in stream_results.rows} == expected

    # Of the prices of a shop and a time, all but the last by number are set aside.
    assert {row["reason"] for row in rejected_rows.rows} == {"replaced"}
    replaced_numbers = {json.loads(row["row"])["number"] for row in rejected_rows.rows}
    last_numbers = prices.groupby(["shop", "at"])["number"].max()
    assert replaced_numbers == set(prices["number"]) - set(last_numbers)


def test_of_samples_of_one_time_a_window_has_the_last_by_order(spark: SparkSession) -> None:
    # time     0                               4
    # level    10 and then 9, by number        1
    rows = spark.sql("SELECT * FROM VALUES (0, 1, 10.0D), (0, 2, 9.0D), (4, 1, 1.0D) AS t (at, number, level)")
    samples = events(rows, at="at", edge=True, order="number")
    samples_of_intervals = events(rows, start="at", end=rows.at + 9, order="number").to_edges()

    for stream in (samples, samples_of_intervals):
        results = stream.window(tumbling(4)).aggregate(top=module("stats.max", "level")).results()
        top_by_start = {row["window"]["start"]: row["top"] for row in results.collect()}
        assert top_by_start[0] == 9.0
