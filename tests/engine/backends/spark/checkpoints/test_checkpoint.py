"""A checkpoint goes on with newer versions of its modules, and refuses other queries before they read anything."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from muntin import function, hopping, tumbling
from muntin_engine import Query, events, functions, module
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.errors import Difference, StateError, StateMismatchError
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import read_stream, table_of, write_batches
from tests.modules.schema_versions import Broken, First, Second, Without

SCHEMA = pa.schema([("key", pa.string()), ("at", pa.int64()), ("x", pa.int64())])

# windows of 10 ticks   0         10        20
# batch 0               1 2
# batch 1                 3 4
# batch 2                         11   16      closes [0, 10)
# batch 3                                  21       30   closes [10, 20)
BATCHES = [
    table_of(SCHEMA, [("a", 1, 1), ("a", 2, 2)]),
    table_of(SCHEMA, [("a", 3, 3), ("b", 4, 4)]),
    table_of(SCHEMA, [("a", 11, 11), ("a", 16, 16)]),
    table_of(SCHEMA, [("a", 21, 21), ("b", 30, 30)]),
]
CLOSED = [("a", 0, 6), ("b", 0, 4)]


@dataclass
class Story:
    """A stream that grows, and what the queries over it put out."""

    spark: SparkSession
    folder: Path
    output: list[tuple[str, int, Any]] = field(default_factory=list)

    def grown_to(self, batches: int) -> DataFrame:
        write_batches(self.folder / "input", BATCHES[:batches])
        return read_stream(self.spark, self.folder / "input")

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint [a] 1%"

    def take(self, rows: DataFrame, number: int) -> None:
        del number
        self.output += [(row[0], row["window"]["start"], row[-1]) for row in rows.collect()]

    def write(self, query: Query) -> None:
        query.write(checkpoint=self.checkpoint, results=self.take, available_now=True).awaitTermination()

    def stream(self, query: Query, checkpoint: Path) -> None:
        """Run a query in Spark's own way."""
        writer = query.results().writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(self.take)
        writer.trigger(availableNow=True).start().awaitTermination()

    def log(self, name: str) -> list[str]:
        """The micro-batches in one of the logs of Spark."""
        return sorted(file.name for file in (self.checkpoint / name).iterdir() if file.name.isdigit())


@pytest.fixture
def story(spark: SparkSession, tmp_path: Path) -> Story:
    return Story(spark, tmp_path)


def totals(stream: DataFrame, cls: Any, *, window: Any = None, **options: Any) -> Query:
    keyed = events(stream, key="key", at="at", watermark=0, buckets=2)
    return keyed.window(window or tumbling(10), **options).aggregate(total=module(cls, "x"))


def test_another_query_is_refused_before_anything_is_read_and_a_newer_version_goes_on(story: Story) -> None:
    """A version that fails in its first micro-batch can be taken back, and one that went on cannot."""
    story.write(totals(story.grown_to(1), First))
    offsets = story.log("offsets")
    commits = story.log("commits")
    stream = story.grown_to(2)
    refused_queries = (
        (totals(stream, First, window=hopping(20, 5)), Difference("window", "tumbling(10)", "hopping(20, 5)")),
        (totals(stream, Without), Difference("module", "test.total 1.0 of x", "test.total 1.1 of x")),
        (totals(stream, First, evaluator="general"), Difference("evaluator", "sliced", "general")),
    )
    for refused_query, difference in refused_queries:
        with pytest.raises(StateMismatchError) as caught:
            story.write(refused_query)
        assert caught.value.differences == (difference,)
        assert caught.value.checkpoint == str(story.checkpoint)
    assert story.log("offsets") == offsets
    assert story.log("commits") == commits
    with pytest.raises(StreamingQueryException) as failed:
        story.write(totals(stream, Broken))
    assert "test.total 3.0 failed in upgrade_state: ValueError: version 1.0 is unknown" in root_cause(failed.value)
    assert story.output == []
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED
    story.write(totals(story.grown_to(4), Second))
    assert sorted(story.output) == sorted([*CLOSED, ("a", 10, 27), ("a", 20, 21)])
    with pytest.raises(StateMismatchError, match=r"test.total 1.0 is older than 2.0"):
        story.write(totals(story.grown_to(4), First))


