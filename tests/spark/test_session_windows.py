"""Session windows are those of Spark's own `session_window`, on the same rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import session
from muntin_engine import events, module
from muntin_stats import Average, Count, Sum
from tests.spark.running import collect, run, stream_of

SECOND = 1_000_000
EVALUATORS: tuple[Literal["columnar", "sliced", "general"], ...] = ("columnar", "sliced", "general")
SCHEMA = pa.schema(
    {
        "change": pa.string(),
        "key": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "until": pa.timestamp("us", "UTC"),
        "gap": pa.string(),
        "x": pa.float64(),
    }
)


def rows(seed: int) -> list[dict[str, Any]]:
    """Return rows of a few keys: some exactly a gap of ten seconds apart, some a microsecond more."""
    random = Random(seed)
    found = []
    for key in ("a", "b", "c", None):
        at = random.randrange(100) * SECOND
        for _ in range(60):
            at += random.choice((0, 1, 4 * SECOND, 10 * SECOND - 1, 10 * SECOND, 10 * SECOND + 1, 25 * SECOND))
            gap = random.choice((1, 5, 10, 20))
            found.append(
                {
                    "change": "insert",
                    "key": key,
                    "ts": at,
                    "until": at + gap * SECOND,
                    "gap": f"{gap} seconds",
                    "x": random.randrange(-9, 10) / 4,
                }
            )
    random.shuffle(found)
    return found


def tables(seed: int, batches: int) -> list[pa.Table]:
    """Return the rows in micro-batches, and with the last of them the end of the stream."""
    found = rows(seed)
    parts = [found[place::batches] for place in range(batches)]
    return [pa.Table.from_pylist(part, SCHEMA) for part in (*parts[:-1], [*parts[-1], {"change": "close"}])]


def sessions_of_spark(df: DataFrame, gap: Any) -> set[tuple[Any, ...]]:
    """Return key, start, end, number, sum and average of each session of Spark's."""
    inserted = df.where("change = 'insert'")
    grouped = inserted.groupBy("key", F.session_window("ts", gap).alias("window"))
    result = grouped.agg(F.count("x").alias("n"), F.sum("x").alias("total"), F.avg("x").alias("mean"))
    return set(map(values, collect(result)))


def values(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["key"], row["window"]["start"], row["window"]["end"], row["n"], row["total"], row["mean"]


def test_sessions_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", tables(5, 2))
    whole = spark.read.parquet(str(tmp_path / "stream"))
    constant, per_event = sessions_of_spark(whole, "10 seconds"), sessions_of_spark(whole, F.col("gap"))
    assert 40 < len(constant) < len(per_event) < 200
    computed = {"n": module(Count, "x"), "total": module(Sum, "x"), "mean": module(Average, "x")}
    points = events(stream, key="key", at="ts", change="change", buckets=2)
    by_gap = points.window(session("10 seconds"), evaluator="columnar").aggregate(**computed)
    found = {"constant": (run(by_gap.results(), tmp_path / "checkpoint").rows, constant)}
    lasting = events(whole, key="key", start="ts", end="until", change="change", buckets=2)
    for evaluator in EVALUATORS:
        by_end = lasting.window(session(), evaluator=evaluator).aggregate(**computed)
        found[evaluator] = (collect(by_end.results()), per_event)
    for name, (rows, wanted) in found.items():
        assert set(map(values, rows)) == wanted, name
        assert len(rows) == len(wanted), name
