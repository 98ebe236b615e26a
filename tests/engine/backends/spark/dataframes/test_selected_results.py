"""What a query has of its results: some rows, some columns, and what is computed from them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, fold, module
from tests.journeys.running import MemorySink, collect, stream_of

# windows of 10 ticks   0         10        20
# batch 0               a b       a
# batch 1                  a      a
# batch 2                  b b          c at 40
BATCHES = [
    pa.table({"key": ["a", "b", "a"], "at": [1, 3, 12], "km": [2.0, 4.0, 8.0]}),
    pa.table({"key": ["a", "a"], "at": [4, 11], "km": [4.0, 2.0]}),
    pa.table({"key": ["b", "b", "c"], "at": [5, 6, 40], "km": [1.0, 1.0, 0.0]}),
]


@pytest.fixture(scope="module")
def query(spark: SparkSession) -> Query:
    rows = spark.createDataFrame(pa.concat_tables(BATCHES))
    return events(rows, key="key", at="at").window(tumbling(10)).aggregate(n=module("stats.count"))


def test_results_are_selected_and_computed_and_so_shown(query: Query, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = query.where("n > 1").select("key", start="window.start", twice="2 * n")
    assert sorted(map(str, collect(chosen.results()))) == [
        "{'key': 'a', 'start': 0, 'twice': 4}",
        "{'key': 'a', 'start': 10, 'twice': 4}",
        "{'key': 'b', 'start': 0, 'twice': 6}",
    ]
    chosen.where("key = 'b'").show()
    assert [line for line in capsys.readouterr().out.splitlines() if "|" in line] == [
        "|key|start|twice|",
        "|  b|    0|    6|",
    ]


def test_retracted_results_meet_a_condition_as_they_did_when_they_were_emitted(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = events(stream_of(spark, tmp_path / "in", BATCHES), key="key", at="at", watermark=30)
    counts = stream.window(tumbling(10), emit="eager").aggregate(n=module("stats.count"), km=module("stats.sum", "km"))
    ones_and_threes = counts.where("n = 1 OR n = 3").select("key", "n", start="window.start")
    sink = MemorySink()
    ones_and_threes.write(checkpoint=tmp_path / "checkpoint", results=sink, available_now=True).awaitTermination()

    assert sink.counts == [len(sink.batches[number]) for number in sorted(sink.batches)]
    assert {(row["change"], row["key"], row["start"], row["n"]) for row in sink.rows} >= {
        # The count of a goes on to 2, which the condition leaves out; that of b to 3.
        ("insert", "a", 0, 1),
        ("retract", "a", 0, 1),
        ("insert", "a", 10, 1),
        ("retract", "a", 10, 1),
        ("insert", "b", 0, 1),
        ("retract", "b", 0, 1),
        ("insert", "b", 0, 3),
    }
    changelog = spark.createDataFrame(sink.rows, "key string, n long, start long, change string, event_id long")
    assert sorted((row.key, row.n) for row in fold(changelog, "key").collect()) == [("b", 3), ("c", 1)]


def test_selections_that_results_cannot_have_are_refused(query: Query) -> None:
    with pytest.raises(QueryError, match=r"select\(\) reads 'nn', .*\n  did you mean 'n'\?"):
        query.select(half="nn / 2")
    with pytest.raises(QueryError, match=r"where\(\(n \+ 1\)\) is of type bigint"):
        query.where("n + 1")
    with pytest.raises(QueryError, match="last steps"):
        query.select("n").as_events()
    with pytest.raises(QueryError, match="needs columns"):
        query.select()
