"""A query whose checkpoint was damaged is refused: the error names the file, what is wrong with it and the way on."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import MuntinError
from muntin_engine import EventStream, Query, StateError, events, read_state
from muntin_engine.backends.spark.failures import root_cause as failures
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import read_stream, write_batches

KEYS: Final = [f"key {number}" for number in range(6)]


def batches(count: int) -> list[pa.Table]:
    """Return micro-batches with a row of each key, each ten ticks after the one before."""
    tables: list[pa.Table] = []
    for number in range(count):
        times = [10 * number + tick for tick in range(6)]
        tables.append(pa.table({"key": KEYS, "at": times, "x": [number] * 6}))
    return tables


def query(spark: SparkSession, stream: Path) -> Query:
    keyed = events(read_stream(spark, stream), key="key", at="at", watermark=12, buckets=4)
    return keyed.window(tumbling(10)).aggregate(total=stats.sum("x"))


@dataclass
class Place:
    """A query that has run micro-batches 0 to 3, with another one to come, and a copy of what it left.

    A checkpoint holds its own path, so the copy is put back where it was made.
    """

    spark: SparkSession
    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "now" / "checkpoint"

    @property
    def query(self) -> Query:
        return query(self.spark, self.folder / "stream")

    def run(self) -> None:
        """Run the query until its input is read."""
        results = self.folder / "now" / "results"
        self.query.write(checkpoint=self.checkpoint, results=results, available_now=True).awaitTermination()

    def make_copy(self) -> None:
        shutil.copytree(self.folder / "now", self.folder / "copy")

    def put_back(self) -> None:
        shutil.rmtree(self.folder / "now")
        shutil.copytree(self.folder / "copy", self.folder / "now")

    def file(self, pattern: str) -> Path:
        """Return the newest file that a pattern matches."""
        return max(self.checkpoint.glob(pattern), key=lambda file: file.stat().st_mtime_ns)


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(spark, tmp_path_factory.mktemp("damaged"))
    with setting(spark, "spark.sql.shuffle.partitions", "2"):
        write_batches(place.folder / "stream", batches(4))
        place.run()
        place.make_copy()
        write_batches(place.folder / "stream", batches(5))
        yield place


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)


def removed(file: Path) -> None:
    file.unlink()


WHAT_IS_WRONG: Final[dict[Callable[[Path], None], str]] = {
    truncated: r"cut short|is damaged: |bytes, and had [\d,]+|another input than",
    emptied: r"is empty|is damaged: |has 0 bytes, and had [\d,]+|another input than",
    flipped: r"is changed|checksum mismatch|is damaged: |cut short or changed|another input than",
    removed: r"is gone",
}
"""What an error says of a file after each damage, as a pattern."""

LOGS: Final = ("metadata", "offsets/3", "offsets/2", "commits/3", "sources/0/2", "sources/0/3", "muntin/0/part-*")
OPERATOR_METADATA: Final = "state/0/_metadata/v2/0"
STATE: Final = (
    OPERATOR_METADATA,
    "state/0/_stateSchema/default/[!.]*",
    "state/0/0/1.zip",
    "state/0/0/SSTs/*.sst",
    "state/0/1/3.changelog",
    "state/0/1/4.changelog",
)
"""With the logs, a file of each kind that a start needs; of logs and changelogs the newest, and one before it.

