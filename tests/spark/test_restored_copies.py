"""A checkpoint and its sinks that are of different times do not go on; restored together they do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import ChangelogTable, Query, StateError, events, module
from tests.spark.modules import Members
from tests.spark.running import read_stream, write_batches
from tests.spark.test_misplaced_state import batches


def query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", delay=12, buckets=2)
    return keyed.window(tumbling(10), emit="eager").aggregate(all=module(Members, "payload"))


def write(asked: Query, place: Path) -> None:
    table = ChangelogTable(place / "table")
    sinks: dict[str, Any] = {"results": table, "progress": place / "progress", "rejected": place / "rejected"}
    asked.write(checkpoint=place / "checkpoint", trigger="available_now", **sinks).awaitTermination()


def rows(spark: SparkSession, place: Path) -> list[str]:
    table = ChangelogTable(place / "table").read(spark).drop("event_id")
    return sorted(map(str, [*table.collect(), *spark.read.parquet(str(place / "progress")).drop("metrics").collect()]))


def restore(copy: Path, place: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(place / name)
        shutil.copytree(copy / name, place / name)


def forget(place: Path, log: str) -> None:
    """Have the newest micro-batch gone from one of Spark's logs."""
    for file in ("3", ".3.crc"):
        (place / "checkpoint" / log / file).unlink(missing_ok=True)


def test_a_checkpoint_and_sinks_go_on_only_if_they_are_of_one_time(spark: SparkSession, tmp_path: Path) -> None:
    stream, place = write_batches(tmp_path / "stream", batches(1)), tmp_path / "now"
    write(query(spark, stream), place)
    old = shutil.copytree(place, tmp_path / "old")
    write_batches(stream, batches(3))
    write(query(spark, stream), place)
    new = shutil.copytree(place, tmp_path / "new")
    write_batches(stream, batches(4))
    write(query(spark, stream), place)
    wanted = rows(spark, place)

    restore(new, place, "checkpoint")
    offsets = sorted((place / "checkpoint" / "offsets").glob("*"))
    with pytest.raises(StateError, match=r"results=ChangelogTable.* is ahead of the checkpoint: it has micro-batch 3"):
        write(query(spark, stream), place)
    assert sorted((place / "checkpoint" / "offsets").glob("*")) == offsets, "nothing was planned anew"
    restore(new, place, "table")
    with pytest.raises(StateError, match=r"rejected=ParquetFolder.* is ahead of the checkpoint: it has micro-batch 3"):
        write(query(spark, stream), place)
    restore(new, place, "progress", "rejected")
    restore(old, place, "table")
    with pytest.raises(
        StateError, match=r"results=.* is behind the checkpoint: it has micro-batches up to 0\n.* up to 2"
    ):
        write(query(spark, stream), place)
    restore(new, place, "table")
    write(query(spark, stream), place)
    assert rows(spark, place) == wanted

    plan, before = place / "checkpoint" / "offsets" / "3", place / "checkpoint" / "offsets" / "2"
    said = plan.read_text()
    plan.write_text(before.read_text())  # Spark would read again what micro-batch 3 has read
    (plan.parent / ".3.crc").unlink()
    with pytest.raises(StateError, match=r"results=.* has micro-batch 3 as it read something else than the checkpoint"):
        write(query(spark, stream), place)
    plan.write_text(said)
    forget(place, "commits")  # the last micro-batch was cut short, and comes again
    write(query(spark, stream), place)
    assert rows(spark, place) == wanted
    forget(place, "commits")
    plan.write_text(said.replace('"batchTimestampMs":1', '"batchTimestampMs":2'))
    with pytest.raises(
        StateError, match=r"results=.* is ahead of the .* has micro-batch 3, which read something else\n"
    ):
        write(query(spark, stream), place)
    forget(place, "offsets")
    with pytest.raises(StateError, match=r"results=.* is ahead of the checkpoint: it has micro-batch 3"):
        write(query(spark, stream), place)
