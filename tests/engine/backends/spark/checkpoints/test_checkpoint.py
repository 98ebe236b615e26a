"""A checkpoint goes on with newer versions of its modules, and refuses other queries before they read anything."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
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
from muntin_engine.backends.spark.checkpoints import checkpoint as checkpoint_module
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.checkpoints.checkpoint_folder import CheckpointFolder
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
    # key, at, x: each payload is the time of its row
    table_of(SCHEMA, [("a", 1, 1), ("a", 2, 2)]),
    table_of(SCHEMA, [("a", 3, 3), ("b", 4, 4)]),
    table_of(SCHEMA, [("a", 11, 11), ("a", 16, 16)]),
    table_of(SCHEMA, [("a", 21, 21), ("b", 30, 30)]),
]
CLOSED = [("a", 0, 6), ("b", 0, 4)]
"""Key, start and total of the windows [0, 10), which batch 2 closes."""


@dataclass
class Story:
    """A stream that grows, and what the queries over it put out.

    Attributes:
        output: Key, start of the window and total of each result, in the order in which they came.
    """

    spark: SparkSession
    folder: Path
    output: list[tuple[str, int, Any]] = field(default_factory=list)

    def grown_to(self, batches: int) -> DataFrame:
        """Return the stream when so many of its micro-batches have come."""
        write_batches(self.folder / "input", BATCHES[:batches])
        return read_stream(self.spark, self.folder / "input")

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint [a] 1%"

    def add_output(self, rows: DataFrame, number: int) -> None:
        del number
        self.output += [(row[0], row["window"]["start"], row[-1]) for row in rows.collect()]

    def write(self, query: Query) -> None:
        """Run a query by `write` until its input is read."""
        query.write(checkpoint=self.checkpoint, results=self.add_output, available_now=True).awaitTermination()

    def run_by_spark(self, query: Query, checkpoint: Path) -> None:
        """Run the results of a query in Spark's own way, without `write`."""
        writer = query.results().writeStream.option("checkpointLocation", str(checkpoint))
        writer.foreachBatch(self.add_output).trigger(availableNow=True).start().awaitTermination()

    def batches_in_log(self, name: str) -> list[str]:
        """Return the numbers of the micro-batches in one of the logs of Spark."""
        return sorted(file.name for file in (self.checkpoint / name).iterdir() if file.name.isdigit())


@pytest.fixture
def story(spark: SparkSession, tmp_path: Path) -> Story:
    return Story(spark, tmp_path)


def totals(stream: DataFrame, cls: Any, *, window: Any = None, **options: Any) -> Query:
    """Return the totals that a version of the module computes, in tumbling windows of 10 if no others are given."""
    keyed = events(stream, key="key", at="at", watermark=0, buckets=2)
    return keyed.window(window or tumbling(10), **options).aggregate(total=module(cls, "x"))


def test_another_query_is_refused_before_spark_plans_a_micro_batch(story: Story) -> None:
    story.write(totals(story.grown_to(1), First))
    planned = story.batches_in_log("offsets")
    committed = story.batches_in_log("commits")

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

    assert story.batches_in_log("offsets") == planned
    assert story.batches_in_log("commits") == committed


def test_a_version_that_fails_in_its_first_micro_batch_can_be_taken_back_and_one_that_went_on_cannot(
    story: Story,
) -> None:
    story.write(totals(story.grown_to(1), First))

    with pytest.raises(StreamingQueryException) as failed:
        story.write(totals(story.grown_to(2), Broken))
    assert "test.total 3.0 failed in upgrade_state: ValueError: version 1.0 is unknown" in root_cause(failed.value)
    assert story.output == []
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED

    story.write(totals(story.grown_to(4), Second))
    assert sorted(story.output) == sorted([*CLOSED, ("a", 10, 27), ("a", 20, 21)])
    with pytest.raises(StateMismatchError, match=r"test.total 1.0 is older than 2.0"):
        story.write(totals(story.grown_to(4), First))


