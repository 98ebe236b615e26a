"""Several queries in one query of Spark's: one read, one state, sinks of their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from muntin import session, tumbling
from muntin.errors import QueryError
from muntin_engine import OnePass, Query, batch_metrics, events, module, one_pass
from muntin_engine.errors import StateError, StateMismatchError
from tests.engine.backends.spark.foreach_batch.test_write import CLOSED, OPEN, batch
from tests.journeys.running import MemorySink, read_stream, write_batches
from tests.modules.members import Count, Members, Total

QUERY_NAMES = ("windows", "visits", "sums")


def windows(stream: DataFrame, **settings: Any) -> Query:
    """Return the members of each key's windows of ten ticks."""
    keyed = events(stream, key="key", at="at", change="change", buckets=2)
    return keyed.window(tumbling(10), **settings).aggregate(m=module(Members, "x"))


def visits(stream: DataFrame, gap: int = 4) -> Query:
    """Return a query of the same stream with other keys, rows, windows, policies and modules."""
    inserted = events(stream, at="at", rows=F.col("change") == "insert", watermark=5, late_policy="drop", buckets=3)
    return inserted.window(session(gap)).aggregate(n=module(Count, "key"), x=module(Total, F.col("x") * 1.0))


def sums(stream: DataFrame) -> Query:
    """Return a query that merges rows before the shuffle, with punctuation of another stream."""
    keyed = events(
        stream, key=F.upper("key").alias("key"), at="at", rows="change in ('insert', 'close')", change="change"
    )
    beats = stream.where("change = 'punctuate'").select(F.col("at").alias("sent"))
    per_ten_ticks = keyed.with_heartbeat(beats, at="sent").window(tumbling(10))
    return per_ten_ticks.aggregate(x=module("stats.sum", "x"))


def one_pass_over(stream: DataFrame) -> OnePass:
    """Return the three queries above in one pass."""
    return one_pass(windows=windows(stream), visits=visits(stream), sums=sums(stream))


class TwoRuns(NamedTuple):
    """A pass over a stream that was stopped after its first file, and went on to the end of the stream.

    Attributes:
        stream: The stream; the first run had its first file alone.
        first_run: The query of Spark that has read the first file.
        first_checkpoint: A copy of the checkpoint between the runs.
        checkpoint: The checkpoint at the end, where the pass is closed.
        sinks: The sinks of the results by the names of the queries, `rejected` of the rejected rows of `windows`, and
            `progress` of the metrics of `visits`.
    """

    stream: DataFrame
    first_run: StreamingQuery
    first_checkpoint: Path
    checkpoint: Path
    sinks: dict[str, MemorySink]


@pytest.fixture(scope="module")
def two_runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TwoRuns:
    """The pass of three queries, run twice; the second run names its queries in another order."""
    folder = tmp_path_factory.mktemp("pass")
    checkpoint = folder / "checkpoint"
    sinks = {name: MemorySink() for name in (*QUERY_NAMES, "rejected", "progress")}

    def run(asked: OnePass, **options: Any) -> StreamingQuery:
        running = asked.write(
            checkpoint=checkpoint,
            results={name: sinks[name] for name in QUERY_NAMES},
            rejected_rows={"windows": sinks["rejected"]},
            metrics={"visits": sinks["progress"]},
            available_now=True,
            **options,
        )
        running.awaitTermination()
        return running

    write_batches(folder / "stream", OPEN[:1])
    stream = read_stream(spark, folder / "stream")
    first_run = run(one_pass_over(stream), name="pass")
    first_checkpoint = Path(shutil.copytree(checkpoint, folder / "first checkpoint"))

    write_batches(folder / "stream", OPEN)
    run(reordered(one_pass_over(stream)), on_end="close")
    return TwoRuns(stream, first_run, first_checkpoint, checkpoint, sinks)


def reordered(asked: OnePass) -> OnePass:
    """Return the same queries in the opposite order, which the checkpoint does not depend on."""
    return one_pass(**{name: asked.queries[name] for name in reversed(QUERY_NAMES)})


def test_each_query_of_a_pass_has_its_own_results_over_a_restart(two_runs: TwoRuns) -> None:
    sinks = two_runs.sinks

    assert sorted((row["key"], row["window"]["start"], row["m"]) for row in sinks["windows"].rows) == CLOSED
    # delay 5: a row at 3 is late when 12 was read; 1 and 4 are one visit, 12 and 15 another, 20 begins a third
    visit_rows = [(row["window"]["start"], row["window"]["end"], row["n"], row["x"]) for row in sinks["visits"].rows]
    assert sorted(visit_rows) == [(1, 8, 2, 5.0), (12, 19, 2, 27.0), (20, 24, 1, 20.0)]
    assert sorted((row["key"], row["window"]["start"], row["x"]) for row in sinks["sums"].rows) == [
        ("A", 0, 1),
        ("A", 10, 27),
        ("B", 0, 4),
        ("B", 20, 20),
    ]