The last micro-batch, 3, has written `4.changelog`.
"""

HARMLESS: Final = (
    ("commits/3", removed),  # the micro-batch comes again
    ("muntin/0/part-*", removed),  # the state says what query it is of
)


@pytest.mark.cases(1)
@pytest.mark.parametrize("pattern", [*LOGS, *STATE])
def test_a_damaged_file_is_named_with_what_is_wrong_and_the_way_on(place: Place, pattern: str) -> None:
    for damage, what_is_wrong in WHAT_IS_WRONG.items():
        # A flipped bit in the text of a log, or in a path in it, can only be told by the checksum beside it.
        keeps_checksum = damage is flipped and pattern in (*LOGS, OPERATOR_METADATA)
        file = restore_and_damage(place, pattern, damage, keeps_checksum=keeps_checksum)
        if (pattern, damage) in HARMLESS:
            place.run()
            continue
        message = error_of_run(place)
        name = file.relative_to(place.checkpoint).as_posix()
        case = f"{damage.__name__} {name}: {message}"
        assert re.search(what_is_wrong, message), case
        assert is_named(file, place, message), case
        assert re.search(r"put back|restore|delete the folder", message), case
        assert "died" not in message, case


def cut_after_its_first_line(file: Path) -> None:
    """Leave only the line with the version."""
    first_line = file.read_text().splitlines(keepends=True)[0]
    file.write_text(first_line)


def test_a_description_of_the_state_that_ends_after_its_version_is_named(place: Place) -> None:
    restore_and_damage(place, OPERATOR_METADATA, cut_after_its_first_line)
    assert f"{OPERATOR_METADATA} is cut short or changed: it does not say" in error_of_run(place)


def test_a_commit_that_is_gone_without_its_checksum_is_named_and_without_both_the_micro_batch_comes_again(
    place: Place,
) -> None:
    file = restore_and_damage(place, "commits/3", removed, keeps_checksum=True)
    assert re.search(r"commits/3 is gone, and its checksum .*/commits/\.3\.crc is there", error_of_run(place))
    file.with_name(".3.crc").unlink()
    place.run()


def test_a_checkpoint_that_is_checked_is_refused_in_the_same_words(place: Place) -> None:
    file = restore_and_damage(place, "state/0/1/4.changelog", truncated)
    with pytest.raises(
        StateError, match=rf"is damaged\n  {file.relative_to(place.checkpoint)} is cut short\n  expected:"
    ):
        place.query.check(place.checkpoint)
    with pytest.raises(StateError, match=r"state/0/1/4.changelog is cut short"):
        read_state(place.spark, place.checkpoint)
    place.put_back()
    assert place.query.check(place.checkpoint) == []


def test_a_truncated_changelog_is_no_dead_worker_where_a_worker_was_ended_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark ends the workers of tasks that it cancels; they are not why the state cannot be read."""
    monkeypatch.setattr(failures, "last_death", lambda: "a worker (process 1) died while or after stats.sum 0.1.0 ran")
    restore_and_damage(place, "state/0/1/4.changelog", truncated)
    message = error_of_run(place)
    assert "state/0/1/4.changelog is cut short" in message
    assert "died" not in message


def restore_and_damage(
    place: Place, pattern: str, damage: Callable[[Path], None], *, keeps_checksum: bool = False
) -> Path:
    """Put the checkpoint back, damage the newest file that a pattern matches, and return it."""
    place.put_back()
    file = place.file(pattern)
    damage(file)
    if not keeps_checksum:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


def error_of_run(place: Place) -> str:
    """Run the query, which must fail, and return the root cause."""
    with pytest.raises((MuntinError, PySparkException, Py4JError)) as refused:
        place.run()
    return root_cause(refused.value)


def is_named(file: Path, place: Place, message: str) -> bool:
    """Return whether a message names a file: by its path, by the folder of a record in `muntin`, or by its archive."""
    name = file.relative_to(place.checkpoint).as_posix()
    names = [name]
    if name.startswith("muntin/"):
        names.append("checkpoint/muntin/0 ")
    if name.endswith(".zip"):
        names.append("state/0/0/*.zip")
    if name.endswith(".sst"):
        names.append("this is about a file of the checkpoint")  # RocksDB alone has a checksum of what is in it
    return any(name in message for name in names)


def test_a_checkpoint_of_a_stream_that_is_read_twice_is_whole(spark: SparkSession, tmp_path: Path) -> None:
    """The rides are read on both sides of the join.

    Spark plans a line for each place where a stream is read, and numbers the streams themselves.
    """
    for name, count in (("rides", 4), ("beats", 4), ("other_beats", 2)):
        write_batches(tmp_path / name, batches(count))
    rides = read_stream(spark, tmp_path / "rides")

    def timed_by(beats: str) -> EventStream:
        heartbeat = read_stream(spark, tmp_path / beats)
        return events(rides, key="key", at="at", watermark=12, buckets=4).with_heartbeat(heartbeat, at="at")

    joined = timed_by("beats").join(timed_by("other_beats"), right_columns={"other": "x"})
    checkpoint = tmp_path / "checkpoint"
    joined.write(checkpoint=checkpoint, results=tmp_path / "results", available_now=True).awaitTermination()
    assert joined.check(checkpoint) == []

    # Stream 2 is the last one: without its files the check finds a gap, so it does look at each of them.
    shutil.rmtree(checkpoint / "sources" / "2")
    (checkpoint / "sources" / "2").mkdir()
    with pytest.raises(StateError, match=r"sources/2/0 is gone: it says which files were read"):
        joined.check(checkpoint)
