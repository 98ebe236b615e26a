"""One evaluation for several sinks, and each row in each of them once, whatever happens."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin import INFINITY, Aggregate, IncrementalAggregate, hopping, session, snapshot, tumbling
from muntin.errors import QueryError
from muntin.windows import WindowSpecification
from muntin_engine import ChangelogTable, ParquetFolder, Query, Sink, events, fold, module
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.foreach_batch import write as write_module
from muntin_engine.backends.spark.operators.bucket_processor import REPARTITIONED
from muntin_engine.errors import SinkError, StateError
from tests.engine.backends.spark.foreach_batch.test_batch_writer import SharedTable
from tests.journeys.running import MemorySink, collect, read_stream, stream_of, write_batches
from tests.modules.members import Count, Members

SCHEMA = pa.schema(
    [("change", pa.string()), ("key", pa.string()), ("at", pa.int64()), ("x", pa.int64()), ("of", pa.string())]
)
SOURCES = ["bikes"]


class LoggingSum(Aggregate[int, int]):
    """The sum of the payloads; each time it is computed it says so in a file."""

    name, version = "show.logging_sum", "1.0.0"

    def __init__(self, file: str) -> None:
        self.file = file

    def compute_result(self, payloads: Sequence[int]) -> int:
        with open(self.file, "a", encoding="utf-8") as file:
            file.write("computed\n")
        return sum(payloads)


class Product(IncrementalAggregate[int, int, int]):
    """The product of the payloads, which partial states are combined to."""

    name, version = "show.product", "1.0.0"

    def create_state(self) -> int:
        return 1

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return prod(payloads, start=state)

    def combine(self, state: int, other: int) -> int:
        return state * other

    def compute_result(self, state: int) -> int:
        return state


def batch(*rows: tuple[str, str | None, int | None, int | None]) -> pa.Table:
    """Return a micro-batch of rows of (change, key, at, x), all of one source; a row without a key is of no source."""
    named_rows: list[dict[str, Any]] = []
    for change, key, at, x in rows:
        source = None if key is None else "bikes"
        named_rows.append({"change": change, "key": key, "at": at, "x": x, "of": source})
    return pa.Table.from_pylist(named_rows, SCHEMA)


# windows of 10 ticks   0         10        20
# batch 0               1 4       12
# batch 1                    | 10                        closes [0, 10)
# batch 2                 3 late  15   20, "delete"      closes nothing
# batch 3                              |                 closes the others
BATCHES = [
    batch(("insert", "a", 1, 1), ("insert", "b", 4, 4), ("insert", "a", 12, 12)),
    batch(("punctuate", None, 10, None)),
    batch(("insert", "a", 3, 3), ("insert", "a", 15, 15), ("insert", "b", 20, 20), ("delete", "b", 21, 21)),
    batch(("close", None, None, None)),
]
OPEN = [pa.concat_tables(BATCHES[:2]), BATCHES[2]]
"""The same rows without the end of the stream, in two micro-batches."""

SHORT = [pa.concat_tables(BATCHES[:2]), pa.concat_tables(BATCHES[2:])]
"""The same rows in two micro-batches: the first closes [0, 10), and the second the other windows."""

CLOSED = [("a", 0, [1]), ("a", 10, [12, 15]), ("b", 0, [4]), ("b", 20, [20])]
"""Key, start and members of each window, when all are closed."""


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The stream of all four micro-batches."""
    return stream_of(spark, tmp_path_factory.mktemp("stream"), BATCHES)


