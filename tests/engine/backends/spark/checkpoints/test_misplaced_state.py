"""State of another partition or time is refused; a checkpoint that was copied, or restored with its sinks, goes on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import ChangelogTable, Query, StateError, events, module
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.sinks.table_versions import TableVersions
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import Outcome, plain, read_stream, run, start, table_of, write_batches
from tests.modules.members import Members

KEYS = [f"key {number}" for number in range(8)]


def batches(count: int) -> list[pa.Table]:
    """Return the first of five micro-batches, of which the second is empty."""
    schema = pa.schema([("key", pa.string()), ("at", pa.int64()), ("payload", pa.int64())])
    tables: list[pa.Table] = []
    for batch in range(4):
        rows = [(key, 10 * batch + tick, batch) for key, tick in product(KEYS, range(10))]
        tables.append(table_of(schema, rows))
    tables.insert(1, table_of(schema, []))
    return tables[:count]


def query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", watermark=12, buckets=4)
    return keyed.window(tumbling(10)).aggregate(all=module(Members, "payload"))


@pytest.fixture(scope="module")
def half(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkpoint of two partitions after four micro-batches, of which the second had no row; one more waits."""
    folder = tmp_path_factory.mktemp("half")
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        stream = write_batches(folder / "stream", batches(2))
        run(query(spark, stream).results(), folder / "checkpoint")
        write_batches(stream, batches(4))
        run(query(spark, stream).results(), folder / "checkpoint")
        write_batches(stream, batches(5))
        yield folder


@pytest.mark.nightly
def test_a_query_that_goes_on_while_its_checkpoint_is_checked_is_no_fault(spark: SparkSession, tmp_path: Path) -> None:
    stream = write_batches(tmp_path / "stream", batches(1))
    folder = tmp_path / "checkpoint"
    asked = query(spark, stream)
    run(asked.results(), folder)
    checked = Checkpoint(spark, folder)
    assert checked.last_commit == 0
    write_batches(stream, batches(4))
    run(asked.results(), folder)
    assert Checkpoint(spark, folder).last_commit == 3
    assert checked.check([asked.plan]) == Checkpoint(spark, folder).check([asked.plan]) == []


@pytest.mark.nightly
def test_a_folder_goes_on_without_its_old_micro_batches(spark: SparkSession, tmp_path: Path) -> None:
    stream = write_batches(tmp_path / "stream", batches(1))
    results = tmp_path / "results"
    asked = query(spark, stream)
    for count in (1, 3, 4, 5):
        write_batches(stream, batches(count))
        asked.write(checkpoint=tmp_path / "checkpoint", results=results, available_now=True).awaitTermination()
        folders = sorted(results.glob("batch=*"))
        for old in folders[:-1]:
            shutil.rmtree(old)
    assert len(folders) == 2
    assert {row.window.start for row in spark.read.parquet(str(results)).collect()} == {10}


def swap(one: Path, other: Path) -> None:
    away = one.with_name("away")
    one.rename(away)
    other.rename(one)
    away.rename(other)


def with_checksum(file: Path) -> tuple[Path, Path]:
    """A file and what Hadoop keeps beside it."""
    return file, file.with_name(f".{file.name}.crc")


def swap_folders(state: Path) -> None:
    swap(state / "0", state / "1")


def swap_newest_changelogs(state: Path) -> None:
    for one, other in zip(*(with_checksum(state / part / "4.changelog") for part in "01"), strict=True):
        swap(one, other)


def put_back_an_older_changelog(state: Path) -> None:
    older_files = with_checksum(state / "1" / "3.changelog")
    newest_files = with_checksum(state / "1" / "4.changelog")
    for older, newest in zip(older_files, newest_files, strict=True):
        shutil.copy(older, newest)


def swap_the_two_newest(state: Path) -> None:
    older_files = with_checksum(state / "0" / "3.changelog")
    newest_files = with_checksum(state / "0" / "4.changelog")
    for older, newest in zip(older_files, newest_files, strict=True):
        swap(older, newest)


DAMAGES: list[tuple[Callable[[Path], None], str, bool]] = [
    (swap_folders, r"state/0/1 has the state of bucket \d+, of state/0/0", True),
    (swap_newest_changelogs, r"state/0/1 has the state of bucket \d+, of state/0/0", False),
    (put_back_an_older_changelog, r"state/0/1 has the state .* in micro-batch 2 of .*, and the last one was 3", False),
    (swap_the_two_newest, r"state/0/0 has the state .* in micro-batch 2 of .*, and the last one was 3", True),
]
"""Damages of the files, each with the error before a query starts, and True if a query is started all the same."""


