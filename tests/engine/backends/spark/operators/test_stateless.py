"""Stream operators without state on Spark: one stage, and nothing in the state store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import StreamOperator
from muntin.errors import QueryError
from muntin_engine import events, module, one_pass
from tests.journeys.running import read_stream, write_batches

SCHEMA = pa.schema([("k", pa.string()), ("at", pa.int64()), ("v", pa.int64())])


class Signs(StreamOperator[int, None, int]):
    """Emits each odd payload, and its opposite; of even ones nothing."""

    name, version = "test.signs", "1.0.0"

    def on_event(self, state: None, payload: int, time: int) -> Iterable[int] | None:
        return [payload, -payload] if payload % 2 else None


def table(*rows: tuple[str | None, int | None, int | None]) -> pa.Table:
    """Return a micro-batch of rows (k, at, v)."""
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


# Rows come out of order, and none is late: there is no watermark.
FIRST_BATCHES = [
    table(("a", 8, 1), ("b", 9, 2), (None, 9, 3)),
    table(("a", None, 5), ("b", 9, None), ("a", 1, 7)),  # the first is rejected; a null is no payload of the operator
]
BATCH_AFTER_RESTART = table(("a", 2, 9))


def test_an_operator_without_state_repeats_and_loses_no_row_over_a_restart_and_leaves_no_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = write_batches(tmp_path / "in", FIRST_BATCHES)
    stream = events(read_stream(spark, folder), key="k", at="at", buckets=2)
    query = stream.apply(module(Signs, "v")).named("signs")
    progress = tmp_path / "progress"
    sinks = {name: str(tmp_path / name) for name in ("results", "rejected_rows", "late_rows")}

    def run() -> None:
        checkpoint = tmp_path / "checkpoint"
        query.write(checkpoint=checkpoint, metrics=str(progress), available_now=True, **sinks).awaitTermination()

    run()
    write_batches(folder, [*FIRST_BATCHES, BATCH_AFTER_RESTART])
    query.check(tmp_path / "checkpoint")
    run()

    odd_rows = [("a", 8, 1), (None, 9, 3), ("a", 1, 7), ("a", 2, 9)]
    expected: list[tuple[str | None, int, int]] = []
    for key, at, value in odd_rows:
        expected += [(key, at, value), (key, at, -value)]
    assert values_in(spark.read.parquet(sinks["results"])) == sorted(map(str, expected))
    assert [row.reason for row in spark.read.parquet(sinks["rejected_rows"]).collect()] == ["null time"]
    metrics = spark.read.parquet(str(progress)).orderBy("batch_id").collect()
    assert [(row.accepted, row.rejected, row.results, row.late) for row in metrics] == [
        (3, 0, 4, 0),
        (2, 1, 2, 0),
        (1, 0, 2, 0),
    ]
    assert not list((tmp_path / "checkpoint").glob("state/*"))

    # The same rows as a table have the same results.
    results_of_table = events(spark.read.parquet(str(folder)), key="k", at="at").apply(module(Signs, "v")).results()
    assert values_in(results_of_table) == sorted(map(str, expected))


def values_in(results: DataFrame) -> list[str]:
    """Return key, time and value of each result, as texts in order."""
    return sorted(str((row.k, row.lifetime.start, row.value)) for row in results.collect())


def test_an_operator_without_state_runs_in_one_stage(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.read.parquet(str(write_batches(tmp_path, FIRST_BATCHES)))
    results = events(rows, key="k", at="at").apply(module(Signs, "v")).results()
    assert "Exchange" not in results._jdf.queryExecution().executedPlan().toString()


def test_what_needs_buckets_is_refused_for_an_operator_without_state(spark: SparkSession, tmp_path: Path) -> None:
    df = read_stream(spark, write_batches(tmp_path, FIRST_BATCHES))
    query = events(df, key="k", at="at").apply(module(Signs, "v"))
    with pytest.raises(QueryError, match=r"waits for the end, and this query keeps no state"):
        query.write(results=str(tmp_path / "out"), checkpoint=tmp_path / "checkpoint", on_end="close")
    with pytest.raises(QueryError, match=r"'signs' keeps no state(.|\n)*with a query of its own"):
        one_pass(signs=query)
    with pytest.raises(QueryError, match=r"results of test\.signs by k have no watermark, as the input has none"):
        query.as_events()
