"""A copy of a checkpoint goes on by itself, for each kind of query, when the original is gone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import hopping, session, snapshot, trailing, tumbling
from muntin.rows import last
from muntin_engine import EventStream, Query, copy_checkpoint, events, module, one_pass, read_state
from muntin_engine.errors import StateError
from tests.journeys.running import MemorySink, read_stream, table_of, write_batches
from tests.modules.restarts import Numbers

SCHEMA = pa.schema(
    [
        ("change", pa.string()),
        ("key", pa.string()),
        ("id", pa.int64()),
        ("at", pa.int64()),
        ("until", pa.int64()),
        ("back", pa.int64()),  # the new end of a revised event
        ("x", pa.int64()),
    ]
)
BATCHES = [
    # change, key, id, at, until, back, x
    table_of(SCHEMA, [("insert", "a", 1, 1, 5, None, 1), ("insert", "b", 2, 3, 24, None, 2)]),
    table_of(SCHEMA, [("insert", "a", 3, 8, 12, None, 4), ("revise", "b", 2, 3, 24, 14, 2)]),
    table_of(SCHEMA, [("insert", "a", 4, 9, 21, None, 8), ("insert", "b", 5, 15, 17, None, 16)]),
    table_of(SCHEMA, [("insert", "a", 6, 40, 41, None, 32), ("insert", "b", 7, 41, 42, None, 64)]),
]
BATCHES_BEFORE_COPY = 2
"""The number of micro-batches before the copy is made. Windows are open then: none but early results are out."""

TOTALS = [("a", 0, 1 + 4 + 8), ("b", 0, 2), ("b", 10, 16)]
"""Key, start and total of the tumbling windows of 10 ticks that the last micro-batch closes, by hand."""


def points(stream: DataFrame) -> EventStream:
    """Return the inserted rows as point events."""
    return events(stream, key="key", at="at", order="id", rows="change = 'insert'", watermark=8, buckets=2)


def lasting(stream: DataFrame) -> EventStream:
    """Return events with lifetimes, of which one is revised."""
    ends: Any = {"start": "at", "end": "until", "new_end": "back"}
    return events(stream, key="key", id="id", change="change", **ends, watermark=8, buckets=2)


def totals(stream: DataFrame, window: Any, **options: Any) -> Query:
    return points(stream).window(window, **options).aggregate(total=module("stats.sum", "x"))


def joined(stream: DataFrame) -> Query:
    longer = points(stream).extend(20)
    return longer.join(points(stream).extend(20), "left", left_columns={"x": "x"}, right_columns={"y": "x"})


def chained(stream: DataFrame) -> Query:
    tens = totals(stream, tumbling(10)).as_events(key="key", buckets=2)
    return tens.window(tumbling(20)).aggregate(total=module("stats.sum", "total"))


QUERIES: dict[str, Callable[[DataFrame], Query]] = {
    "tumbling": lambda stream: totals(stream, tumbling(10)),
    "hopping": lambda stream: totals(stream, hopping(20, 5)),
    "sessions": lambda stream: totals(stream, session(10)),
    "snapshots": lambda stream: lasting(stream).window(snapshot()).aggregate(n=module("stats.count")),
    "revised events": lambda stream: (
        lasting(stream).window(tumbling(10), emit="speculative").aggregate(total=module("stats.sum", "x"))
    ),
    "joins": joined,
    "trailing windows": lambda stream: totals(stream, trailing(10)),
    "row windows": lambda stream: totals(stream, last(2)),
    "operators": lambda stream: points(stream).apply(module(Numbers, "x")),
    "chains": chained,
}


def stream_of(spark: SparkSession, folder: Path, batches: int) -> DataFrame:
    """Return the stream of the first micro-batches, from a folder that the next call lets grow."""
    return read_stream(spark, write_batches(folder / "input", BATCHES[:batches]))


def run_until_read(query: Any, checkpoint: Path, results: Any) -> None:
    """Run a query, or several of one pass, until the stream is read."""
    query.write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", QUERIES)
def test_a_savepoint_of_each_kind_of_query_goes_on_when_the_original_is_gone(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    query = QUERIES[kind]
    original = tmp_path / "checkpoint [a] 1%"
    savepoint = tmp_path / "savepoint é"
    results_before_copy = MemorySink()
    results_of_original = MemorySink()
    results_of_savepoint = MemorySink()

    run_until_read(query(stream_of(spark, tmp_path, BATCHES_BEFORE_COPY)), original, results_before_copy)
    copy = copy_checkpoint(original, savepoint)
    assert copy.last_batch == max(results_before_copy.batches)

    all_batches = stream_of(spark, tmp_path, len(BATCHES))
    run_until_read(query(all_batches), original, results_of_original)
    shutil.rmtree(original)
    assert query(all_batches).check(savepoint) == []
    run_until_read(query(all_batches), savepoint, results_of_savepoint)

    assert results_of_savepoint.batches == results_of_original.batches
    assert results_of_savepoint.rows, "the comparison would be of nothing"
    assert min(results_of_savepoint.batches) == copy.last_batch + 1, "it goes on, and does not begin anew"
    assert results_of_savepoint.runs == results_before_copy.runs, "Spark's id of the query is in the copy"
    if kind == "tumbling":
        totals = sorted((row["key"], row["window"]["start"], row["total"]) for row in results_of_savepoint.rows)
        assert totals == TOTALS


@pytest.mark.nightly
def test_a_savepoint_of_one_pass_goes_on_in_copies_of_its_folders(spark: SparkSession, tmp_path: Path) -> None:
    def queries_over(batches: int) -> Any:
        stream = stream_of(spark, tmp_path, batches)
        return one_pass(sums=totals(stream, tumbling(10)), visits=totals(stream, session(10)))

    def rows_in(folders: dict[str, Path]) -> dict[str, list[str]]:
        """Return the rows in each folder, as text and in order."""
        return {name: sorted(map(str, spark.read.parquet(str(folder)).collect())) for name, folder in folders.items()}

    names = ("sums", "visits")
    checkpoint = tmp_path / "checkpoint"
    folders = {name: tmp_path / "out" / name for name in names}
    copied_checkpoint = tmp_path / "copied/checkpoint"
    copied_folders = {name: tmp_path / "copied" / name for name in names}

    run_until_read(queries_over(BATCHES_BEFORE_COPY), checkpoint, folders)
    destinations: dict[Any, Path] = {folders[name]: copied_folders[name] for name in names}
    copy = copy_checkpoint(checkpoint, copied_checkpoint, destinations)
    assert copy.destinations == tuple(str(copied_folders[name]) for name in names)

    run_until_read(queries_over(len(BATCHES)), checkpoint, folders)
    expected_rows = rows_in(folders)
    assert all(expected_rows.values())
    shutil.rmtree(checkpoint)
    shutil.rmtree(tmp_path / "out")
    run_until_read(queries_over(len(BATCHES)), copied_checkpoint, copied_folders)
    assert rows_in(copied_folders) == expected_rows

    shutil.rmtree(copied_folders["visits"])
    with pytest.raises(StateError, match=r"copied/visits is gone or empty"):  # the copy knows its own folders
        run_until_read(queries_over(len(BATCHES)), copied_checkpoint, copied_folders)


def test_a_checkpoint_that_was_moved_is_warned_of_and_refused_when_the_original_is_gone_until_it_is_copied(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A checkpoint names paths of its own. The warning and the error name the command that makes a whole copy."""
    checkpoint = tmp_path / "checkpoint"
    moved = tmp_path / "moved"
    results = MemorySink()
    run_until_read(totals(stream_of(spark, tmp_path, BATCHES_BEFORE_COPY), tumbling(10)), checkpoint, results)
    query = totals(stream_of(spark, tmp_path, len(BATCHES)), tumbling(10))

    shutil.copytree(checkpoint, moved)
    assert query.check(moved) == []
    (warning,) = [message for message in caplog.messages if "copy of" in message]
    assert warning.endswith("\n  a copy that stands alone is made by muntin checkpoint copy FROM TO")

    shutil.rmtree(checkpoint)
    refusal = (
        rf"{moved} was moved here, or copied: state/0/_metadata/v2/0 in it names file:{checkpoint}/state/0/\S+,"
        rf" which is not there\n  expected: .*\n  start .*: muntin checkpoint copy {moved} TO, or copy_checkpoint\("
    )
    with pytest.raises(StateError, match=refusal):
        run_until_read(query, moved, results)
    with pytest.raises(StateError, match=refusal):
        query.check(moved)
    with pytest.raises(StateError, match=refusal):
        read_state(spark, moved)
    with pytest.raises(StateError, match=refusal):
        query.close_checkpoint(checkpoint=moved, results=results)

    copy_checkpoint(moved, tmp_path / "mended")
    assert read_state(spark, tmp_path / "mended").count() > 0
    run_until_read(query, tmp_path / "mended", results)
    assert sum(row["total"] for row in results.rows) == sum(total for _, _, total in TOTALS)