@pytest.fixture(scope="module")
def short_stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The same rows in two micro-batches."""
    return stream_of(spark, tmp_path_factory.mktemp("short"), SHORT)


def windows(stream: DataFrame, **modules: Any) -> Query:
    """Return a query of modules in tumbling windows of 10 ticks."""
    keyed = events(stream, key="key", at="at", change="change", buckets=2)
    return keyed.window(tumbling(10)).aggregate(**modules)


def run(query: Query, folder: Path, **sinks: Any) -> None:
    """Run a query until its input is read, with a checkpoint in a folder."""
    query.write(checkpoint=folder / "checkpoint", available_now=True, **sinks).awaitTermination()


def read(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    return collect(spark.read.parquet(str(folder)))


def lose_commit(checkpoint: Path, batch_id: int) -> None:
    """Make Spark believe that it was killed before it committed a micro-batch."""
    for file in (f"{batch_id}", f".{batch_id}.crc"):
        (checkpoint / "commits" / file).unlink()


def members_by_window(rows: Sequence[dict[str, Any]]) -> list[tuple[str, int, list[int]]]:
    """Return results as in `CLOSED`."""
    return sorted((row["key"], row["window"]["start"], row["m"]) for row in rows)


@dataclass
class FullOnce(MemorySink):
    """A sink that fails in micro-batch `full_in` when that comes for the first time."""

    full_in: int = 1

    def write(self, batch: DataFrame, batch_id: int) -> None:
        super().write(batch, batch_id)
        is_first_attempt = self.writes.count(batch_id) == 1
        if batch_id == self.full_in and is_first_attempt:
            raise OSError("the sink is full")


def test_all_outputs_come_from_one_evaluation(spark: SparkSession, short_stream: DataFrame, tmp_path: Path) -> None:
    batches_of_late_rows: list[int] = []

    def take_late_rows(late: DataFrame, batch_id: int) -> None:
        batches_of_late_rows.append(batch_id)
        late.isEmpty()
        late.take(1)  # of an operator whose other buckets nobody asked for, Spark would refuse the micro-batch

    computations = tmp_path / "computations"
    query = windows(short_stream, m=module(Members, "x"), s=module(LoggingSum, "x", file=str(computations)))
    rejected = MemorySink()
    metrics = MemorySink()
    sinks = {"results": tmp_path / "results", "late_rows": take_late_rows, "rejected_rows": rejected}
    run(query, tmp_path, **sinks, metrics=metrics)

    assert computations.read_text().count("computed") == len(CLOSED)
    results = read(spark, tmp_path / "results")
    assert members_by_window(results) == CLOSED
    assert {(row["batch"], row["window"]["start"]) for row in results} == {(0, 0), (1, 10), (1, 20)}
    assert batches_of_late_rows == rejected.writes == metrics.writes == [0, 1]
    assert [row["reason"] for row in rejected.rows] == ["unknown change"]
    assert len(rejected.runs) == 1

    first_metrics, second_metrics = metrics.rows
    expected = {"batch_id": 0, "accepted": 3, "late": 0, "rejected": 0, "results": 2, "watermark": 10}
    assert {name: first_metrics[name] for name in expected} == expected
    expected = {"batch_id": 1, "accepted": 2, "late": 1, "rejected": 1, "results": 2, "watermark": INFINITY}
    assert {name: second_metrics[name] for name in expected} == expected


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("evaluator", "window", "aggregate"),
    [
        ("columnar", tumbling(10), "stats.sum"),
        ("columnar", session(2), "stats.sum"),
        ("sliced", tumbling(10), Product),
        ("sliced", session(2), Product),
        ("grouped", tumbling(10), Members),
        ("columnar", snapshot(), "stats.sum"),
    ],
    ids=str,
)
def test_a_sink_for_late_rows_changes_neither_the_evaluator_nor_the_results_and_may_come_later(
    spark: SparkSession, tmp_path: Path, evaluator: str, window: WindowSpecification, aggregate: Any
) -> None:
    stream = stream_of(spark, tmp_path / "stream", OPEN[:1])
    keyed = events(stream, key="key", at="at", change="change", source="of", sources=SOURCES, buckets=2)
    query = keyed.window(window).aggregate(m=module(aggregate, "x"))
    assert f"\nevaluator   {evaluator}: " in query.plan_text()
    results = MemorySink()
    results_beside_late_rows = MemorySink()

    # Two runs of the same query, neither with a sink for late rows at first.
    run(query, tmp_path / "without", results=results)
    run(query, tmp_path / "with", results=results_beside_late_rows)
    write_batches(tmp_path / "stream", SHORT)
    late = MemorySink()
    run(query, tmp_path / "without", results=results)
    run(query, tmp_path / "with", results=results_beside_late_rows, late_rows=late)

    assert results.rows
    assert results_beside_late_rows.rows == results.rows
    late_rows = [json.loads(row["row"]) for row in late.rows]
    # The row at 3 comes when the first micro-batch has closed [0, 10).
    assert late_rows == [{"change": "insert", "key": "a", "at": 3, "of": "bikes", "x": 3}]


def test_late_rows_of_each_side_of_a_join_come_from_pairs_on_arrays(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", SHORT)
    left_rows = stream.where("change != 'delete'")
    right_rows = stream.where("change != 'delete' AND (x IS NULL OR x < 10)")
    left = events(left_rows, key="key", at="at", change="change").set_duration(5)
    right = events(right_rows, key="key", at="at", change="change").set_duration(5)
    query = left.join(right, left_columns={"l": "x"}, right_columns={"r": "x"})
    assert "\nevaluator   pairing" in query.plan_text()
    results = MemorySink()
    results_beside_late_rows = MemorySink()
    late = MemorySink()
    run(query, tmp_path / "without", results=results)
    run(query, tmp_path / "with", results=results_beside_late_rows, late_rows=late)
    assert results.rows
    assert sorted(map(str, results_beside_late_rows.rows)) == sorted(map(str, results.rows))
    late_rows = [(row["input"], json.loads(row["row"])["x"], row["late_by"]) for row in late.rows]
    assert sorted(late_rows) == [("left", 3, 7), ("right", 3, 7)]  # the row at 3, when the watermark is 10


def test_a_sink_that_fails_is_named_and_no_sink_has_a_row_twice_or_not_at_all(
    spark: SparkSession, short_stream: DataFrame, tmp_path: Path
) -> None:
    query = windows(short_stream, m=module(Members, "x"))
    failing = FullOnce(full_in=1)
    progress = MemorySink()
    sinks = {"results": tmp_path / "results", "rejected_rows": failing, "metrics": progress}
    with pytest.raises(StreamingQueryException) as failure:
        run(query, tmp_path, **sinks)
    cause = root_cause(failure.value)
    assert str(failure.value).startswith("rejected_rows=FullOnce(")
    assert "SinkError: rejected_rows=FullOnce(" in cause
    assert "failed in micro-batch 1: OSError: the sink is full" in cause
    assert len(read(spark, tmp_path / "results")) == len(CLOSED)  # the sink before it has both micro-batches already
    assert progress.writes == [0]

    run(query, tmp_path, **sinks)
    assert members_by_window(read(spark, tmp_path / "results")) == CLOSED
    assert failing.writes == [0, 1, 1]
    assert progress.writes == [0, 1]
    first_run, second_run = failing.runs
    assert first_run == second_run, "it is one query of Spark's"


def test_a_folder_of_results_is_refused_to_a_query_with_another_checkpoint(
    short_stream: DataFrame, tmp_path: Path
) -> None:
    query = windows(short_stream, m=module(Members, "x"))
    run(query, tmp_path / "first", results=tmp_path / "results")
    with pytest.raises(StreamingQueryException) as failure:
        run(query, tmp_path / "second", results=tmp_path / "results")
    assert "results holds the output of another query" in root_cause(failure.value)


def test_a_query_whose_folder_of_results_is_gone_goes_on_only_with_another_folder(
    short_stream: DataFrame, tmp_path: Path
) -> None:
    query = windows(short_stream, m=module(Members, "x"))
    run(query, tmp_path, results=tmp_path / "results")
    shutil.rmtree(tmp_path / "results")
    with pytest.raises(StateError, match=r"results is gone or empty, and the checkpoint .* up to 1 there\n") as caught:
        run(query, tmp_path, results=tmp_path / "results")
    assert "put the folder back, or start with a new checkpoint" in str(caught.value)
    run(query, tmp_path, results=tmp_path / "results from now on")


def test_an_error_of_spark_inside_a_sink_does_not_hide_which_sink_failed(stream: DataFrame, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    def write_below_a_file(rows: DataFrame, batch_id: int) -> None:
        rows.write.parquet(str(tmp_path / "file" / "below"))

    with pytest.raises(StreamingQueryException) as failure:
        run(windows(stream, n=module(Count)), tmp_path, rejected_rows=write_below_a_file)
    cause = root_cause(failure.value)
    assert ".write_below_a_file failed in micro-batch 0: " in cause
    assert cause.endswith("then comes again, to the sinks that have it too")
    assert f"line {write_below_a_file.__code__.co_firstlineno + 1}, in write_below_a_file" in cause
    assert "\n\tat " not in cause


@dataclass
class Pair(Sink):
    """A sink that writes each micro-batch into two sinks."""

    first: Sink
    second: Sink

    def open(self, query_id: str) -> None:
        for sink in (self.first, self.second):
            sink.open(query_id)

    def take_watermark(self, watermark: int) -> None:
        for sink in (self.first, self.second):
            sink.take_watermark(watermark)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        for sink in (self.first, self.second):
            sink.write(batch, batch_id)


def texts(rows: DataFrame) -> list[str]:
    """Return rows as texts, in order."""
    return sorted(map(str, collect(rows)))


@dataclass
class FinalRowsReader(Sink):
    """A sink that reads, after each micro-batch, the final rows of a table and of a folder with its changes.

    Attributes:
        final_rows: The watermark of the table after each micro-batch, and its final rows as texts.
    """

    table: ChangelogTable
    changes: ParquetFolder
    final_rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        assert self.table.watermark is not None
        final_rows = self.table.final(batch.sparkSession)
        if batch_id == 2:  # also when it comes again
            assert self.changes.watermark == self.table.watermark
            assert texts(self.changes.final(batch.sparkSession)) == texts(final_rows.drop("event_id"))
        self.final_rows.append((self.table.watermark, texts(final_rows)))


def test_a_changelog_table_cannot_be_read_before_its_first_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no micro-batch yet"):
        ChangelogTable(tmp_path / "the table").read(spark)


def members(df: DataFrame, emit: str) -> Query:
    """Return a query of hopping windows, of which an event is in two."""
    keyed = events(df, key="key", at="at", change="change", buckets=2)
    return keyed.window(hopping(10, 5), emit=emit).aggregate(n=module(Count), m=module(Members, "x"))


@dataclass
class WrittenChangelog:
    """What a query has written; one of its micro-batches came twice.

    Attributes:
        expected: The final results, of the same rows as a table.
        table: The table into which its changes are folded.
        changes: The folder with all its changes.
        reader: The sink that has read the final rows after each micro-batch.
        progress: The sink of its metrics.
    """

    expected: list[str]
    table: ChangelogTable
    changes: ParquetFolder
    reader: FinalRowsReader
    progress: MemorySink


@pytest.fixture(scope="module")
def written_changelog(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> WrittenChangelog:
    """Write three micro-batches, lose the commit of the last one, and go on with it and the end of the stream."""
    folder = tmp_path_factory.mktemp("changelog")
    batches: list[pa.Table] = []
    for start, watermark in [(0, 2), (15, 6), (7, 14)]:  # no row is late
        insertions = [("insert", key, at, at) for key, at in product("ab", range(start, start + 12, 3))]
        batches.append(batch(*insertions, ("punctuate", "", watermark, 0)))
    end_of_stream = batch(("close", None, None, None))

    table = ChangelogTable(folder / "the table")
    changes = ParquetFolder(folder / "all changes")
    reader = FinalRowsReader(table, changes)
    progress = MemorySink()
    sinks = {"results": Pair(changes, table), "rejected_rows": reader, "metrics": progress}
    stream = write_batches(folder / "stream", batches)
    run(members(read_stream(spark, stream), "speculative"), folder, **sinks)
    lose_commit(folder / "checkpoint", 2)  # as if the crash came right after the sinks
    write_batches(stream, [*batches, end_of_stream])
    run(members(read_stream(spark, stream), "speculative"), folder, **sinks)

    expected = texts(members(spark.read.parquet(str(stream)), "final").results())
    assert len(expected) > 10
    return WrittenChangelog(expected, table, changes, reader, progress)


@pytest.mark.nightly
def test_a_changelog_is_folded_into_a_table_that_survives_a_lost_commit(
    spark: SparkSession, written_changelog: WrittenChangelog
) -> None:
    assert written_changelog.progress.writes == [0, 1, 2, 2, 3]
    assert texts(written_changelog.table.read(spark).drop("event_id")) == written_changelog.expected


@pytest.mark.nightly
def test_a_folder_of_changes_is_folded_by_the_key_that_its_files_name(
    spark: SparkSession, written_changelog: WrittenChangelog
) -> None:
    changes = spark.read.parquet(str(written_changelog.changes.folder)).drop("batch")
    assert changes.where("change = 'retract'").count() > 3
    assert texts(fold(changes)) == written_changelog.expected
    with pytest.raises(QueryError, match="lacks 'key': rows of this changelog are told apart by key"):
        fold(changes, key=())


@pytest.mark.nightly
def test_rows_of_a_table_are_final_when_the_watermark_has_passed_the_start_of_their_window(
    spark: SparkSession, written_changelog: WrittenChangelog
) -> None:
    """A row that was final after some micro-batch is in the last version of the table as it was."""
    last_rows = collect(written_changelog.table.read(spark))
    final_rows_by_batch = written_changelog.reader.final_rows
    assert [watermark for watermark, _ in final_rows_by_batch] == [-5, 0, 5, 5, INFINITY]
    for watermark, final_rows in final_rows_by_batch:
        assert final_rows == sorted(str(row) for row in last_rows if row["window"]["start"] < watermark)
    _, final_rows_of_batch_2 = final_rows_by_batch[2]
    assert 0 < len(final_rows_of_batch_2) < len(last_rows)


def test_what_cannot_be_written_is_refused_before_anything_runs(
    spark: SparkSession, stream: DataFrame, tmp_path: Path
) -> None:
    query = windows(stream, n=module(Count))
    with pytest.raises(QueryError, match="the output has no 'change'"):
        query.write(checkpoint=tmp_path, results=ChangelogTable("out", key="key"))
    with pytest.raises(QueryError, match="lacks the key 'key'"):
        query.write(checkpoint=tmp_path, results=ChangelogTable("out", key="change"))
    with pytest.raises(QueryError, match="on_end='end' is not a way to end a stream"):
        query.write(checkpoint=tmp_path, results="out", on_end="end")

    chained = query.as_events(key="key").window(tumbling(20)).aggregate(n=module(Count))
    only_inputs = "only for queries on an input stream; this query reads another query's results"
    with pytest.raises(QueryError, match=only_inputs):
        chained.write(checkpoint=tmp_path, results="out", on_end="close")

    static = windows(spark.createDataFrame(BATCHES[0]), n=module(Count))
    with pytest.raises(QueryError, match="the input is static"):
        static.write(checkpoint=tmp_path, results="out")

    dropping = events(stream, key="key", at="at", change="change", late_policy="drop").window(tumbling(10))
    with pytest.raises(QueryError, match="late rows are dropped"):
        dropping.aggregate(n=module(Count)).write(checkpoint=tmp_path, late_rows="late")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_closing_a_stream_that_was_cut_short_is_completed_by_close_checkpoint_and_nothing_runs_after_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The stream has micro-batches 0 and 1; its last windows are emitted in micro-batch 2, which the sink refuses."""
    open_stream = stream_of(spark, tmp_path / "stream", OPEN)
    query = windows(open_stream, n=module("stats.count"), s=module("stats.sum", "x"))
    progress = MemorySink()
    sinks: dict[str, Any] = {
        "results": tmp_path / "results",
        "rejected_rows": FullOnce(full_in=2),
        "metrics": progress,
    }
    with pytest.raises(SinkError, match="failed in micro-batch 2: OSError: the sink is full"):
        run(query, tmp_path, **sinks, on_end="close")
    is_cut_short = r"was being closed when that was cut short.*\n.*\n  call query.close_checkpoint"
    with pytest.raises(StateError, match=is_cut_short):
        run(query, tmp_path, **sinks)
    query.close_checkpoint(tmp_path / "checkpoint", **sinks)

    result_rows: list[tuple[Any, ...]] = []
    for row in read(spark, tmp_path / "results"):
        result_rows.append((row["batch"], row["key"], row["window"]["start"], row["n"], row["s"]))
    assert sorted(result_rows) == [
        # batch, key, start, n, s
        (0, "a", 0, 1, 1),
        (0, "b", 0, 1, 4),
        (2, "a", 10, 2, 12 + 15),
        (2, "b", 20, 1, 20),
    ]
    last_progress = progress.rows[-1]
    assert (last_progress["batch_id"], last_progress["results"], last_progress["watermark"]) == (2, 2, INFINITY)

    is_closed = r"checkpoint is closed: its last windows were emitted, so every further row would be late"
    with pytest.raises(StateError, match=is_closed):
        run(query, tmp_path, **sinks)
    with pytest.raises(StateError, match=is_closed):
        query.check(tmp_path / "checkpoint")


