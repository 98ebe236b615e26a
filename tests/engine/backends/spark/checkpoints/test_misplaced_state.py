"""State of another partition or time is refused; a checkpoint that was copied, or restored with its sinks, goes on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
from muntin_engine.backends.spark.operators.bucket_processor import REPARTITIONED
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


def members_query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", watermark=12, buckets=4)
    return keyed.window(tumbling(10)).aggregate(all=module(Members, "payload"))


@pytest.fixture(scope="module")
def interrupted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a stream of five micro-batches, and with the checkpoint of a query that has read four of them.

    The state is in two partitions. Micro-batch 1 had no row. The checkpoint was started twice.
    """
    folder = tmp_path_factory.mktemp("interrupted")
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        stream = write_batches(folder / "stream", batches(2))
        run(members_query(spark, stream).results(), folder / "checkpoint")
        write_batches(stream, batches(4))
        run(members_query(spark, stream).results(), folder / "checkpoint")
        write_batches(stream, batches(5))
        yield folder


@pytest.mark.nightly
def test_a_query_that_goes_on_while_its_checkpoint_is_checked_is_no_fault(spark: SparkSession, tmp_path: Path) -> None:
    stream = write_batches(tmp_path / "stream", batches(1))
    folder = tmp_path / "checkpoint"
    query = members_query(spark, stream)
    run(query.results(), folder)
    opened_before = Checkpoint(spark, folder)
    assert opened_before.last_commit == 0

    write_batches(stream, batches(4))
    run(query.results(), folder)

    opened_afterwards = Checkpoint(spark, folder)
    assert opened_afterwards.last_commit == 3
    assert opened_afterwards.check([query.plan]) == []
    assert opened_before.check([query.plan]) == []


