"""Inputs of tables mean what those of Spark mean: types, computed columns, unions, heartbeats, changelogs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pytest

from muntin import tumbling
from muntin_engine import EventStream, events, final_rows, fold, module, net_changes, union
from muntin_engine.backends.local.frames.local_frame import opened
from tests.engine.backends.local.column_types import COLUMNS
from tests.engine.backends.local.results.test_local_changelogs import changelog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly

NOT_ON_SPARK = frozenset(
    {
        *("uint8", "uint16", "uint32", "uint64", "float16", "list", "list of float16", "struct", "date64"),
        *("string_view", "binary_view", "dictionary", "dictionary of numbers", "list of dictionary", "run ends"),
        *("decimal32", "decimal256", "duration[ns]"),
    }
)
"""The columns that Spark makes no DataFrame of, when it is given Arrow data; Parquet files have some of them."""

RIDES = pa.table(
    {
        "k": ["a", "a", "b", "a", "b", None],
        "at": [1, 5, 7, 1, 7, 20],
        "id": [1, 2, 3, 1, 3, None],
        "change": ["insert", "insert", "insert", "retract", "retract", "punctuate"],
        "km": [4.0, 0.0, 8.0, 4.0, None, None],
        "n": pa.array([1, 5, 2, 1, None, 0], pa.int32()),
        "area": ["north", "south", "north", None, None, None],
    }
)
CARS = pa.table({"k": ["a", "b"], "t": [6, 30], "id": [9, 8], "km": [1.0, 2.0], "n": [3, 4], "fuel": ["gas", None]})
# The second beat is of no area, so of all.
BEATS = pa.table({"at": [3, 40], "area": ["north", None]})


def rows_of(table: Any) -> list[str]:
    """Return the rows of an Arrow table in order, each as text."""
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - NOT_ON_SPARK))
def test_a_column_has_the_values_that_spark_reads(spark: SparkSession, name: str) -> None:
    table = pa.table({"x": COLUMNS[name].column})
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")  # times without a zone stay without one
    try:
        on_spark = spark.createDataFrame(table).toArrow()
    finally:
        spark.conf.unset("spark.sql.timestampType")
    rows = pa.table(opened(table))
    assert rows["x"].to_pylist() == on_spark["x"].to_pylist()


Make: TypeAlias = Callable[[pa.Table], Any]
"""Makes a frame of a table: the table itself, or a DataFrame of Spark's."""


def rides(frame: Any) -> EventStream:
    return events(
        frame, key="k", at="at", id="id", change="change", source="area", sources=["north", "south"], watermark=2
    )


def cars(frame: Any) -> EventStream:
    return events(frame, key="k", at="t", id="id")


def rides_with_columns(make: Make) -> EventStream:
    return rides(make(RIDES)).with_columns(each="km / n", N="n * 2").select("each", "N")


def rides_and_cars(make: Make) -> EventStream:
    return union(rides=rides(make(RIDES)).where("km > 1"), cars=cars(make(CARS)))


def beating_rides_and_cars(make: Make) -> EventStream:
    """Return a union, in which the rides have a heartbeat for all areas, and one for the area that a beat names."""
    beats = make(BEATS)
    beating_for_all_areas = rides(make(RIDES)).with_heartbeat(beats, at="at", delay=1)
    beating_rides = beating_for_all_areas.with_heartbeat(beats, at="at", source="area")
    return union(rides=beating_rides, cars=cars(make(CARS)))


STREAMS: tuple[Callable[[Make], EventStream], ...] = (rides_with_columns, rides_and_cars, beating_rides_and_cars)


def the_table(table: pa.Table) -> pa.Table:
    return table


@pytest.mark.parametrize("stream_of", STREAMS)
@pytest.mark.parametrize("emit", ["final", "eager"])
def test_events_of_streams_of_tables_and_their_columns_are_those_of_spark(
    spark: SparkSession, stream_of: Callable[[Make], EventStream], emit: str
) -> None:
    local = stream_of(the_table).to_query(emit=emit)
    on_spark = stream_of(spark.createDataFrame).to_query(emit=emit)

    local_results: Any = local.results()
    spark_results = on_spark.results().toArrow()
    assert local_results.schema.names == spark_results.schema.names
    assert local_results.schema.types == spark_results.schema.types
    assert rows_of(local_results) == rows_of(spark_results)

    assert rows_of(local.rejected_rows()) == rows_of(on_spark.rejected_rows().toArrow())
    assert rows_of(local.late_rows()) == rows_of(on_spark.late_rows().toArrow())


@pytest.mark.parametrize("stream_of", STREAMS)
def test_windows_of_streams_of_tables_are_those_of_spark(
    spark: SparkSession, stream_of: Callable[[Make], EventStream]
) -> None:
    def results_of(make: Make) -> Any:
        windows = stream_of(make).window(tumbling(10))
        return windows.aggregate(n=module("stats.count"), least=module("stats.min", "N")).results()

    assert rows_of(results_of(the_table)) == rows_of(results_of(spark.createDataFrame).toArrow())


def test_changelogs_add_up_to_what_they_do_on_spark(spark: SparkSession) -> None:
    table = changelog().drop_columns("batch")
    df = spark.createDataFrame(table)
    calls: list[Callable[[Any], Any]] = [
        lambda changes: fold(changes, key="key"),
        lambda changes: net_changes(changes, key="key"),
        lambda changes: final_rows(changes, 50, key="key"),
    ]
    for call in calls:
        local = call(table)
        on_spark = call(df).toArrow()
        assert local.schema.names == on_spark.schema.names
        assert rows_of(local) == rows_of(on_spark)