@pytest.mark.nightly
@pytest.mark.parametrize(("damage", "message", "is_started"), DAMAGES, ids=lambda part: getattr(part, "__name__", ""))
def test_state_files_in_the_place_of_others_are_refused_and_named(
    spark: SparkSession, half: Path, tmp_path: Path, damage: Callable[[Path], None], message: str, is_started: bool
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(half / "checkpoint", copy)
    damage(copy / "state" / "0")
    outcome = Outcome()
    asked = query(spark, half / "stream")
    with pytest.raises(StateError, match=message):
        asked.check(copy)
    if is_started:
        with pytest.raises(StreamingQueryException) as caught:
            start(asked.results(), copy, outcome).awaitTermination()
        refused = (
            r"bucket \d+ has (no state|the state .* in micro-batch [02] of .*)\n  expected: that .* in micro-batch 3 of"
        )
        assert re.search(refused, root_cause(caught.value))
        assert not outcome.batches


@pytest.mark.nightly
def test_a_checkpoint_that_was_moved_goes_on_and_micro_batches_without_a_row_are_none_that_is_missing(
    spark: SparkSession, half: Path, tmp_path: Path
) -> None:
    shutil.copytree(half / "checkpoint", tmp_path / "another place")
    asked = query(spark, half / "stream")
    asked.check(tmp_path / "another place")
    assert len(run(asked.results(), tmp_path / "another place").rows) == len(KEYS)
    asked.check(tmp_path / "another place")


@pytest.mark.nightly
def test_a_checkpoint_that_spark_repartitioned_goes_on(spark: SparkSession, half: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(half / "checkpoint", copy)
    manager: Any = spark
    if not hasattr(manager, "_streamingCheckpointManager"):
        pytest.skip("PySpark 4.1 repartitions no state")
    manager._streamingCheckpointManager.repartition(str(copy), 3)
    asked = query(spark, half / "stream")
    asked.check(copy)
    asked.write(checkpoint=copy, results=tmp_path / "results", available_now=True).awaitTermination()
    assert spark.read.parquet(str(tmp_path / "results")).count() == len(KEYS)
    asked.check(copy)


# A checkpoint and its sinks that are of different times do not go on; restored together they do.


BATCHES = [batch for batch in batches(5) if len(batch)][:3]


def query_of_restored_copies(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", watermark=12, buckets=2)
    return keyed.window(tumbling(10), emit="eager").aggregate(all=module(Members, "payload"))


def write(asked: Query, place: Path) -> None:
    asked.write(
        checkpoint=place / "checkpoint",
        results=ChangelogTable(place / "table"),
        metrics=place / "progress",
        available_now=True,
    ).awaitTermination()


def rows(place: Path) -> list[str]:
    table = TableVersions(place / "table").rows_folder
    assert table is not None
    all_rows = [*plain(pq.read_table(table)), *plain(pq.read_table(place / "progress", partitioning=None))]
    for row in all_rows:
        row.pop("event_id", None)
        row.pop("metrics", None)
    return sorted(map(str, all_rows))


def restore(copy: Path, place: Path, *names: str) -> None:
    for name in names:
        shutil.rmtree(place / name)
        shutil.copytree(copy / name, place / name)


def forget(place: Path, log: str) -> None:
    """Delete the newest micro-batch from one of Spark's logs."""
    for file in ("2", ".2.crc"):
        (place / "checkpoint" / log / file).unlink(missing_ok=True)


def test_a_checkpoint_and_sinks_go_on_only_if_they_are_of_one_time(spark: SparkSession, tmp_path: Path) -> None:
    stream = write_batches(tmp_path / "stream", BATCHES[:1])
    place = tmp_path / "now"
    asked = query_of_restored_copies(spark, stream)
    write(asked, place)
    old = shutil.copytree(place, tmp_path / "old")
    stale_checkpoint = Checkpoint(spark, place / "checkpoint")
    assert stale_checkpoint.last_commit == 0  # a second program begins to start, and this one goes on
    write_batches(stream, BATCHES[:2])
    write(asked, place)
    new = shutil.copytree(place, tmp_path / "new")
    write_batches(stream, BATCHES)
    write(asked, place)
    expected_rows = rows(place)

    with pytest.raises(
        StateError, match=r"another program runs .*: it committed micro-batch 2, and the last one was 0"
    ):
        stale_checkpoint.check_sinks({"results": ChangelogTable(place / "table")})

    restore(new, place, "checkpoint")
    offsets = sorted((place / "checkpoint" / "offsets").glob("*"))
    with pytest.raises(
        StateError, match=r"results=ChangelogTable.* is ahead of .*: it has micro-batch 2(.|\n)*if another program"
    ):
        write(asked, place)
    assert sorted((place / "checkpoint" / "offsets").glob("*")) == offsets, "nothing was planned anew"
    restore(new, place, "table")
    with pytest.raises(StateError, match=r"metrics=ParquetFolder.* is ahead of the checkpoint: it has micro-batch 2"):
        write(asked, place)
    restore(new, place, "progress")
    restore(old, place, "table")
    with pytest.raises(
        StateError, match=r"results=.* is behind the checkpoint: it has micro-batches up to 0\n.* up to 1"
    ):
        write(asked, place)
    restore(new, place, "table")
    write(asked, place)
    assert rows(place) == expected_rows

    plan = place / "checkpoint" / "offsets" / "2"
    previous_plan = place / "checkpoint" / "offsets" / "1"
    plan_text = plan.read_text()
    plan.write_text(previous_plan.read_text())  # Spark would read again what micro-batch 2 has read
    (plan.parent / ".2.crc").unlink(missing_ok=True)
    with pytest.raises(StateError, match=r"results=.* has micro-batch 2 with another input than the checkpoint"):
        write(asked, place)
    plan.write_text(plan_text)
    forget(place, "commits")  # the last micro-batch was cut short, and comes again
    write(asked, place)
    assert rows(place) == expected_rows
    forget(place, "commits")
    plan.write_text(plan_text.replace('"batchTimestampMs":1', '"batchTimestampMs":2'))
    with pytest.raises(
        StateError, match=r"results=.* is ahead of the .* has micro-batch 2, which read something else\n"
    ):
        write(asked, place)
    forget(place, "offsets")
    with pytest.raises(StateError, match=r"results=.* is ahead of the checkpoint: it has micro-batch 2"):
        write(asked, place)
