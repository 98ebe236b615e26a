"""A stream operator on Spark: over a table, and a query over its output. Streams are in tests/rows/test_on_spark."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin import PolicyError, QueryError, StreamOperator, tumbling
from muntin_engine import events, module
from tests.spark.running import collect

SCHEMA = pa.schema([("at", pa.int64()), ("key", pa.string()), ("x", pa.int64())])


class Quiet(StreamOperator[int | None, dict[str, int], int]):
    """The last value where none has come for five ticks."""

    name, version = "operators.quiet", "1"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_event(self, state: dict[str, int], payload: int | None, time: int) -> None:
        state |= {"last": time, "value": -1 if payload is None else payload}

    def next_time(self, state: dict[str, int]) -> int:
        return state["last"] + 5

    def on_time(self, state: dict[str, int], time: int) -> Iterable[int]:
        value = state["value"]
        state.clear()
        return [value]

    def is_empty(self, state: dict[str, int]) -> bool:
        return not state


def table(*rows: tuple[int, str, int | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def test_a_table_is_followed_to_its_end_and_the_output_is_the_input_of_another_query(spark: SparkSession) -> None:
    stream = events(spark.createDataFrame(table((3, "a", 3), (1, "a", 1), (9, "b", None))), key="key", at="at")
    quiet = stream.apply(module(Quiet, "x"))
    assert quiet.results().columns == ["key", "lifetime", "value"]
    assert "lag         none" in quiet.explain()
    totals = quiet.as_events(key="key").window(tumbling(10)).aggregate(total=module("stats.sum", "value"))
    assert sorted((row["window"]["start"], row["key"], row["total"]) for row in collect(totals.results())) == [
        (0, "a", 3),
        (10, "b", -1),
    ]


def test_what_is_no_operator_of_streams_is_refused(spark: SparkSession) -> None:
    stream = events(spark.createDataFrame(table((3, "a", 3))), key="key", at="at")
    with pytest.raises(QueryError, match=r"stats\.count is an aggregate over windows, and no windows come before"):
        stream.apply(module("stats.count"))
    with pytest.raises(PolicyError, match=r"operators\.quiet 1 finds nothing in tumbling\(5\).*without windows"):
        stream.window(tumbling(5)).apply(module(Quiet, "x"))
    lasting = events(spark.createDataFrame(table((3, "a", 3))), key="key", start="at", end="x")
    with pytest.raises(QueryError, match="follows events at points in time, and these are events with an end"):
        lasting.apply(module(Quiet, "x"))
    assert lasting.to_points("start").apply(module(Quiet, "x")).plan.choice.evaluator == "event_by_event"
