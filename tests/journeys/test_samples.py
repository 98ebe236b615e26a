"""Samples of one time on Spark: the last by order holds, as in other systems that join a row to its last version."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin_engine import Query, events, module
from tests.journeys.running import stream_of

PRICES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("number", pa.int64()), ("price", pa.float64())])
SALES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("sale", pa.int64())])


def random_prices_and_sales(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw prices, several of a shop at one time, and sales."""
    random = Random(seed)
    prices = [
        (random.choice("ab"), random.randrange(6), number, random.choice((9.0, 10.0, -2.5))) for number in range(40)
    ]
    sales = [(random.choice("abc"), random.randrange(8), sale) for sale in range(30)]
    random.shuffle(prices)
    return pd.DataFrame(prices, columns=PRICES.names), pd.DataFrame(sales, columns=SALES.names)


def joined(sales: DataFrame, prices: DataFrame) -> Query:
    """Return each sale with the price of its time."""
    left = events(sales, key="shop", at="at", watermark=5)
    right = events(prices, key="shop", at="at", edge=True, order="number", watermark=5)
    return left.join(right, "left", left_columns=["sale"], right_columns=["price"])


def expected_prices(prices: pd.DataFrame, sales: pd.DataFrame) -> dict[int, str]:
    """Return the price of each sale by `pandas.merge_asof`, which takes the last of the rows of one time."""
    ordered = prices.sort_values(["at", "number"], kind="stable")
    merged = pd.merge_asof(sales.sort_values("at", kind="stable"), ordered, on="at", by="shop")
    has_price = merged["number"].notna()
    expected: dict[int, str] = {}
    for sale, price, is_met in zip(merged["sale"], merged["price"], has_price, strict=True):
        expected[sale] = repr(price) if is_met else "None"
    return expected


def cut(table: pd.DataFrame, schema: pa.Schema, seed: int) -> list[pa.Table]:
    """Cut rows into four micro-batches in random order, none of which is too late for the watermark."""
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
    static = joined(static_sales, static_prices)
    sales_stream = stream_of(spark, tmp_path / "sales", cut(sales, SALES, seed))
    prices_stream = stream_of(spark, tmp_path / "prices", cut(prices, PRICES, seed))
    emitted: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []

    def sink_of(rows: list[dict[str, Any]]) -> Any:
        return lambda df, number: rows.extend(row.asDict() for row in df.collect())

    streaming = joined(sales_stream, prices_stream)
    streaming.write(
        checkpoint=tmp_path / "checkpoint",
        results=sink_of(emitted),
        rejected_rows=sink_of(refused),
        available_now=True,
        on_end="close",
    ).awaitTermination()
    assert {row["sale"]: repr(row["price"]) for row in static.results().collect()} == expected_prices(prices, sales)
    assert {row["sale"]: repr(row["price"]) for row in emitted} == expected_prices(prices, sales)
    assert {row["reason"] for row in refused} == {"replaced"}
    replaced_numbers = {json.loads(row["row"])["number"] for row in refused}
    last_numbers = prices.groupby(["shop", "at"])["number"].max()
    assert replaced_numbers == set(prices["number"]) - set(last_numbers)


def test_a_window_of_samples_reads_the_order(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (0, 1, 10.0D), (0, 2, 9.0D), (4, 1, 1.0D) AS t (at, number, level)")
    samples = events(rows, at="at", edge=True, order="number").window(tumbling(4))
    results = samples.aggregate(top=module("stats.max", "level")).results()
    assert {row["window"]["start"]: row["top"] for row in results.collect()}[0] == 9.0
    sampled = events(rows, start="at", end=rows.at + 9, order="number").to_edges().window(tumbling(4))
    results = sampled.aggregate(top=module("stats.max", "level")).results()
    assert {row["window"]["start"]: row["top"] for row in results.collect()}[0] == 9.0
