"""Several queries in one query of Spark's: one read, one state, sinks of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import session, tumbling
from muntin.errors import QueryError
from muntin_engine import OnePass, Query, batch_metrics, events, module, one_pass
from muntin_engine.errors import StateError, StateMismatchError
from tests.engine.backends.spark.foreach_batch.test_write import CLOSED, OPEN, batch
from tests.journeys.running import MemorySink, read_stream, write_batches
from tests.modules.members import Count, Members, Total


def windows(stream: DataFrame, **settings: Any) -> Query:
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
    per = keyed.with_heartbeat(beats, at="sent").window(tumbling(10))
    return per.aggregate(x=module("stats.sum", "x"))


def one_pass_over(stream: DataFrame, **changed: Query) -> OnePass:
    return one_pass(**{"windows": windows(stream), "visits": visits(stream), "sums": sums(stream), **changed})


def test_one_pass_answers_its_queries_as_each_alone_does(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "stream", OPEN[:1])
    stream = read_stream(spark, folder)
    sinks = {name: MemorySink() for name in ("windows", "visits", "sums", "rejected", "progress")}
    query_names = ("windows", "visits", "sums")
    named: dict[str, Any] = {"rejected_rows": {"windows": sinks["rejected"]}, "metrics": {"visits": sinks["progress"]}}
    first = one_pass_over(stream).write(
        checkpoint=tmp_path / "checkpoint",
        results={name: sinks[name] for name in query_names},
        available_now=True,
        name="pass",
        **named,
    )
    assert first.name == "pass"
    first.awaitTermination()
    assert [json.loads(progress.json)["numInputRows"] for progress in first.recentProgress] == [4 + 4]  # heartbeats too
    assert list(batch_metrics(first.lastProgress)) == ["sums", "visits", "windows"]

    write_batches(folder, OPEN)
    queries = one_pass_over(stream).queries
    again = {name: queries[name] for name in reversed(query_names)}  # the checkpoint knows the order
    for changed, message in [
        (
            {**again, "visits": visits(stream, gap=5)},
            "window of 'visits': the checkpoint has session.4., the query has",
        ),
        (
            {"windows": again["windows"]},
            "queries of the pass: the checkpoint has 'windows', 'visits', 'sums', the query",
        ),
    ]:
        with pytest.raises(StateMismatchError, match=message):
            one_pass(**changed).check(tmp_path / "checkpoint")
    with pytest.raises(StateMismatchError, match="the query has one query, asked alone"):
        windows(stream).check(tmp_path / "checkpoint")
    second = one_pass(**again).write(
        checkpoint=tmp_path / "checkpoint",
        results={name: sinks[name] for name in query_names},
        available_now=True,
        on_end="close",
        **named,
    )
    second.awaitTermination()

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
    assert [row["reason"] for row in sinks["rejected"].rows] == ["unknown change"]
    assert [(row["accepted"], row["late"]) for row in sinks["progress"].rows] == [(3, 0), (2, 1), (0, 0)]
    for sink in sinks.values():
        assert sink.writes == [0, 1, 2]
        assert sink.counts == [len(sink.batches[number]) for number in sink.writes]
    with pytest.raises(StateError, match="is closed"):
        one_pass(**again).check(tmp_path / "checkpoint")


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
    one_pass_of_two = one_pass(a=query, b=visits(stream))
    with pytest.raises(QueryError, match=r"write\(\) needs at least one sink for 'b'"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results={"a": tmp_path / "a"})
    with pytest.raises(QueryError, match="results names 'bb', and there is no such query\n  did you mean 'b'"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results={"bb": tmp_path / "a"})
    with pytest.raises(QueryError, match="does not say of which query\n  give a sink for each by name"):
        one_pass_of_two.write(checkpoint=tmp_path / "c", results=tmp_path / "a")  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"rows\(x\) is of type bigint"):
        events(stream, at="at", rows="x")
    assert one_pass_of_two.plan_text().startswith("query       a, 1 of 2 in one pass\nwindow      tumbling(10)")