def chained(stream: DataFrame, inner: Any, size: int) -> Query:
    """Return a query over the results of another one."""
    first = totals(stream, First, window=inner)
    return first.as_events(key="key", buckets=2).window(tumbling(size)).aggregate(total=module(First, "total"))


@pytest.mark.nightly
def test_each_side_of_a_join_of_results_has_the_state_of_its_own_query(story: Story) -> None:
    def joined(left: int, right: int) -> Query:
        stream = story.grown_to(1)
        known, other = (
            totals(stream, First, window=tumbling(size)).as_events(key="key", buckets=2) for size in (left, 5)
        )
        longer = other.window(tumbling(right)).aggregate(total=module(First, "total"))
        return known.join(
            longer.as_events(key="key", buckets=2), left_columns={"n": "total"}, right_columns={"m": "total"}
        )

    story.stream(joined(10, 20), story.checkpoint)
    joined(10, 20).check(story.checkpoint)
    with pytest.raises(StateMismatchError) as caught:
        joined(30, 40).check(story.checkpoint)
    assert caught.value.differences == (
        Difference("window of query 2 of 4", "tumbling(20)", "tumbling(40)"),
        Difference("window of query 3 of 4", "tumbling(10)", "tumbling(30)"),
    )


@pytest.mark.nightly
def test_every_query_of_a_chain_is_checked(story: Story) -> None:
    story.write(chained(story.grown_to(1), tumbling(10), 100))
    refused: Sequence[tuple[Query, str]] = (
        (chained(story.grown_to(3), tumbling(10), 200), "window of query 2 of 2"),
        (chained(story.grown_to(3), tumbling(20), 100), "window of query 1 of 2"),
        (totals(story.grown_to(3), First), "queries one after the other"),
    )
    for query, subject in refused:
        with pytest.raises(StateMismatchError) as caught:
            query.check(story.checkpoint)
        assert [part.subject for part in caught.value.differences] == [subject]
    chained(story.grown_to(2), tumbling(10), 100).check(story.checkpoint)


@pytest.mark.nightly
def test_a_checkpoint_that_spark_started_can_be_checked_too(story: Story) -> None:
    plain = story.folder / "plain"
    story.stream(chained(story.grown_to(1), tumbling(10), 100), plain)
    chained(story.grown_to(1), tumbling(10), 100).check(plain)
    grown_query = chained(story.grown_to(2), tumbling(20), 100)
    with pytest.raises(StateMismatchError) as caught:
        grown_query.check(plain)
    assert caught.value.differences == (Difference("window of query 1 of 2", "tumbling(10)", "tumbling(20)"),)
    before = list(story.output)
    with pytest.raises(StreamingQueryException) as failed:
        story.stream(grown_query, plain)
    assert "window: the checkpoint has tumbling(10), the query has tumbling(20)" in root_cause(failed.value)
    assert story.output == before


def test_a_checkpoint_without_any_micro_batch_belongs_to_nobody(story: Story) -> None:
    totals(story.grown_to(1), First).check(story.folder / "nothing is here")


@pytest.mark.nightly
def test_a_query_without_state_goes_on_with_another_source(story: Story) -> None:
    def rows_of(*sources: str) -> Query:
        return events(story.grown_to(1), at="at", source="key", sources=sources).to_query()

    def ignore(rows: DataFrame, number: int) -> None:
        del rows, number

    rows_of("a").write(checkpoint=story.checkpoint, results=ignore, available_now=True).awaitTermination()
    # The progress is not known, as a query without state keeps none.
    (change,) = rows_of("a", "b").check(story.checkpoint)
    assert change.startswith("the source b joins")


def test_a_query_that_spark_does_not_start_leaves_no_trace(story: Story) -> None:
    """The one that runs goes on, and the checkpoint stays its own."""
    stream = story.grown_to(1)
    running = totals(stream, First).write(checkpoint=story.checkpoint, results=story.take, every="1 s")
    try:
        running.processAllAvailable()
        refused = pytest.raises(Py4JJavaError, match="another query with same id is already active")
        with setting(story.spark, "spark.sql.streaming.stopActiveRunOnRestart", "false"), refused:
            totals(stream, Second).write(checkpoint=story.checkpoint, results=story.take, every="1 s")
        story.grown_to(2)
        running.processAllAvailable()
    finally:
        running.stop()
    totals(stream, First).check(story.checkpoint)
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED


