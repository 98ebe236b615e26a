"""State that is of another partition or micro-batch is refused; a checkpoint that was copied elsewhere goes on.

windows of 10 ticks   0         10        20        30        40
batch 0               0123456789
batch 1 has no row
batch 2                         0123456789
batch 3                                   0123456789
batch 4                                             0123456789     of each of eight keys
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import Query, StateError, events, module
from muntin_engine.spark.failures import root_cause
from tests.spark.modules import Members
from tests.spark.running import Outcome, read_stream, run, setting, start, write_batches

KEYS = [f"key {number}" for number in range(8)]


def batches(count: int) -> list[pa.Table]:
    rows = [[(key, 10 * batch + tick, batch) for key in KEYS for tick in range(10)] for batch in range(4)]
    rows.insert(1, [])
    schema = pa.schema([("key", pa.string()), ("at", pa.int64()), ("payload", pa.int64())])
    made = [pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in some], schema) for some in rows]
    return made[:count]


def query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", delay=12, buckets=4)
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
    for older, newest in zip(*(with_checksum(state / "1" / f"{number}.changelog") for number in (3, 4)), strict=True):
        shutil.copy(older, newest)


def swap_the_two_newest(state: Path) -> None:
    for one, other in zip(*(with_checksum(state / "0" / f"{number}.changelog") for number in (3, 4)), strict=True):
        swap(one, other)


DAMAGES: list[tuple[Callable[[Path], None], str, bool]] = [
    (swap_folders, r"state/0/1 has the state of bucket \d+, of state/0/0", True),
    (swap_newest_changelogs, r"state/0/1 has the state of bucket \d+, of state/0/0", False),
    (put_back_an_older_changelog, r"state/0/1 has the state .* in micro-batch 2 of .*, and the last one was 3", False),
    (swap_the_two_newest, r"state/0/0 has the state .* in micro-batch 2 of .*, and the last one was 3", True),
]
"""What is done to the files, what is said of it before a query starts, and whether one is started in a micro-batch."""


@pytest.mark.parametrize(("damage", "said", "is_started"), DAMAGES, ids=lambda part: getattr(part, "__name__", ""))
def test_state_files_in_the_place_of_others_are_refused_and_named(
    spark: SparkSession, half: Path, tmp_path: Path, damage: Callable[[Path], None], said: str, is_started: bool
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(half / "checkpoint", copy)
    damage(copy / "state" / "0")
    outcome, asked = Outcome(), query(spark, half / "stream")
    with pytest.raises(StateError, match=said):
        asked.check_checkpoint(copy)
    if is_started:
        with pytest.raises(StreamingQueryException) as caught:
            start(asked.results(), copy, outcome).awaitTermination()
        refused = (
            r"bucket \d+ has (no state|the state .* in micro-batch [02] of .*)\n  expected: that .* in micro-batch 3 of"
        )
        assert re.search(refused, root_cause(caught.value))
        assert not outcome.batches


def test_a_checkpoint_that_was_moved_goes_on_and_micro_batches_without_a_row_are_none_that_is_missing(
    spark: SparkSession, half: Path, tmp_path: Path
) -> None:
    shutil.copytree(half / "checkpoint", tmp_path / "another place")
    asked = query(spark, half / "stream")
    asked.check_checkpoint(tmp_path / "another place")
    assert len(run(asked.results(), tmp_path / "another place").rows) == len(KEYS)
    asked.check_checkpoint(tmp_path / "another place")


def test_a_checkpoint_that_spark_repartitioned_goes_on(spark: SparkSession, half: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(half / "checkpoint", copy)
    manager: Any = spark
    manager._streamingCheckpointManager.repartition(str(copy), 3)
    asked = query(spark, half / "stream")
    asked.check_checkpoint(copy)
    asked.write(checkpoint=copy, results=tmp_path / "results", trigger="available_now").awaitTermination()
    assert spark.read.parquet(str(tmp_path / "results")).count() == len(KEYS)
    asked.check_checkpoint(copy)