@pytest.mark.nightly
def test_a_query_goes_on_when_the_folders_of_its_older_micro_batches_were_deleted(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = write_batches(tmp_path / "stream", batches(1))
    results = tmp_path / "results"
    query = members_query(spark, stream)
    for count in (1, 3, 4, 5):
        write_batches(stream, batches(count))
        query.write(checkpoint=tmp_path / "checkpoint", results=results, available_now=True).awaitTermination()
        batch_folders = sorted(results.glob("batch=*"))
        for older_folder in batch_folders[:-1]:
            shutil.rmtree(older_folder)
    assert len(batch_folders) == 2
    # Only the window that the last micro-batch closed is left.
    assert {row.window.start for row in spark.read.parquet(str(results)).collect()} == {10}


# Damages of a state of two partitions. Micro-batch N writes N + 1.changelog: the last one, 3, has written 4.changelog.


def swap(first: Path, second: Path) -> None:
    away = first.with_name("away")
    first.rename(away)
    second.rename(first)
    away.rename(second)


def with_checksum(file: Path) -> tuple[Path, Path]:
    """Return a file and what Hadoop keeps beside it."""
    return file, file.with_name(f".{file.name}.crc")


def swap_files(first: Path, second: Path) -> None:
    """Swap two files, and their checksums."""
    for first_file, second_file in zip(with_checksum(first), with_checksum(second), strict=True):
        swap(first_file, second_file)


def swap_partitions(state: Path) -> None:
    swap(state / "0", state / "1")


def swap_newest_changelogs_of_partitions(state: Path) -> None:
    swap_files(state / "0" / "4.changelog", state / "1" / "4.changelog")


def repeat_an_older_changelog(state: Path) -> None:
    older_files = with_checksum(state / "1" / "3.changelog")
    newest_files = with_checksum(state / "1" / "4.changelog")
    for older, newest in zip(older_files, newest_files, strict=True):
        shutil.copy(older, newest)


def repeat_the_first_changelog(state: Path) -> None:
    first_files = with_checksum(state / "0" / "1.changelog")
    newest_files = with_checksum(state / "0" / "4.changelog")
    for first, newest in zip(first_files, newest_files, strict=True):
        shutil.copy(first, newest)


def swap_two_newest_changelogs(state: Path) -> None:
    swap_files(state / "0" / "3.changelog", state / "0" / "4.changelog")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (swap_partitions, r"state/0/1 has the state of bucket \d+, of state/0/0"),
        (swap_newest_changelogs_of_partitions, r"state/0/1 has the state of bucket \d+, of state/0/0"),
        (repeat_an_older_changelog, r"state/0/1 has the state .* in micro-batch 2 of .*, and the last one was 3"),
        (swap_two_newest_changelogs, r"state/0/0 has the state .* in micro-batch 2 of .*, and the last one was 3"),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_a_check_names_state_files_that_are_in_the_place_of_others(
    spark: SparkSession, interrupted: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    checkpoint = shutil.copytree(interrupted / "checkpoint", tmp_path / "copy")
    damage(checkpoint / "state" / "0")
    with pytest.raises(StateError, match=message):
        members_query(spark, interrupted / "stream").check(checkpoint)


@pytest.mark.nightly
@pytest.mark.parametrize("damage", [swap_partitions, swap_two_newest_changelogs])
def test_a_query_that_spark_starts_on_misplaced_state_fails_before_it_has_results(
    spark: SparkSession, interrupted: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    checkpoint = shutil.copytree(interrupted / "checkpoint", tmp_path / "copy")
    damage(checkpoint / "state" / "0")
    outcome = Outcome()
    with pytest.raises(StreamingQueryException) as failed:
        start(members_query(spark, interrupted / "stream").results(), checkpoint, outcome).awaitTermination()
    refusal = (
        r"bucket \d+ has (no state|the state .* in micro-batch [02] of .*)\n  expected: that .* in micro-batch 3 of"
    )
    assert re.search(refusal, root_cause(failed.value))
    assert not outcome.batches


@pytest.mark.nightly
def test_state_of_before_a_repartition_is_refused_once_rows_have_come_since(
    spark: SparkSession, interrupted: Path, tmp_path: Path
) -> None:
    """The setting of a repartition in micro-batch 2 stays for the whole run, and micro-batch 3 had rows."""
    checkpoint = shutil.copytree(interrupted / "checkpoint", tmp_path / "copy")
    repeat_the_first_changelog(checkpoint / "state" / "0")
    query = members_query(spark, interrupted / "stream")
    with setting(spark, REPARTITIONED, "2"), pytest.raises(StreamingQueryException) as failed:
        start(query.results(), checkpoint, Outcome()).awaitTermination()
    assert re.search(
        r"bucket \d+ has the state .* in micro-batch 0 of .*\n.* in micro-batch 3 of", root_cause(failed.value)
    )


@pytest.mark.nightly
def test_a_checkpoint_in_another_place_goes_on_although_one_of_its_micro_batches_was_empty(
    spark: SparkSession, interrupted: Path, tmp_path: Path
) -> None:
    checkpoint = shutil.copytree(interrupted / "checkpoint", tmp_path / "another place")
    query = members_query(spark, interrupted / "stream")
    query.check(checkpoint)
    assert len(run(query.results(), checkpoint).rows) == len(KEYS)
    query.check(checkpoint)


@pytest.mark.nightly
def test_a_checkpoint_that_spark_repartitioned_goes_on(spark: SparkSession, interrupted: Path, tmp_path: Path) -> None:
    checkpoint = shutil.copytree(interrupted / "checkpoint", tmp_path / "copy")
    manager: Any = spark
    if not hasattr(manager, "_streamingCheckpointManager"):
        pytest.skip("PySpark 4.1 repartitions no state")
    manager._streamingCheckpointManager.repartition(str(checkpoint), 3)
    query = members_query(spark, interrupted / "stream")
    query.check(checkpoint)
    query.write(checkpoint=checkpoint, results=tmp_path / "results", available_now=True).awaitTermination()
    assert spark.read.parquet(str(tmp_path / "results")).count() == len(KEYS)
    query.check(checkpoint)


@pytest.mark.nightly
def test_a_checkpoint_goes_on_although_micro_batches_before_and_after_a_repartition_were_idle(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Rows come in micro-batches 0 and 4; in 2, Spark moves the state. The query is started for 0, for 3 and for 4."""
    manager: Any = spark
    if not hasattr(manager, "_streamingCheckpointManager"):
        pytest.skip("PySpark 4.1 repartitions no state")
    stream = tmp_path / "stream"
    stream.mkdir()
    rows = (
        spark.readStream.schema("key string, at long, payload long").option("maxFilesPerTrigger", 1).json(str(stream))
    )
    keyed = events(rows, key="key", at="at", watermark=12, buckets=4)
    query = keyed.window(tumbling(10)).aggregate(all=module(Members, "payload"))
    checkpoint = tmp_path / "checkpoint"
    results = tmp_path / "results"

    def go_on(*files: str) -> int:
        """Read further files, each in a micro-batch; return the number of the last one."""
        for text in files:
            number = len(list(stream.iterdir()))
            file = stream / f"{number}.json"
            file.write_text(text)
            os.utime(file, (number, number))
        query.write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()
        query.check(checkpoint)
        return Checkpoint(spark, checkpoint).last_commit

    is_empty = ""  # Spark makes no task for a file without a byte
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        assert go_on('{"key": "a", "at": 3, "payload": 1}', is_empty) == 1
    manager._streamingCheckpointManager.repartition(str(checkpoint), 3)
    query.check(checkpoint)
    assert go_on(is_empty) == 3
    assert go_on('{"key": "a", "at": 33, "payload": 2}') == 4
    assert spark.read.parquet(str(results)).count() == 1


# A checkpoint and its sinks that are of different times do not go on; restored together they do.


@dataclass
class RestorableRun:
    """A query that has written micro-batches 0, 1 and 2 to two sinks, with a copy of all files after each of them.

    A checkpoint holds its own path, so copies are put back where they were made.
    """

    query: Query
    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "now" / "checkpoint"

    @property
    def table(self) -> ChangelogTable:
        return ChangelogTable(self.folder / "now" / "table")

    @property
    def progress(self) -> Path:
        return self.folder / "now" / "progress"

    def go_on(self) -> None:
        """Run the query until its input is read."""
        running = self.query.write(
            checkpoint=self.checkpoint, results=self.table, metrics=self.progress, available_now=True
        )
        running.awaitTermination()

    def copy_after(self, batch: int) -> None:
        shutil.copytree(self.folder / "now", self.folder / f"after {batch}")

    def restore(self, *, checkpoint: int, table: int, progress: int) -> None:
        """Put each part back as it was after a micro-batch."""
        for name, batch in {"checkpoint": checkpoint, "table": table, "progress": progress}.items():
            shutil.rmtree(self.folder / "now" / name)
            shutil.copytree(self.folder / f"after {batch}" / name, self.folder / "now" / name)

    def written_rows(self) -> list[str]:
        """Return the rows of both sinks, as text and in order."""
        rows_folder = TableVersions(self.folder / "now" / "table").rows_folder
        assert rows_folder is not None
        rows = [*plain(pq.read_table(rows_folder)), *plain(pq.read_table(self.progress, partitioning=None))]
        for row in rows:
            row.pop("metrics", None)  # durations are among them
        return sorted(map(str, rows))

    def plan_file(self, batch: int) -> Path:
        """Return the file in which Spark notes what a micro-batch reads, before it runs."""
        return self.checkpoint / "offsets" / str(batch)

    def change_plan(self, batch: int, text: str) -> None:
        file, checksum = with_checksum(self.plan_file(batch))
        file.write_text(text)
        checksum.unlink(missing_ok=True)

    def forget_last_batch_in(self, log: str) -> None:
        """Delete micro-batch 2 from one of Spark's logs."""
        for file in with_checksum(self.checkpoint / log / "2"):
            file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def run_with_copies(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> RestorableRun:
    batches_with_rows = [batch for batch in batches(5) if len(batch)]
    folder = tmp_path_factory.mktemp("restorable")
    stream = write_batches(folder / "stream", batches_with_rows[:1])
    keyed = events(read_stream(spark, stream), key="key", at="at", watermark=12, buckets=2)
    query = keyed.window(tumbling(10), emit="eager").aggregate(all=module(Members, "payload"))
    restorable_run = RestorableRun(query, folder)
    for batch in range(3):
        write_batches(stream, batches_with_rows[: batch + 1])
        restorable_run.go_on()
        restorable_run.copy_after(batch)
    return restorable_run


@pytest.fixture
def restorable(run_with_copies: RestorableRun) -> RestorableRun:
    """The run after micro-batch 2, with everything in its place."""
    run_with_copies.restore(checkpoint=2, table=2, progress=2)
    return run_with_copies


def test_a_checkpoint_and_sinks_that_are_restored_together_write_the_same_rows_again(
    restorable: RestorableRun,
) -> None:
    expected_rows = restorable.written_rows()
    restorable.restore(checkpoint=1, table=1, progress=1)
    assert restorable.written_rows() != expected_rows
    restorable.go_on()
    assert restorable.written_rows() == expected_rows


def test_a_table_that_is_ahead_of_its_checkpoint_is_refused_before_spark_plans_anything(
    restorable: RestorableRun,
) -> None:
    restorable.restore(checkpoint=1, table=2, progress=2)
    plans = sorted((restorable.checkpoint / "offsets").glob("*"))
    refusal = r"results=ChangelogTable.* is ahead of .*: it has micro-batch 2(.|\n)*if another program"
    with pytest.raises(StateError, match=refusal):
        restorable.go_on()
    assert sorted((restorable.checkpoint / "offsets").glob("*")) == plans


def test_a_folder_of_metrics_that_is_ahead_of_its_checkpoint_is_refused(restorable: RestorableRun) -> None:
    restorable.restore(checkpoint=1, table=1, progress=2)
    with pytest.raises(StateError, match=r"metrics=ParquetFolder.* is ahead of the checkpoint: it has micro-batch 2"):
        restorable.go_on()


def test_a_table_that_is_behind_its_checkpoint_is_refused(restorable: RestorableRun) -> None:
    restorable.restore(checkpoint=1, table=0, progress=1)
    refusal = r"results=.* is behind the checkpoint: it has micro-batches up to 0\n.* up to 1"
    with pytest.raises(StateError, match=refusal):
        restorable.go_on()


def test_a_program_that_begins_to_start_while_another_one_goes_on_is_refused(
    spark: SparkSession, restorable: RestorableRun
) -> None:
    restorable.restore(checkpoint=0, table=0, progress=0)
    checkpoint = Checkpoint(spark, restorable.checkpoint)
    assert checkpoint.last_commit == 0  # read once: what the starting program believes from here on

    restorable.restore(checkpoint=2, table=2, progress=2)  # what the other program has written meanwhile
    refusal = r"another program runs .*: it committed micro-batch 2, and the last one was 0"
    with pytest.raises(StateError, match=refusal):
        checkpoint.check_sinks({"results": restorable.table})


def test_a_checkpoint_whose_last_plan_reads_something_else_than_its_sinks_have_is_refused(
    restorable: RestorableRun,
) -> None:
    """Spark would read again what the last micro-batch has read."""
    plan_of_batch_1 = restorable.plan_file(1).read_text()
    restorable.change_plan(2, plan_of_batch_1)
    with pytest.raises(StateError, match=r"results=.* has micro-batch 2 with another input than the checkpoint"):
        restorable.go_on()


def test_a_micro_batch_that_sinks_have_and_spark_did_not_commit_comes_again_and_changes_nothing(
    restorable: RestorableRun,
) -> None:
    expected_rows = restorable.written_rows()
    restorable.forget_last_batch_in("commits")
    restorable.go_on()
    assert restorable.written_rows() == expected_rows


def test_an_uncommitted_micro_batch_with_another_plan_is_refused(restorable: RestorableRun) -> None:
    restorable.forget_last_batch_in("commits")
    plan = restorable.plan_file(2).read_text()
    restorable.change_plan(2, plan.replace('"batchTimestampMs":1', '"batchTimestampMs":2'))
    refusal = r"results=.* is ahead of the .* has micro-batch 2, which read something else\n"
    with pytest.raises(StateError, match=refusal):
        restorable.go_on()


def test_an_uncommitted_micro_batch_whose_plan_is_gone_is_refused(restorable: RestorableRun) -> None:
    restorable.forget_last_batch_in("commits")
    restorable.forget_last_batch_in("offsets")
    with pytest.raises(StateError, match=r"results=.* is ahead of the checkpoint: it has micro-batch 2"):
        restorable.go_on()
