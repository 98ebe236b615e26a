"""Two streams that meet, on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events
from muntin_engine.api.query import WindowedStream
from muntin_engine.api.request import ModuleCall
from muntin_engine.exchange.shuffle import from_blob
from muntin_engine.spark.pipeline import evaluated
from tests.inputs.meeting import Codes, Kilometres
from tests.inputs.streams import Result, Ride, Row, Toll, expected, of
from tests.spark.running import Outcome, collect, read_stream, run, write_batches

RIDES = pa.schema(
    [
        ("change", pa.string()),
        ("key", pa.string()),
        ("id", pa.int64()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("new_end", pa.int64()),
        ("km", pa.float64()),
    ]
)
TOLLS = pa.schema([(name, pa.int64() if name == "at" else pa.string()) for name in Toll._fields])

LATE = Toll("insert", "b", "late", 3, "y", "s")
REJECTED = Ride("insert", "b", None, 30, 40, km=1.0)
HISTORY: Sequence[Sequence[Row]] = (
    (
        Ride("insert", "a", 1, 2, 14, km=1.5),
        Ride("insert", "b", 2, 4, 40, km=2.0),
        Toll("insert", "a", "1", 4, "x", "n"),
        Ride("punctuate", start=20),
        Toll("punctuate", at=5),
    ),
    (
        Ride("revise", "b", 2, 4, new_end=25),
        REJECTED,
        Toll("insert", "c", "2", 8, "y", "s"),
        LATE,
        Toll("punctuate", at=10),
    ),
    (
        Toll("insert", "a", "3", 12, "z", "n"),
        Toll("retract", "c", "2", 8, gate="s"),  # late by now
        Toll("insert", "b", "4", 28, "w", "n"),
        Toll("punctuate", at=30),
        Ride("punctuate", start=30),
    ),
    (Ride("close"), Toll("close")),
)


def tables(kind: type[Any], schema: pa.Schema) -> list[pa.Table]:
    """Return the rows of one input, a table for each micro-batch."""
    return [pa.Table.from_pylist([row._asdict() for row in of(kind, batch)], schema) for batch in HISTORY]


def query(rides: DataFrame, tolls: DataFrame) -> Query:
    """Return a query of both, made as joins will make it."""
    ride_events = events(
        rides, key="key", id="id", start="start", end="end", change="change", new_end="new_end", buckets=2
    )
    toll_events = events(tolls, key="key", id="id", at="at", change="change", source="gate", sources=["n", "s"])
    beside = (replace(toll_events, name="tolls"),)
    stream = WindowedStream(replace(ride_events, name="rides"), tumbling(10), beside=beside)
    return stream.aggregate(km=ModuleCall(Kilometres, ("km",)), codes=ModuleCall(Codes, ("code",), side=1))


def results(outcome: Outcome) -> list[Result]:
    rows = chain.from_iterable(
        from_blob(blob["data"]).to_pylist() for blob in outcome.rows if blob["stream"] == "results"
    )
    return sorted(((row["key"], row["window"]["start"], row["km"], row["codes"]) for row in rows), key=str)


def test_two_streams_are_read_evaluated_and_gone_on_with_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rides, tolls, checkpoint = tables(Ride, RIDES), tables(Toll, TOLLS), tmp_path / "checkpoint"
    legal = [row for batch in HISTORY for row in batch if row not in (LATE, REJECTED) and row.change != "retract"]

    def go_on(count: int) -> Outcome:
        folders = [write_batches(tmp_path / name, given[:count]) for name, given in (("r", rides), ("t", tolls))]
        both = query(*(read_stream(spark, folder) for folder in folders))
        return run(evaluated(both), checkpoint)

    first, rest = go_on(2), go_on(4)
    assert results(first) == [result for result in expected(legal) if result[1] < 10]
    assert sorted(results(first) + results(rest), key=str) == expected(legal)
    assert sum(outcome.total("rows_tolls.n") for outcome in (first, rest)) == 3
    assert sum(outcome.total("late_tolls.s") for outcome in (first, rest)) == 2
    refused = [from_blob(blob["data"]).to_pylist() for blob in first.rows if blob["stream"] in ("late", "rejected")]
    assert sorted((row["input"], row["reason"]) for row in chain.from_iterable(refused)) == [
        ("rides", "null id"),
        ("tolls", "late"),
    ]


def test_two_static_inputs_meet_and_their_rejected_rows_name_the_input(spark: SparkSession) -> None:
    rides, tolls = pa.concat_tables(tables(Ride, RIDES)), pa.concat_tables(tables(Toll, TOLLS))
    both = query(spark.createDataFrame(rides), spark.createDataFrame(tolls))
    legal = [row for batch in HISTORY for row in batch if row != REJECTED]
    found = [(row["key"], row["window"]["start"], row["km"], row["codes"]) for row in collect(both.results())]
    assert sorted(found, key=str) == expected(legal)
    assert [(row["input"], row["reason"]) for row in collect(both.rejected())] == [("rides", "null id")]


def test_a_stream_and_a_static_input_do_not_meet(spark: SparkSession, tmp_path: Path) -> None:
    folder = write_batches(tmp_path / "rides", tables(Ride, RIDES)[:1])
    with pytest.raises(QueryError, match="all streams, or all static DataFrames"):
        query(read_stream(spark, folder), spark.createDataFrame(tables(Toll, TOLLS)[0]))
