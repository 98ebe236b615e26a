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
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from muntin import Aggregate, IncrementalAggregate, hopping, session, snapshot, tumbling
from muntin.errors import QueryError
from muntin.windows import WindowSpecification
from muntin_engine import ChangelogTable, ParquetFolder, Query, Sink, events, fold, module
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.foreach_batch import write as write_module
from muntin_engine.backends.spark.operators.bucket_processor import REPARTITIONED
from muntin_engine.errors import SinkError, StateError
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


def batch(*rows: tuple[Any, ...]) -> pa.Table:
    """Return rows as a micro-batch, all of one source; what is said of all sources has none."""
    named = [dict(zip(SCHEMA.names, (*row, None if row[1] is None else "bikes"), strict=True)) for row in rows]
    return pa.Table.from_pylist(named, SCHEMA)


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
"""The same in fewer micro-batches, and not closed."""

CLOSED = [("a", 0, [1]), ("a", 10, [12, 15]), ("b", 0, [4]), ("b", 20, [20])]


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The micro-batches above."""
    return stream_of(spark, tmp_path_factory.mktemp("stream"), BATCHES)


@pytest.fixture(scope="module")
def short(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The same rows in two micro-batches."""
    return stream_of(spark, tmp_path_factory.mktemp("short"), [OPEN[0], pa.concat_tables(BATCHES[2:])])


def windows(stream: DataFrame, **modules: Any) -> Query:
    keyed = events(stream, key="key", at="at", change="change", buckets=2)
    return keyed.window(tumbling(10)).aggregate(**modules)


def run(query: Query, folder: Path, **sinks: Any) -> None:
    query.write(checkpoint=folder / "checkpoint", available_now=True, **sinks).awaitTermination()


def read(spark: SparkSession, folder: Path) -> list[dict[str, Any]]:
    return collect(spark.read.parquet(str(folder)))


def lose_commit(checkpoint: Path, batch_id: int) -> None:
    """Make Spark believe that it was killed before it committed a micro-batch."""
    for file in (f"{batch_id}", f".{batch_id}.crc"):
        (checkpoint / "commits" / file).unlink()


@dataclass
class Failing(MemorySink):
    """Has no room for a micro-batch when that first comes."""

    full_in: int = 1

    def write(self, batch: DataFrame, batch_id: int) -> None:
        super().write(batch, batch_id)
        if self.writes.count(self.full_in) == 1 and batch_id == self.full_in:
            raise OSError("the sink is full")


def test_all_outputs_come_from_one_evaluation(spark: SparkSession, short: DataFrame, tmp_path: Path) -> None:
    batches_of_late_rows: list[int] = []

    def take_late_rows(late: DataFrame, batch_id: int) -> None:
        batches_of_late_rows.append(batch_id)
        late.isEmpty()
        late.take(1)  # of an operator whose other buckets nobody asked for, Spark would refuse the micro-batch

    log = tmp_path / "told"
    query = windows(short, m=module(Members, "x"), s=module(LoggingSum, "x", file=str(log)))
    rejected = MemorySink()
    metrics = MemorySink()
    run(
        query, tmp_path, results=tmp_path / "results", late_rows=take_late_rows, rejected_rows=rejected, metrics=metrics
    )

    results = read(spark, tmp_path / "results")
    assert sorted((row["key"], row["window"]["start"], row["m"]) for row in results) == CLOSED
    assert {(row["batch"], row["window"]["start"]) for row in results} == {(0, 0), (1, 10), (1, 20)}
    assert log.read_text().count("computed") == len(CLOSED)
    assert batches_of_late_rows == rejected.writes == metrics.writes == [0, 1]
    assert [row["reason"] for row in rejected.rows] == ["unknown change"]
    first, second = metrics.rows
    expected = {"batch_id": 0, "accepted": 3, "late": 0, "rejected": 0, "results": 2, "watermark": 10}
    assert {name: first[name] for name in expected} == expected
    expected = {"batch_id": 1, "accepted": 2, "late": 1, "rejected": 1, "results": 2, "watermark": 2**63 - 1}
    assert {name: second[name] for name in expected} == expected
    assert len(rejected.runs) == 1


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
    results_beside_late_rows = MemorySink()
    results = MemorySink()
    run(query, tmp_path / "late", results=results_beside_late_rows)
    run(query, tmp_path / "counted", results=results)
    write_batches(tmp_path / "stream", [OPEN[0], pa.concat_tables(BATCHES[2:])])
    late = MemorySink()
    run(query, tmp_path / "late", results=results_beside_late_rows, late_rows=late)
    run(query, tmp_path / "counted", results=results)
    assert results.rows
    assert results_beside_late_rows.rows == results.rows
    late_rows = [json.loads(row["row"]) for row in late.rows]
    assert late_rows == [{"change": "insert", "key": "a", "at": 3, "of": "bikes", "x": 3}]


