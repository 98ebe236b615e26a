"""Stopping a query and starting it again from its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin import hopping
from muntin_engine import Query, events, module
from muntin_engine.spark.failures import root_cause
from tests.spark.modules import Count, Members
from tests.spark.running import Outcome, read_stream, run, setting, start, write_batches

KEYS = ("a", "b", None)


class FullOnce(dict[int, pa.Table]):
    """A sink that has no room for the third micro-batch when that first comes."""

    was_full = False

    def __setitem__(self, number: int, rows: pa.Table) -> None:
        if number == 2 and not self.was_full:
            self.was_full = True
            raise OSError("the sink is full")
        super().__setitem__(number, rows)


def batches(count: int) -> list[pa.Table]:
    """Return micro-batches of ten ticks each, a point event per key and tick."""
    return [
        pa.table(
            {
                "key": pa.array([key for key in KEYS for _ in range(10)], pa.string()),
                "at": pa.array([10 * batch + tick for _ in KEYS for tick in range(10)], pa.int64()),
                "payload": pa.array([batch] * 10 * len(KEYS), pa.int64()),
            }
        )
        for batch in range(count)
    ]


def query(spark: SparkSession, folder: Path) -> Query:
    stream = events(read_stream(spark, folder), key="key", at="at", delay=3, buckets=4)
    return stream.window(hopping(15, 5)).aggregate(n=module(Count), all=module(Members, "payload"))


def test_a_query_that_is_stopped_or_cut_short_and_started_again_puts_out_what_one_run_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole = run(query(spark, write_batches(tmp_path / "whole", batches(4))).results(), tmp_path / "one")

    kept, checkpoint = Outcome(batches=FullOnce()), tmp_path / "two"
    folder = write_batches(tmp_path / "parts", batches(2))
    start(query(spark, folder).results(), checkpoint, kept).awaitTermination()
    assert sorted(kept.batches) == [0, 1]

    write_batches(folder, batches(4))  # two more files; those already read keep their names
    with setting(spark, "spark.sql.shuffle.partitions", "3"):  # pinned by the checkpoint, so without effect
        failing = start(query(spark, folder).results(), checkpoint, kept)
        with pytest.raises(StreamingQueryException) as failure:
            failing.awaitTermination()
        assert "the sink is full" in root_cause(failure.value)
        assert "the sink is full" in root_cause(failing.exception() or Exception())
        start(query(spark, folder).results(), checkpoint, kept).awaitTermination()

    assert sorted(map(str, kept.rows)) == sorted(map(str, whole.rows))
    assert len(whole.rows) > 20
