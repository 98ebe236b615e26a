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
        *(("change", pa.string()), ("key", pa.string()), ("id", pa.int64())),
        *(("at", pa.int64()), ("until", pa.int64()), ("back", pa.int64()), ("x", pa.int64())),
    ]
)
BATCHES = [
    table_of(SCHEMA, [("insert", "a", 1, 1, 5, None, 1), ("insert", "b", 2, 3, 24, None, 2)]),
    table_of(SCHEMA, [("insert", "a", 3, 8, 12, None, 4), ("revise", "b", 2, 3, 24, 14, 2)]),
    table_of(SCHEMA, [("insert", "a", 4, 9, 21, None, 8), ("insert", "b", 5, 15, 17, None, 16)]),
    table_of(SCHEMA, [("insert", "a", 6, 40, 41, None, 32), ("insert", "b", 7, 41, 42, None, 64)]),
]
BEFORE = 2
"""The number of micro-batches before the copy is made. Windows are open then: none but early results are out."""


def points(stream: DataFrame) -> EventStream:
    return events(stream, key="key", at="at", order="id", rows="change = 'insert'", watermark=8, buckets=2)


def lasting(stream: DataFrame) -> EventStream:
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
    return read_stream(spark, write_batches(folder / "input", BATCHES[:batches]))


def run(query: Any, checkpoint: Path, results: Any) -> None:
    query.write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", QUERIES)
def test_a_savepoint_of_each_kind_of_query_goes_on_when_the_original_is_gone(
    kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    query = QUERIES[kind]
    original = tmp_path / "checkpoint [a] 1%"
    savepoint = tmp_path / "savepoint é"
    before = MemorySink()
    uninterrupted = MemorySink()
    after = MemorySink()
    run(query(stream_of(spark, tmp_path, BEFORE)), original, before)
    copy = copy_checkpoint(original, savepoint)
    assert copy.last_batch == max(before.batches)

    all_batches = stream_of(spark, tmp_path, len(BATCHES))
    run(query(all_batches), original, uninterrupted)
    shutil.rmtree(original)
    assert query(all_batches).check(savepoint) == []
    run(query(all_batches), savepoint, after)
    assert after.batches == uninterrupted.batches
    assert after.rows, "the comparison would be of nothing"
    assert min(after.batches) == copy.last_batch + 1, "it goes on, and does not begin anew"
    assert after.runs == before.runs, "Spark's id of the query is in the copy"
    if kind == "tumbling":  # a: 1 + 4 + 8 in [0, 10); b: 2 in [0, 10) and 16 in [10, 20), by hand
        totals = sorted((row["key"], row["window"]["start"], row["total"]) for row in after.rows)
        assert totals == [("a", 0, 13), ("b", 0, 2), ("b", 10, 16)]


@pytest.mark.nightly
def test_a_savepoint_of_one_pass_goes_on_in_copies_of_its_folders(spark: SparkSession, tmp_path: Path) -> None:
    def asked(batches: int) -> Any:
        stream = stream_of(spark, tmp_path, batches)
        return one_pass(sums=totals(stream, tumbling(10)), visits=totals(stream, session(10)))

    def rows(folder: Path) -> list[str]:
        return sorted(map(str, spark.read.parquet(str(folder)).collect()))

    names = ("sums", "visits")
    originals = {name: tmp_path / "out" / name for name in names}
    copies = {name: tmp_path / "copied" / name for name in names}
    run(asked(BEFORE), tmp_path / "checkpoint", originals)
    copy = copy_checkpoint(
        tmp_path / "checkpoint", tmp_path / "copied/checkpoint", {originals[name]: copies[name] for name in names}
    )
    assert copy.destinations == tuple(str(copies[name]) for name in names)
    run(asked(len(BATCHES)), tmp_path / "checkpoint", originals)
    expected_rows = {name: rows(originals[name]) for name in names}
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "out")

    run(asked(len(BATCHES)), tmp_path / "copied/checkpoint", copies)
    assert {name: rows(copies[name]) for name in names} == expected_rows
    assert all(expected_rows.values())

    shutil.rmtree(copies["visits"])
    with pytest.raises(StateError, match=r"copied/visits is gone or empty"):  # the copy knows its folders
        run(asked(len(BATCHES)), tmp_path / "copied/checkpoint", copies)


def test_a_moved_checkpoint_says_so_and_names_the_command(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoint = tmp_path / "checkpoint"
    moved = tmp_path / "moved"
    results = MemorySink()
    run(totals(stream_of(spark, tmp_path, BEFORE), tumbling(10)), checkpoint, results)
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
        run(query, moved, results)
    with pytest.raises(StateError, match=refusal):
        query.check(moved)
    with pytest.raises(StateError, match=refusal):
        read_state(spark, moved)
    with pytest.raises(StateError, match=refusal):
        query.close_checkpoint(checkpoint=moved, results=results)

    copy_checkpoint(moved, tmp_path / "mended")
    assert read_state(spark, tmp_path / "mended").count() == read_state(spark, tmp_path / "mended").count() > 0
    run(query, tmp_path / "mended", results)
    assert sum(row["total"] for row in results.rows) == 13 + 2 + 16


@pytest.mark.nightly
def test_a_checkpoint_by_another_name_of_its_folder_was_not_moved(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = MemorySink()
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "real").mkdir()
    for folder, batches in (("real", BEFORE), ("link", len(BATCHES))):
        run(totals(stream_of(spark, tmp_path, batches), tumbling(10)), tmp_path / folder / "checkpoint", results)
    assert sum(row["total"] for row in results.rows) == 13 + 2 + 16
    assert "copy of" not in caplog.text


def test_a_copy_that_was_cut_short_is_not_started(spark: SparkSession, tmp_path: Path) -> None:
    query = totals(stream_of(spark, tmp_path, BEFORE), tumbling(10))
    run(query, tmp_path / "checkpoint", MemorySink())
    copy_checkpoint(tmp_path / "checkpoint", tmp_path / "copy")
    begun = tmp_path / "copy/muntin/copying/begun"  # what a process leaves that is killed while it copies
    begun.parent.mkdir()
    begun.write_text("not whole")
    for start in (lambda: query.check(tmp_path / "copy"), lambda: run(query, tmp_path / "copy", MemorySink())):
        with pytest.raises(StateError, match=r"is a copy that was cut short: files are missing in it\n.*\n  delete it"):
            start()