def test_late_rows_of_each_side_of_a_join_come_from_pairs_on_arrays(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", [OPEN[0], pa.concat_tables(BATCHES[2:])])
    left_rows = stream.where("change != 'delete'")
    right_rows = stream.where("change != 'delete' AND (x IS NULL OR x < 10)")
    left = events(left_rows, key="key", at="at", change="change").set_duration(5)
    right = events(right_rows, key="key", at="at", change="change").set_duration(5)
    query = left.join(right, left_columns={"l": "x"}, right_columns={"r": "x"})
    assert "\nevaluator   pairing" in query.plan_text()
    late = MemorySink()
    results_beside_late_rows = MemorySink()
    results = MemorySink()
    run(query, tmp_path / "late", results=results_beside_late_rows, late_rows=late)
    run(query, tmp_path / "counted", results=results)
    assert results.rows
    assert sorted(map(str, results_beside_late_rows.rows)) == sorted(map(str, results.rows))
    late_rows = [(row["input"], json.loads(row["row"])["x"], row["late_by"]) for row in late.rows]
    assert sorted(late_rows) == [("left", 3, 7), ("right", 3, 7)]


def test_a_sink_that_fails_is_named_and_no_sink_has_a_row_twice_or_not_at_all(
    spark: SparkSession, short: DataFrame, tmp_path: Path
) -> None:
    query = windows(short, m=module(Members, "x"))
    failing = Failing(full_in=1)
    progress = MemorySink()
    sinks = {"results": tmp_path / "results", "rejected_rows": failing, "metrics": progress}
    with pytest.raises(StreamingQueryException) as failure:
        run(query, tmp_path, **sinks)
    cause = root_cause(failure.value)
    assert str(failure.value).startswith("rejected_rows=Failing(")
    assert "SinkError: rejected_rows=Failing(" in cause
    assert "failed in micro-batch 1: OSError: the sink is full" in cause
    assert len(read(spark, tmp_path / "results")) == 4  # the sink before it has the micro-batch already
    assert progress.writes == [0]

    run(query, tmp_path, **sinks)
    results = read(spark, tmp_path / "results")
    assert sorted((row["key"], row["window"]["start"], row["m"]) for row in results) == CLOSED
    assert failing.writes == [0, 1, 1]
    assert progress.writes == [0, 1]
    assert len(set(failing.runs)) == 1
    assert len(failing.runs) == 2

    with pytest.raises(StreamingQueryException) as failure:
        query.write(checkpoint=tmp_path / "new", results=tmp_path / "results", available_now=True).awaitTermination()
    assert "results holds the output of another query" in root_cause(failure.value)

    shutil.rmtree(tmp_path / "results")
    with pytest.raises(StateError, match=r"results is gone or empty, and the checkpoint .* up to 1 there\n") as caught:
        run(query, tmp_path, **sinks)
    assert "put the folder back, or start with a new checkpoint" in str(caught.value)
    run(query, tmp_path, **(sinks | {"results": tmp_path / "results from now on"}))


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


@dataclass
class Settled(Sink):
    """A sink that reads, after each micro-batch, the final rows of a table and of a folder with its changes."""

    table: ChangelogTable
    changes: ParquetFolder
    final_rows: list[tuple[int, list[str]]] = field(default_factory=list)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        assert self.table.watermark is not None
        final = self.table.final(batch.sparkSession)
        if batch_id == 2:  # also when it comes again
            assert self.changes.watermark == self.table.watermark
            of_changes = collect(self.changes.final(batch.sparkSession))
            assert sorted(map(str, of_changes)) == sorted(map(str, collect(final.drop("event_id"))))
        self.final_rows.append((self.table.watermark, sorted(map(str, collect(final)))))


@pytest.mark.nightly
def test_a_changelog_is_folded_into_a_table_that_survives_a_lost_commit(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[pa.Table] = []
    for start, watermark in [(0, 2), (15, 6), (7, 14)]:
        insertions = [("insert", key, at, at) for key, at in product("ab", range(start, start + 12, 3))]
        rows.append(batch(*insertions, ("punctuate", "", watermark, 0)))
    last = batch(("close", None, None, None))
    folder = write_batches(tmp_path / "stream", rows)

    def changes_query(df: DataFrame, emit: str) -> Query:
        keyed = events(df, key="key", at="at", change="change", buckets=2)
        return keyed.window(hopping(10, 5), emit=emit).aggregate(n=module(Count), m=module(Members, "x"))

    table = ChangelogTable(tmp_path / "the table")
    progress = MemorySink()
    all_changes = ParquetFolder(tmp_path / "all changes")
    settled = Settled(table, all_changes)
    sinks = {"results": Pair(all_changes, table), "rejected_rows": settled, "metrics": progress}
    with pytest.raises(FileNotFoundError, match="has no micro-batch yet"):
        table.read(spark)
    run(changes_query(read_stream(spark, folder), "speculative"), tmp_path, **sinks)
    lose_commit(tmp_path / "checkpoint", 2)  # as if the crash came right after the sinks
    write_batches(folder, [*rows, last])
    run(changes_query(read_stream(spark, folder), "speculative"), tmp_path, **sinks)

    # No row is late, so a static input has the same results.
    expected = sorted(map(str, collect(changes_query(spark.read.parquet(str(folder)), "final").results())))
    changes = spark.read.parquet(str(tmp_path / "all changes")).drop("batch")
    assert progress.writes == [0, 1, 2, 2, 3]
    assert changes.where("change = 'retract'").count() > 3
    assert sorted(map(str, collect(fold(changes)))) == expected
    with pytest.raises(QueryError, match="lacks 'key': rows of this changelog are told apart by key"):
        fold(changes, key=())
    assert sorted(map(str, collect(table.read(spark).drop("event_id")))) == expected
    assert len(expected) > 10

    last_table = collect(table.read(spark))
    assert [mark for mark, _ in settled.final_rows] == [-5, 0, 5, 5, 2**63 - 1]
    for mark, rows in settled.final_rows:
        assert rows == sorted(str(row) for row in last_table if row["window"]["start"] < mark)
    assert 0 < len(settled.final_rows[2][1]) < len(expected)


def test_what_cannot_be_written_is_refused_before_anything_runs(
    spark: SparkSession, stream: DataFrame, tmp_path: Path
) -> None:
    query = windows(stream, n=module(Count))
    static = windows(spark.createDataFrame(BATCHES[0]), n=module(Count))
    with pytest.raises(QueryError, match="the input is static"):
        static.write(checkpoint=tmp_path, results="out")
    with pytest.raises(QueryError, match="the output has no 'change'"):
        query.write(checkpoint=tmp_path, results=ChangelogTable("out", key="key"))
    dropping = events(stream, key="key", at="at", change="change", late_policy="drop").window(tumbling(10))
    with pytest.raises(QueryError, match="on_end='end' is not a way to end a stream"):
        query.write(checkpoint=tmp_path, results="out", on_end="end")
    chained = query.as_events(key="key").window(tumbling(20)).aggregate(n=module(Count))
    with pytest.raises(
        QueryError, match="only for queries on an input stream; this query reads another query's results"
    ):
        chained.write(checkpoint=tmp_path, results="out", on_end="close")
    with pytest.raises(QueryError, match="lacks the key 'key'"):
        query.write(checkpoint=tmp_path, results=ChangelogTable("out", key="change"))
    with pytest.raises(QueryError, match="late rows are dropped"):
        dropping.aggregate(n=module(Count)).write(checkpoint=tmp_path, late_rows="late")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
def test_a_stream_is_closed_when_its_input_is_read_or_it_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    open_stream = stream_of(spark, tmp_path / "stream", OPEN)
    query = windows(open_stream, n=module("stats.count"), s=module("stats.sum", "x"))
    progress = MemorySink()
    sinks: dict[str, Any] = {
        "results": tmp_path / "results",
        "rejected_rows": Failing(full_in=2),
        "metrics": progress,
    }
    with pytest.raises(SinkError, match="failed in micro-batch 2: OSError: the sink is full"):
        run(query, tmp_path, **sinks, on_end="close")
    with pytest.raises(
        StateError, match=r"was being closed when that was cut short.*\n.*\n  call query.close_checkpoint"
    ):
        run(query, tmp_path, **sinks)
    query.close_checkpoint(tmp_path / "checkpoint", **sinks)

    result_rows = [
        (row["batch"], row["key"], row["window"]["start"], row["n"], row["s"])
        for row in read(spark, tmp_path / "results")
    ]
    assert sorted(result_rows) == [(0, "a", 0, 1, 1), (0, "b", 0, 1, 4), (2, "a", 10, 2, 27), (2, "b", 20, 1, 20)]
    assert [(row["batch_id"], row["results"], row["watermark"]) for row in progress.rows][-1] == (2, 2, 2**63 - 1)
    is_closed = r"checkpoint is closed: its last windows were emitted, so every further row would be late"
    with pytest.raises(StateError, match=is_closed):
        run(query, tmp_path, **sinks)
    with pytest.raises(StateError, match=is_closed):
        query.check(tmp_path / "checkpoint")


@pytest.mark.nightly
def test_a_query_that_goes_on_closes_its_stream_when_it_is_stopped(spark: SparkSession, tmp_path: Path) -> None:
    keyed = events(stream_of(spark, tmp_path / "stream", OPEN), key="key", at="at", change="change", buckets=2)
    query = keyed.window(tumbling(10), emit="speculative").aggregate(m=module(Members, "x"))
    table = ChangelogTable(tmp_path / "tablé of [all] rows")
    metrics = MemorySink()
    place = tmp_path / "checkpoint é 1"
    running = query.write(checkpoint=place, results=table, metrics=metrics, every="1 ms", on_end="close")
    running.processAllAvailable()
    assert running.isActive
    assert running.lastProgress is not None
    assert running.name == "tumbling(10) by key"
    assert len(collect(table.final(spark))) < len(CLOSED)
    running.stop()
    running.stop()
    running.awaitTermination()
    assert sorted((row["key"], row["window"]["start"], row["m"]) for row in collect(table.final(spark))) == CLOSED
    assert table.watermark == 2**63 - 1
    assert metrics.writes == sorted(set(metrics.writes))


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


@pytest.mark.nightly
def test_starts_of_one_checkpoint_at_once_follow_each_other(stream: DataFrame, tmp_path: Path) -> None:
    """Two threads start a query that runs: each stops the run before, and a later start goes on.

    Else Spark refuses one of them, and each later start of that checkpoint in the session.
    """
    is_busy = threading.Event()
    may_end = threading.Event()
    query = windows(stream, m=module(Members, "x"))
    results = MemorySink()
    errors: list[Exception] = []

    def block(rows: DataFrame, number: int) -> None:
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
    start(results=results, available_now=True).awaitTermination()
    assert max(results.batches) == 3
