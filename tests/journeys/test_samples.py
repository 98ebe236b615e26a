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
from tests.journeys.running import read_stream, write_batches

PRICES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("number", pa.int64()), ("price", pa.float64())])
SALES = pa.schema([("shop", pa.string()), ("at", pa.int64()), ("sale", pa.int64())])


def drawn(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
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


def wanted(prices: pd.DataFrame, sales: pd.DataFrame) -> dict[int, str]:
    """Return the price of each sale by `pandas.merge_asof`, which takes the last of the rows of one time."""
    ordered = prices.sort_values(["at", "number"], kind="stable")
    merged = pd.merge_asof(sales.sort_values("at", kind="stable"), ordered, on="at", by="shop")
    is_met = merged["number"].notna()
    return {
        sale: repr(price) if met else "None"
        for sale, price, met in zip(merged["sale"], merged["price"], is_met, strict=True)
    }


def cut(table: pd.DataFrame, schema: pa.Schema, seed: int) -> list[pa.Table]:
    """Cut rows into micro-batches in any order; one that is too late for the watermark is not among them."""
    shuffled = table.sample(frac=1.0, random_state=seed)
    near = shuffled[shuffled["at"] < 3], shuffled[shuffled["at"] >= 3]
    halves = [part.iloc[place::2] for part in near for place in range(2)]
    return [pa.Table.from_pandas(half, schema, preserve_index=False) for half in halves]


@pytest.mark.cases(1)
@pytest.mark.parametrize("seed", range(2))
def test_a_join_with_samples_gives_what_merge_asof_gives(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    prices, sales = drawn(seed)
    sides = [(sales, SALES), (prices, PRICES)]
    static = joined(*(spark.createDataFrame(pa.Table.from_pandas(rows, schema)) for rows, schema in sides))
    streams = [
        read_stream(spark, write_batches(tmp_path / name, cut(rows, schema, seed)))
        for name, (rows, schema) in zip(("sales", "prices"), sides, strict=True)
    ]
    emitted: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []

    def take(rows: list[dict[str, Any]]) -> Any:
        return lambda df, number: rows.extend(row.asDict() for row in df.collect())

    streaming = joined(*streams)
    streaming.write(
        checkpoint=tmp_path / "checkpoint",
        results=take(emitted),
        rejected_rows=take(refused),
        available_now=True,
        on_end="close",
    ).awaitTermination()
    assert {row["sale"]: repr(row["price"]) for row in static.results().collect()} == wanted(prices, sales)
    assert {row["sale"]: repr(row["price"]) for row in emitted} == wanted(prices, sales)
    assert {row["reason"] for row in refused} == {"replaced"}
    replaced = {json.loads(row["row"])["number"] for row in refused}
    last = prices.groupby(["shop", "at"])["number"].max()
    assert replaced == set(prices["number"]) - set(last)


def test_a_window_of_samples_reads_the_order(spark: SparkSession) -> None:
    rows = spark.sql("SELECT * FROM VALUES (0, 1, 10.0D), (0, 2, 9.0D), (4, 1, 1.0D) AS t (at, number, level)")
    samples = events(rows, at="at", edge=True, order="number").window(tumbling(4))
    results = samples.aggregate(top=module("stats.max", "level")).results()
    assert {row["window"]["start"]: row["top"] for row in results.collect()}[0] == 9.0
    sampled = events(rows, start="at", end=rows.at + 9, order="number").to_edges().window(tumbling(4))
    results = sampled.aggregate(top=module("stats.max", "level")).results()
    assert {row["window"]["start"]: row["top"] for row in results.collect()}[0] == 9.0
