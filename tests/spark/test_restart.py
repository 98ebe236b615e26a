"""Stopping a query and starting it again from its checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

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


class NewerCount(Count):
    """The same module in a newer version."""

    version = "2.0.0"


class FullOnce(dict[int, pa.Table]):
    """A sink that has no room for the fifth micro-batch when that first comes."""

    was_full = False

    def __setitem__(self, number: int, rows: pa.Table) -> None:
        if number == 4 and not self.was_full:
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


def query(spark: SparkSession, folder: Path, size: int = 15, buckets: int = 4, counting: type[Count] = Count) -> Query:
    stream = events(read_stream(spark, folder), key="key", at="at", delay=3, buckets=buckets)
    return stream.window(hopping(size, 5)).aggregate(n=module(counting), all=module(Members, "payload"))


def test_a_query_that_is_stopped_or_cut_short_and_started_again_puts_out_what_one_run_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole = run(query(spark, write_batches(tmp_path / "whole", batches(6))).results(), tmp_path / "one")

    kept, checkpoint = Outcome(batches=FullOnce()), tmp_path / "two"
    folder = write_batches(tmp_path / "parts", batches(3))
    start(query(spark, folder).results(), checkpoint, kept).awaitTermination()
    assert sorted(kept.batches) == [0, 1, 2]

    write_batches(folder, batches(6))  # three more files; those already read keep their names
    with setting(spark, "spark.sql.shuffle.partitions", "3"):  # pinned by the checkpoint, so without effect
        failing = start(query(spark, folder).results(), checkpoint, kept)
        with pytest.raises(StreamingQueryException) as failure:
            failing.awaitTermination()
        assert "the sink is full" in root_cause(failure.value)
        assert "the sink is full" in root_cause(failing.exception() or Exception())
        start(query(spark, folder).results(), checkpoint, kept).awaitTermination()

    assert sorted(map(str, kept.rows)) == sorted(map(str, whole.rows))
    assert len(whole.rows) > 20


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream with a checkpoint of its first micro-batch."""
    folder = tmp_path_factory.mktemp("written")
    run(query(spark, write_batches(folder / "stream", batches(1))).results(), folder / "checkpoint")
    write_batches(folder / "stream", batches(2))
    return folder


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"size": 20}, "window: the checkpoint has hopping(15, 5), the query has hopping(20, 5)"),
        ({"buckets": 8}, "buckets: the checkpoint has 4, the query has 8"),
        ({"counting": NewerCount}, "module: the checkpoint has show.count 1.0.0, the query has show.count 2.0.0"),
    ],
)
def test_a_checkpoint_of_another_query_is_refused_with_the_difference(
    spark: SparkSession, tmp_path: Path, written: Path, changed: dict[str, Any], difference: str
) -> None:
    shutil.copytree(written / "checkpoint", tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException) as failure:
        run(query(spark, written / "stream", **changed).results(), tmp_path / "checkpoint")

    assert "the checkpoint belongs to another query" in root_cause(failure.value)
    assert difference in root_cause(failure.value)