def test_a_stream_is_not_closed_where_a_table_turns_out_to_be_behind_once_it_is_open(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A table that several queries share can tell only then what it has of a query."""
    query = windows(stream_of(spark, tmp_path / "stream", OPEN), n=module(Count))
    run(query, tmp_path, results=SharedTable())
    restored_table = SharedTable(last_number=0)
    with pytest.raises(StateError, match=r"results=.* is behind the checkpoint: it has micro-batches up to 0\n"):
        query.close_checkpoint(tmp_path / "checkpoint", results=restored_table)
    assert not Checkpoint(spark, tmp_path / "checkpoint").is_closed


def test_sinks_may_lack_a_micro_batch_in_which_spark_only_moved_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "repartitioned_batch", 7)
    assert Checkpoint(spark, tmp_path).checked_destinations is None


@pytest.mark.nightly
def test_a_query_that_goes_on_closes_its_stream_when_it_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    keyed = events(stream_of(spark, tmp_path / "stream", OPEN), key="key", at="at", change="change", buckets=2)
    query = keyed.window(tumbling(10), emit="speculative").aggregate(m=module(Members, "x"))
    table = ChangelogTable(tmp_path / "tablé of [all] rows")
    metrics = MemorySink()
    checkpoint = tmp_path / "checkpoint é 1"
    running = query.write(checkpoint=checkpoint, results=table, metrics=metrics, every="1 ms", on_end="close")
    running.processAllAvailable()
    assert running.isActive
    assert running.lastProgress is not None
    assert len(collect(table.final(spark))) < len(CLOSED)
    assert running.name == "tumbling(10) by key"

    running.stop()
    running.stop()  # for the second time it does nothing
    running.awaitTermination()
    assert members_by_window(collect(table.final(spark))) == CLOSED
    assert table.watermark == INFINITY
    assert metrics.writes == sorted(set(metrics.writes)), "no micro-batch was written twice"


def test_a_micro_batch_that_was_cut_short_runs_again_with_the_settings_of_its_start(
    stream: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[tuple[object, str | None]] = []
    start_on_spark = write_module._start

    def start(*arguments: Any, trigger: Any, **settings: Any) -> StreamingQuery:
        starts.append((trigger, stream.sparkSession.conf.get(REPARTITIONED, None)))
        return start_on_spark(*arguments, trigger=trigger, **settings)

    # A micro-batch after Spark gave the state other partitions, and cut short: neither is brought about here.
    monkeypatch.setattr(write_module, "_start", start)
    monkeypatch.setattr(Checkpoint, "repartitioned_batch", 7)
    monkeypatch.setattr(Checkpoint, "is_cut_short", True)
    monkeypatch.setattr(write_module, "write_last_windows", lambda *_: None)
    query = windows(stream, m=module(Members, "x"))
    run(query, tmp_path, results=MemorySink(), on_end="close")
    assert starts == [({"availableNow": True}, "7"), ({"once": True}, "7")]
    assert stream.sparkSession.conf.get(REPARTITIONED, None) is None


def test_queries_that_need_settings_of_the_session_start_one_after_the_other() -> None:
    settings: dict[str, str] = {}
    session: Any = SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__, unset=settings.pop))
    settings_of_second_start: list[dict[str, str]] = []

    def start_second() -> None:
        with write_module._set_for_start(session, {REPARTITIONED: "2"}):
            settings_of_second_start.append(dict(settings))

    second_start = threading.Thread(target=start_second)
    with write_module._set_for_start(session, {REPARTITIONED: "1"}):
        second_start.start()
        second_start.join(0.2)
        assert settings == {REPARTITIONED: "1"}
    second_start.join()
    assert settings_of_second_start == [{REPARTITIONED: "2"}]
    assert settings == {}


@pytest.mark.nightly
def test_starts_of_one_checkpoint_at_once_follow_each_other(stream: DataFrame, tmp_path: Path) -> None:
    """Two threads start a query while it runs: each start stops the run before it, and a later start goes on.

    Started at once, Spark would refuse one of them, and each later start of that checkpoint in the session.
    """
    is_busy = threading.Event()
    may_end = threading.Event()
    query = windows(stream, m=module(Members, "x"))
    errors: list[Exception] = []

    def block(rows: DataFrame, number: int) -> None:
        """Take a micro-batch until the test lets it end."""
        is_busy.set()
        may_end.wait(30)

    def start(**settings: Any) -> StreamingQuery:
        return query.write(checkpoint=tmp_path / "checkpoint", **settings)

    def start_again() -> None:
        try:
            start(results=MemorySink(), every="1 hour")
        except Exception as error:
            errors.append(error)

    start(results=block, every="1 hour")
    assert is_busy.wait(60)
    starts = [threading.Thread(target=start_again) for _ in range(2)]
    for thread in starts:
        thread.start()
    time.sleep(3)  # each has checked the checkpoint, and waits for the run that is busy
    may_end.set()
    for thread in starts:
        thread.join()
    assert errors == []

    results = MemorySink()
    start(results=results, available_now=True).awaitTermination()
    assert max(results.batches) == 3