def chained(stream: DataFrame, *, inner: int, outer: int) -> Query:
    """Return the totals, in tumbling windows of size `outer`, of the totals in tumbling windows of size `inner`."""
    inner_totals = totals(stream, First, window=tumbling(inner)).as_events(key="key", buckets=2)
    return inner_totals.window(tumbling(outer)).aggregate(total=module(First, "total"))


@pytest.mark.nightly
def test_each_side_of_a_join_of_results_has_the_state_of_its_own_query(story: Story) -> None:
    def joined(*, left: int, right: int) -> Query:
        """Return totals in windows of size `left`, joined with those in windows of size `right` over fives."""
        stream = story.grown_to(1)
        left_totals = totals(stream, First, window=tumbling(left)).as_events(key="key", buckets=2)
        right_totals = chained(stream, inner=5, outer=right).as_events(key="key", buckets=2)
        return left_totals.join(right_totals, left_columns={"n": "total"}, right_columns={"m": "total"})

    story.run_by_spark(joined(left=10, right=20), story.checkpoint)
    joined(left=10, right=20).check(story.checkpoint)
    with pytest.raises(StateMismatchError) as caught:
        joined(left=30, right=40).check(story.checkpoint)
    assert caught.value.differences == (
        Difference("window of query 2 of 4", "tumbling(20)", "tumbling(40)"),
        Difference("window of query 3 of 4", "tumbling(10)", "tumbling(30)"),
    )


@pytest.mark.nightly
def test_every_query_of_a_chain_is_checked(story: Story) -> None:
    story.write(chained(story.grown_to(1), inner=10, outer=100))
    refused_queries: Sequence[tuple[Query, str]] = (
        (chained(story.grown_to(3), inner=10, outer=200), "window of query 2 of 2"),
        (chained(story.grown_to(3), inner=20, outer=100), "window of query 1 of 2"),
        (totals(story.grown_to(3), First), "number of queries"),
    )
    for query, subject in refused_queries:
        with pytest.raises(StateMismatchError) as caught:
            query.check(story.checkpoint)
        assert [part.subject for part in caught.value.differences] == [subject]
    chained(story.grown_to(2), inner=10, outer=100).check(story.checkpoint)


@pytest.mark.nightly
def test_another_query_on_a_checkpoint_of_writestream_is_refused_by_a_check_and_by_its_start(story: Story) -> None:
    query = chained(story.grown_to(1), inner=10, outer=100)
    story.run_by_spark(query, story.checkpoint)
    query.check(story.checkpoint)

    other_query = chained(story.grown_to(2), inner=20, outer=100)
    with pytest.raises(StateMismatchError) as caught:
        other_query.check(story.checkpoint)
    assert caught.value.differences == (Difference("window of query 1 of 2", "tumbling(10)", "tumbling(20)"),)

    output = list(story.output)
    with pytest.raises(StreamingQueryException) as failed:
        story.run_by_spark(other_query, story.checkpoint)
    assert "window: the checkpoint has tumbling(10), the query has tumbling(20)" in root_cause(failed.value)
    assert story.output == output


def test_a_checkpoint_without_any_micro_batch_suits_every_query(story: Story) -> None:
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


def test_a_query_that_spark_refuses_to_start_beside_a_running_one_leaves_no_trace_in_the_checkpoint(
    story: Story,
) -> None:
    stream = story.grown_to(1)
    running = totals(stream, First).write(checkpoint=story.checkpoint, results=story.add_output, every="1 s")
    try:
        running.processAllAvailable()
        refused = pytest.raises(Py4JJavaError, match="another query with same id is already active")
        with setting(story.spark, "spark.sql.streaming.stopActiveRunOnRestart", "false"), refused:
            totals(stream, Second).write(checkpoint=story.checkpoint, results=story.add_output, every="1 s")
        story.grown_to(2)
        running.processAllAvailable()
    finally:
        running.stop()

    totals(stream, First).check(story.checkpoint)  # version 1.0 would be refused if 2.0 had left its name
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED


