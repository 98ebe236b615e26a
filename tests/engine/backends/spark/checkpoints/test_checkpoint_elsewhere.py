"""A checkpoint on a file system that the driver reaches through Hadoop alone: viewfs, here over a folder."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import Query, events, module
from muntin_engine.errors import StateError, StateMismatchError
from tests.journeys.running import MemorySink, read_stream, write_batches

pytestmark = pytest.mark.nightly


def batch(*rows: tuple[int, float]) -> pa.Table:
    """Return a micro-batch of times and payloads."""
    return pa.table({"at": pa.array([at for at, _ in rows], pa.int64()), "x": [x for _, x in rows]})


def test_a_query_restarts_is_checked_and_ends_with_a_checkpoint_that_has_a_url(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The second micro-batch, whose last row is at 12, closes the window [0, 10)."""
    (tmp_path / "far").mkdir()
    jvm = spark.sparkContext._jsc.hadoopConfiguration()
    jvm.set("fs.viewfs.mounttable.far.link./data", f"file://{tmp_path}/far")
    checkpoint = "viewfs://far/data/checkpoint"
    folder = tmp_path / "in"
    results = MemorySink()
    batches = [batch((3, 1.0)), batch((7, 2.0), (12, 4.0))]

    def query_with(name: str) -> Query:
        stream = events(read_stream(spark, folder), at="at", watermark=2).window(tumbling(10))
        return stream.aggregate(y=module(name, "x"))

    for batch_count in (1, 2):
        write_batches(folder, batches[:batch_count])
        query_with("stats.sum").write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()
    assert [row["y"] for row in results.rows] == [1.0 + 2.0]
    assert len(set(results.runs)) == 1, "the same query, twice"

    assert query_with("stats.sum").check(checkpoint) == []
    with pytest.raises(StateMismatchError, match=r"the checkpoint has stats\.sum"):
        query_with("stats.max").check(checkpoint)

    ending = query_with("stats.sum").write(checkpoint=checkpoint, results=results, available_now=True, on_end="close")
    ending.awaitTermination()
    assert [row["y"] for row in results.rows] == [1.0 + 2.0, 4.0]
    with pytest.raises(StateError, match=r"viewfs://far/data/checkpoint is closed"):
        query_with("stats.sum").write(checkpoint=checkpoint, results=results, available_now=True)
    assert (tmp_path / "far/checkpoint/commits/1").exists(), "it is where the URL leads"
