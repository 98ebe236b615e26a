"""Stopping a query and starting it again from its checkpoint."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin import hopping, tumbling
from muntin_engine import Query, events, module
from muntin_engine.spark.failures import root_cause
from tests.spark.modules import Count, Members
from tests.spark.running import Outcome, plain, read_stream, run, write_batches

KEYS = ("a", "b", None)


def batches(first: int, last: int) -> list[pa.Table]:
    """Return micro-batches of ten ticks each, a point event per key and tick."""
    return [
        pa.table(
            {
                "key": pa.array([key for key in KEYS for _ in range(10)], pa.string()),
                "at": pa.array([10 * batch + tick for _ in KEYS for tick in range(10)], pa.int64()),
                "payload": pa.array([batch] * 10 * len(KEYS), pa.int64()),
            }
        )
        for batch in range(first, last)
    ]


def query(spark: SparkSession, folder: Path, size: int = 15, buckets: int = 4) -> Query:
    stream = events(read_stream(spark, folder), key="key", at="at", delay=3, buckets=buckets)
    return stream.window(hopping(size, 5)).aggregate(n=module(Count), all=module(Members, "payload"))


def test_a_query_that_is_stopped_and_started_again_puts_out_what_one_run_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    whole = run(query(spark, write_batches(tmp_path / "whole", batches(0, 6))).results(), tmp_path / "one")

    early = run(query(spark, write_batches(tmp_path / "parts", batches(0, 3))).results(), tmp_path / "two")
    write_batches(tmp_path / "parts", batches(0, 6))  # three more files; those already read keep their names
    spark.conf.set("spark.sql.shuffle.partitions", "3")  # pinned by the checkpoint, so without effect
    try:
        late = run(query(spark, tmp_path / "parts").results(), tmp_path / "two")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")

    assert min(late.batches) > max(early.batches)
    assert sorted(map(str, early.rows + late.rows)) == sorted(map(str, whole.rows))
    assert len(whole.rows) > 20


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"size": 20}, r"window: the checkpoint has .*'size': 15.*, the query .*'size': 20"),
        ({"buckets": 8}, r"buckets: the checkpoint has 4, the query 8"),
    ],
)
def test_a_checkpoint_of_another_query_is_refused_with_the_difference(
    spark: SparkSession, tmp_path: Path, changed: dict[str, int], difference: str
) -> None:
    folder = write_batches(tmp_path / "stream", batches(0, 1))
    run(query(spark, folder).results(), tmp_path / "checkpoint")
    write_batches(tmp_path / "stream", batches(0, 2))

    with pytest.raises(StreamingQueryException) as failure:
        run(query(spark, folder, **changed).results(), tmp_path / "checkpoint")

    assert "the checkpoint belongs to another query" in root_cause(failure.value)
    assert re.search(difference, root_cause(failure.value))


class NewerCount(Count):
    """The same module in a newer version."""

    version = "2.0.0"


def test_a_checkpoint_of_another_version_of_a_module_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", batches(0, 1))

    def counted(by: type[Count]) -> Query:
        stream = events(read_stream(spark, folder), key="key", at="at", delay=3, buckets=2)
        return stream.window(tumbling(10)).aggregate(n=module(by))

    run(counted(Count).results(), tmp_path / "checkpoint")
    write_batches(tmp_path / "stream", batches(0, 2))
    with pytest.raises(StreamingQueryException) as failure:
        run(counted(NewerCount).results(), tmp_path / "checkpoint")

    assert "show.count" in root_cause(failure.value)
    assert "1.0.0" in root_cause(failure.value)
    assert "2.0.0" in root_cause(failure.value)


def test_a_batch_that_failed_after_it_was_computed_is_computed_again_from_the_same_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = write_batches(tmp_path / "stream", batches(0, 4))
    whole = run(query(spark, folder).results(), tmp_path / "whole")
    kept = Outcome()

    def take_or_fail(batch: object, number: int) -> None:
        rows = batch.toArrow()  # type: ignore[attr-defined]  # a DataFrame
        if number == 2 and number not in failed:
            failed.append(number)
            raise OSError("the sink is full")
        kept.batches[number] = rows

    failed: list[int] = []
    failures: list[Any] = []
    for _ in range(2):
        writer = query(spark, folder).results().writeStream.trigger(availableNow=True)
        running = writer.option("checkpointLocation", str(tmp_path / "kept")).foreachBatch(take_or_fail).start()
        with suppress(StreamingQueryException):
            running.awaitTermination()
        failures.append(running.exception())

    assert failed == [2]
    assert "the sink is full" in root_cause(failures[0])
    assert failures[1] is None
    assert plain(kept.table) == plain(whole.table)