@pytest.mark.nightly
def test_a_damaged_record_is_named_and_the_state_itself_still_says_what_it_is(story: Story) -> None:
    query = totals(story.grown_to(1), First)
    story.write(query)
    (record,) = (story.checkpoint / "muntin" / "0").glob("part-*")
    checksum = record.with_name(f".{record.name}.crc")
    checksum.unlink()
    sound = record.read_bytes()
    for text in (b"", b'{"queries": [', b"[]", b"\xff\xfe", sound.replace(b"window", b"wi\xffdow")):
        record.write_bytes(text)
        with pytest.raises(StateError, match=r"muntin/0 is damaged: .*\n  expected: .*\n  delete the folder") as caught:
            query.check(story.checkpoint)
        assert caught.value.__cause__ is not None
    record.write_bytes(sound)
    # Hadoop allocates as many bytes as the header says that each checksum covers, so only the checksum may be wrong.
    checksum.write_bytes(b"crc\x00" + (512).to_bytes(4) + b"not!")
    with pytest.raises(StateError, match=r"muntin/0 is damaged: "):
        query.check(story.checkpoint)

    shutil.rmtree(story.checkpoint / "muntin")
    with pytest.raises(StateMismatchError, match=r"the checkpoint has tumbling\(10\), the query has tumbling\(20\)"):
        totals(story.grown_to(1), First, window=tumbling(20)).check(story.checkpoint)
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED

    metadata = story.checkpoint / "metadata"
    metadata.with_name(".metadata.crc").unlink(missing_ok=True)
    metadata.write_bytes(metadata.read_bytes()[:-9])
    with pytest.raises(StateError, match=r"the file .*/metadata is damaged: .*\n.*as JSON\n  put back a copy"):
        story.write(query)


class Summed(First):
    """What `First` is, written otherwise."""

    def compute_result(self, state: Any) -> int:
        return -super().compute_result(state)


class Strict(Summed):
    requires_same_code = True


def doubled(version: str, factor: int, **options: Any) -> Any:
    def double(x: int) -> int:
        return factor * x

    return function("rides.double", version=version, **options)(double)


@pytest.mark.nightly
def test_other_code_of_one_version_is_told_and_another_version_of_a_function_refused(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    def query(cls: Any, of: Any, batches: int) -> Query:
        functions(story.spark, of)
        stream = events(story.grown_to(batches), key="key", at="at", watermark=0, buckets=2)
        doubled_rides = stream.with_columns(twice="rides_double(x)").where("rides_double(x) > 0")
        return doubled_rides.window(tumbling(10)).aggregate(total=module(cls, "twice"))

    def lines(query: Query) -> list[str]:
        plan_lines = query.plan_text(checkpoint=story.checkpoint).splitlines()
        return [line.strip() for line in plan_lines[len(query.plan_text().splitlines()) :]]

    rides_double = doubled("1.0.0", 2)
    story.write(query(First, rides_double, 1))
    assert not caplog.messages
    assert lines(query(First, rides_double, 1)) == [
        "checkpoint  the query can go on with it, and is what it began with"
    ]
    changed = query(Summed, rides_double, 2)
    (of_module,) = (line for line in lines(changed) if "goes on" in line)
    assert "test.total 1.0 goes on with what other code of the same version wrote: code-" in of_module
    story.write(changed)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "test.total 1.0 goes on with what other code of the same version wrote"
    ]
    assert lines(query(Summed, rides_double, 2))[0] == of_module, "it still says what the checkpoint began with"
    assert lines(query(First, rides_double, 2))[0].endswith("and is what it began with")
    refusing = lines(query(Strict, rides_double, 2))
    assert "belongs to another query" in refusing[0]
    assert refusing[1].startswith("code: the checkpoint has test.total code-")
    with pytest.raises(StateMismatchError, match=r"test.total requires the same code: give it a new version"):
        query(Strict, rides_double, 2).check(story.checkpoint)
    with pytest.raises(StateMismatchError, match=r"has rides.double 1.0.0, the query has rides.double 2.0.0"):
        query(First, doubled("2.0.0", 3), 2).check(story.checkpoint)
    query(First, doubled("2.0.0", 3, continues_since="1.0.0"), 2).check(story.checkpoint)
    assert "rides.double 1.0.0 goes on with what other code" in lines(query(First, doubled("1.0.0", 3), 2))[0]