@pytest.mark.nightly
def test_a_damaged_record_of_the_query_is_named(story: Story) -> None:
    query = totals(story.grown_to(1), First)
    story.write(query)
    (record,) = (story.checkpoint / "muntin" / "0").glob("part-*")
    checksum = record.with_name(f".{record.name}.crc")
    checksum.unlink()
    sound = record.read_bytes()
    for text in (b"", b'{"queries": [', b"[]", b"\xff\xfe", sound.replace(b"window", b"wi\xffdow")):
        record.write_bytes(text)
        with pytest.raises(StateError, match=r"muntin/0 is damaged: .*\n  expected: .*\n  delete the") as caught:
            query.check(story.checkpoint)
        assert caught.value.__cause__ is not None

    record.write_bytes(sound)
    # Hadoop allocates as many bytes as the header says that each checksum covers, so only the checksum may be wrong.
    checksum.write_bytes(b"crc\x00" + (512).to_bytes(4) + b"not!")
    with pytest.raises(StateError, match=r"muntin/0 is damaged: "):
        query.check(story.checkpoint)


@pytest.mark.nightly
def test_a_checkpoint_without_its_record_is_checked_by_what_the_state_says_and_goes_on(story: Story) -> None:
    story.write(totals(story.grown_to(1), First))
    shutil.rmtree(story.checkpoint / "muntin")
    with pytest.raises(StateMismatchError, match=r"the checkpoint has tumbling\(10\), the query has tumbling\(20\)"):
        totals(story.grown_to(1), First, window=tumbling(20)).check(story.checkpoint)
    story.write(totals(story.grown_to(3), First))
    assert sorted(story.output) == CLOSED


@pytest.mark.nightly
def test_metadata_of_spark_that_is_cut_short_is_named(story: Story) -> None:
    query = totals(story.grown_to(1), First)
    story.write(query)
    metadata = story.checkpoint / "metadata"
    metadata.with_name(".metadata.crc").unlink(missing_ok=True)
    metadata.write_bytes(metadata.read_bytes()[:-9])
    with pytest.raises(StateError, match=r"the file .*/metadata is damaged: .*\n.*as JSON\n  put back a copy"):
        story.write(query)


def committed(folder: Path, files: Mapping[str, str]) -> Path:
    """Return the folder of a checkpoint of one committed micro-batch, with further files."""
    for name, text in {"offsets/0": "v1", "commits/0": "v1", **files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_a_checkpoint_below_a_folder_of_the_name_of_a_mark_does_not_have_that_mark(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = committed(tmp_path / "muntin" / "closed" / "checkpoint", {"muntin/0/part-0.txt": "{}"})
    assert not Checkpoint(spark, checkpoint).is_closed


def test_a_checkpoint_with_a_file_in_the_folder_of_a_mark_has_the_mark(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = committed(tmp_path / "checkpoint", {"muntin/closed/part-0.txt": "{}"})
    assert Checkpoint(spark, checkpoint).is_closed


def test_advice_for_a_damaged_record_leaves_the_marks_beside_it(spark: SparkSession, tmp_path: Path) -> None:
    """Without the mark `closed`, a closed stream would be gone on with."""
    checkpoint = committed(tmp_path / "checkpoint", {"muntin/0/part-0.txt": "{", "muntin/closed/part-0.txt": "{}"})
    with pytest.raises(
        StateError, match=r"\n  delete the folder .*/checkpoint/muntin/0, and no other: an older record"
    ):
        _ = Checkpoint(spark, checkpoint).names


def test_a_copy_that_was_cut_short_is_named_before_a_record_that_is_cut_short_in_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    checkpoint = committed(tmp_path / "copy", {"muntin/0/part-0.txt": "{", "muntin/copying/begun": "not whole"})
    with pytest.raises(StateError, match="is a copy that was cut short"):
        Checkpoint(spark, checkpoint).in_order({"a": "query", "b": "query"})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"metadata": "{}"}, r"the file .*/metadata is damaged: .*\n  expected: the id"),
        ({}, r"the file .*/metadata is gone\n  expected: the id"),
    ],
    ids=["without the id", "gone"],
)
def test_metadata_of_spark_without_the_id_are_named_also_where_the_driver_sees_no_files(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], message: str
) -> None:
    monkeypatch.setattr(CheckpointFolder, "is_visible", False)
    monkeypatch.setattr(checkpoint_module, "damage_of", lambda *_: None)
    checkpoint = committed(tmp_path / "checkpoint", files)
    with pytest.raises(StateError, match=message):
        Checkpoint(spark, checkpoint).check([])


