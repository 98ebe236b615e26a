"""A checkpoint and its sinks that are of different times do not go on; restored together they do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import ChangelogTable, Query, StateError, events, module
from muntin_engine.writing.table_versions import TableVersions
from tests.spark.modules import Members
from tests.spark.running import plain, read_stream, write_batches
from tests.spark.test_misplaced_state import batches

BATCHES = [batch for batch in batches(5) if len(batch)][:3]


def query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", delay=12, buckets=2)
    return keyed.window(tumbling(10), emit="eager").aggregate(all=module(Members, "payload"))


def write(asked: Query, place: Path) -> None:
    asked.write(
        checkpoint=place / "checkpoint",
        results=ChangelogTable(place / "table"),
        progress=place / "progress",
        trigger="available_now",
    ).awaitTermination()


def rows(place: Path) -> list[str]:
    table = TableVersions(place / "table").rows
    assert table is not None
    found = [*plain(pq.read_table(table)), *plain(pq.read_table(place / "progress", partitioning=None))]
    return sorted(
        str({name: value for name, value in row.items() if name not in ("event_id", "metrics")}) for row in found
    )


def restore(copy: Path, place: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(place / name)
        shutil.copytree(copy / name, place / name)


def forget(place: Path, log: str) -> None:
    """Have the newest micro-batch gone from one of Spark's logs."""
    for file in ("2", ".2.crc"):
        (place / "checkpoint" / log / file).unlink(missing_ok=True)


def test_a_checkpoint_and_sinks_go_on_only_if_they_are_of_one_time(spark: SparkSession, tmp_path: Path) -> None:
    stream, place = write_batches(tmp_path / "stream", BATCHES[:1]), tmp_path / "now"
    asked = query(spark, stream)
    write(asked, place)
    old = shutil.copytree(place, tmp_path / "old")
    write_batches(stream, BATCHES[:2])
    write(asked, place)
    new = shutil.copytree(place, tmp_path / "new")
    write_batches(stream, BATCHES)
    write(asked, place)
    wanted = rows(place)

    restore(new, place, "checkpoint")
    offsets = sorted((place / "checkpoint" / "offsets").glob("*"))
    with pytest.raises(StateError, match=r"results=ChangelogTable.* is ahead of the checkpoint: it has micro-batch 2"):
        write(asked, place)
    assert sorted((place / "checkpoint" / "offsets").glob("*")) == offsets, "nothing was planned anew"
    restore(new, place, "table")
    with pytest.raises(StateError, match=r"progress=ParquetFolder.* is ahead of the checkpoint: it has micro-batch 2"):
        write(asked, place)
    restore(new, place, "progress")
    restore(old, place, "table")
    with pytest.raises(
        StateError, match=r"results=.* is behind the checkpoint: it has micro-batches up to 0\n.* up to 1"
    ):
        write(asked, place)
    restore(new, place, "table")
    write(asked, place)
    assert rows(place) == wanted

    plan, before = (place / "checkpoint" / "offsets" / number for number in "21")
    said = plan.read_text()
    plan.write_text(before.read_text())  # Spark would read again what micro-batch 2 has read
    (plan.parent / ".2.crc").unlink(missing_ok=True)
    with pytest.raises(StateError, match=r"results=.* has micro-batch 2 as it read something else than the checkpoint"):
        write(asked, place)
    plan.write_text(said)
    forget(place, "commits")  # the last micro-batch was cut short, and comes again
    write(asked, place)
    assert rows(place) == wanted
    forget(place, "commits")
    plan.write_text(said.replace('"batchTimestampMs":1', '"batchTimestampMs":2'))
    with pytest.raises(
        StateError, match=r"results=.* is ahead of the .* has micro-batch 2, which read something else\n"
    ):
        write(asked, place)
    forget(place, "offsets")
    with pytest.raises(StateError, match=r"results=.* is ahead of the checkpoint: it has micro-batch 2"):
        write(asked, place)