def test_rejected_rows_and_metrics_of_a_pass_are_those_of_the_query_that_asked_for_them(two_runs: TwoRuns) -> None:
    rejected_rows = two_runs.sinks["rejected"].rows
    metrics_of_visits = two_runs.sinks["progress"].rows

    assert [row["reason"] for row in rejected_rows] == ["unknown change"]
    # the last micro-batch has no rows: it ends the stream
    assert [(row["accepted"], row["late"]) for row in metrics_of_visits] == [(3, 0), (2, 1), (0, 0)]


def test_each_sink_of_a_pass_is_given_each_micro_batch_once(two_runs: TwoRuns) -> None:
    for sink in two_runs.sinks.values():
        assert sink.writes == [0, 1, 2]
        assert sink.counts == [len(sink.batches[number]) for number in sink.writes]


def test_a_pass_reads_its_input_once_and_has_metrics_of_each_query(two_runs: TwoRuns) -> None:
    rows_of_first_file = len(OPEN[0])
    rows_read = [json.loads(progress.json)["numInputRows"] for progress in two_runs.first_run.recentProgress]

    assert rows_read == [rows_of_first_file + rows_of_first_file], "once for all queries, and once for the heartbeat"
    assert list(batch_metrics(two_runs.first_run.lastProgress)) == ["sums", "visits", "windows"]
    assert two_runs.first_run.name == "pass"


def test_a_checkpoint_of_a_pass_refuses_other_queries(two_runs: TwoRuns) -> None:
    stream = two_runs.stream
    other_gap = one_pass(windows=windows(stream), visits=visits(stream, gap=5), sums=sums(stream))
    two_queries_less = one_pass(windows=windows(stream))

    reordered(one_pass_over(stream)).check(two_runs.first_checkpoint)
    with pytest.raises(StateMismatchError, match=r"window of 'visits': the checkpoint has session\(4\), the query has"):
        other_gap.check(two_runs.first_checkpoint)
    with pytest.raises(
        StateMismatchError, match="queries of the pass: the checkpoint has 'windows', 'visits', 'sums', the query"
    ):
        two_queries_less.check(two_runs.first_checkpoint)
    with pytest.raises(StateMismatchError, match="the query has one query, asked alone"):
        windows(stream).check(two_runs.first_checkpoint)


def test_a_pass_that_was_closed_does_not_go_on(two_runs: TwoRuns) -> None:
    with pytest.raises(StateError, match="is closed"):
        one_pass_over(two_runs.stream).check(two_runs.checkpoint)


def test_what_cannot_be_asked_in_one_pass_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", [batch(("insert", "a", 1, 1))]))
    query = windows(stream)
    with pytest.raises(QueryError, match=r"'a' and 'b' are of two DataFrames, and one pass reads one\n.*rows='\.\.\.'"):
        one_pass(a=query, b=windows(stream.where("x > 1")))
    with pytest.raises(QueryError, match=r"one_pass\(\) needs at least one query, each with a name"):
        one_pass()
    with pytest.raises(QueryError, match="is not a query\n  expected what aggregate"):
        one_pass(a=stream)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="'a' and 'b' report metrics under the name 'm'"):
        one_pass(a=query.named("m"), b=query.named("m"))
    with pytest.raises(QueryError, match=r"rows\(x\) is of type bigint"):
        events(stream, at="at", rows="x")


def test_a_pass_needs_a_sink_for_each_query_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", [batch(("insert", "a", 1, 1))]))
    one_pass_of_two = one_pass(a=windows(stream), b=visits(stream))
    with pytest.raises(QueryError, match=r"write\(\) needs at least one sink for 'b'"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results={"a": tmp_path / "a"})
    with pytest.raises(QueryError, match="results names 'bb', and there is no such query\n  did you mean 'b'"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results={"bb": tmp_path / "a"})
    with pytest.raises(QueryError, match="does not say of which query\n  give a sink for each by name"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results=tmp_path / "a")  # type: ignore[arg-type]


def test_the_plan_of_a_pass_says_which_of_its_queries_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    stream = read_stream(spark, write_batches(tmp_path / "stream", [batch(("insert", "a", 1, 1))]))

    plan = one_pass(a=windows(stream), b=visits(stream)).plan_text()

    assert plan.startswith("query       a, 1 of 2 in one pass\nwindow      tumbling(10)")