class OtherCode(First):
    """A module of the same version as `First`, with other code."""

    def compute_result(self, state: Any) -> int:
        return -super().compute_result(state)


class OtherCodeRefused(OtherCode):
    requires_same_code = True


def rides_double(*, version: str = "1.0.0", factor: int = 2, **options: Any) -> Any:
    """Return a version of the function `rides.double`; with another factor it has other code."""

    def double(x: int) -> int:
        return factor * x

    return function("rides.double", version=version, **options)(double)


def doubled_totals(story: Story, cls: Any, *, batches: int, double: Any = None) -> Query:
    """Return a query that calls `rides.double`, in two places, before a module."""
    functions(story.spark, double or rides_double())
    stream = events(story.grown_to(batches), key="key", at="at", watermark=0, buckets=2)
    doubled_rides = stream.with_columns(twice="rides_double(x)").where("rides_double(x) > 0")
    return doubled_rides.window(tumbling(10)).aggregate(total=module(cls, "twice"))


def checkpoint_lines(query: Query, checkpoint: Path) -> list[str]:
    """Return the lines that the text of a plan has more if a checkpoint is named."""
    plan_lines = query.plan_text(checkpoint=checkpoint).splitlines()
    return [line.strip() for line in plan_lines[len(query.plan_text().splitlines()) :]]


@pytest.mark.nightly
def test_other_code_of_the_same_version_is_warned_of_once_and_shown_beside_the_plan(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    first_query = doubled_totals(story, First, batches=1)
    story.write(first_query)
    assert not caplog.messages
    assert checkpoint_lines(first_query, story.checkpoint) == [
        "checkpoint  the query can go on with it, and is what it began with"
    ]

    changed_query = doubled_totals(story, OtherCode, batches=2)
    (module_line,) = (line for line in checkpoint_lines(changed_query, story.checkpoint) if "goes on" in line)
    assert "test.total 1.0 goes on with what other code of the same version wrote: code-" in module_line
    story.write(changed_query)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "test.total 1.0 goes on with what other code of the same version wrote"
    ]

    # The checkpoint still says what it began with.
    assert checkpoint_lines(doubled_totals(story, OtherCode, batches=2), story.checkpoint)[0] == module_line
    line_of_first, *_ = checkpoint_lines(doubled_totals(story, First, batches=2), story.checkpoint)
    assert line_of_first.endswith("and is what it began with")


@pytest.mark.nightly
def test_other_code_of_the_same_version_is_refused_where_the_module_requires_the_same(story: Story) -> None:
    story.write(doubled_totals(story, First, batches=1))
    refused_query = doubled_totals(story, OtherCodeRefused, batches=2)
    verdict, difference, *_ = checkpoint_lines(refused_query, story.checkpoint)
    assert "belongs to another query" in verdict
    assert difference.startswith("code: the checkpoint has test.total code-")
    with pytest.raises(StateMismatchError, match=r"test.total requires the same code: give it a new version"):
        refused_query.check(story.checkpoint)


@pytest.mark.nightly
def test_another_version_of_a_function_is_refused_unless_it_continues_the_stored_one(story: Story) -> None:
    story.write(doubled_totals(story, First, batches=1))

    def query_with(double: Any) -> Query:
        return doubled_totals(story, First, batches=2, double=double)

    with pytest.raises(StateMismatchError, match=r"has rides.double 1.0.0, the query has rides.double 2.0.0"):
        query_with(rides_double(version="2.0.0", factor=3)).check(story.checkpoint)
    query_with(rides_double(version="2.0.0", factor=3, continues_since="1.0.0")).check(story.checkpoint)

    same_version_line, *_ = checkpoint_lines(query_with(rides_double(version="1.0.0", factor=3)), story.checkpoint)
    assert "rides.double 1.0.0 goes on with what other code" in same_version_line