@pytest.mark.nightly
def test_a_checkpoint_behind_a_link_to_its_folder_does_not_count_as_moved(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    results = MemorySink()
    first_query = totals(stream_of(spark, tmp_path, BATCHES_BEFORE_COPY), tumbling(10))
    run_until_read(first_query, tmp_path / "real" / "checkpoint", results)
    second_query = totals(stream_of(spark, tmp_path, len(BATCHES)), tumbling(10))
    run_until_read(second_query, tmp_path / "link" / "checkpoint", results)
    assert sum(row["total"] for row in results.rows) == sum(total for _, _, total in TOTALS)
    assert "copy of" not in caplog.text


def test_a_copy_that_was_cut_short_is_not_started(spark: SparkSession, tmp_path: Path) -> None:
    query = totals(stream_of(spark, tmp_path, BATCHES_BEFORE_COPY), tumbling(10))
    run_until_read(query, tmp_path / "checkpoint", MemorySink())
    copy_checkpoint(tmp_path / "checkpoint", tmp_path / "copy")
    begun = tmp_path / "copy/muntin/copying/begun"  # what a process leaves that is killed while it copies
    begun.parent.mkdir()
    begun.write_text("not whole")
    refusal = r"is a copy that was cut short: files are missing in it\n.*\n  delete it"
    with pytest.raises(StateError, match=refusal):
        query.check(tmp_path / "copy")
    with pytest.raises(StateError, match=refusal):
        run_until_read(query, tmp_path / "copy", MemorySink())
