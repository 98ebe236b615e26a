"""Queries over tables in this process: the rows of Spark, in a table of the kind of the input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from muntin import hopping, session, snapshot, tumbling
from muntin.errors import QueryError
from muntin.windows import WindowSpecification
from muntin_engine import EventStream, Query, events, expression, module
from tests.modules.members import Count, Members, Total

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def clock(hour: int, minute: int = 0) -> datetime:
    return datetime(2024, 5, 1, hour, minute, tzinfo=UTC)


INSTANT = pa.timestamp("us", "UTC")

# When rides leave, by station:
#   a   8:00 |x....x.....|9:00 ...x......|10:00
#   b   8:00 |......x....|9:00 ..........|10:00
RIDES = pa.table(
    {
        "station": ["a", "b", "a", "a", None],
        "leaves": pa.array([clock(8, 5), clock(8, 40), clock(8, 30), clock(9, 20), clock(9, 59)], INSTANT),
        "km": [1.0, 2.0, 4.0, None, 3.0],
        "riders": pa.array([1, 2, 3, 4, 5], pa.int32()),
        "bike": pa.array([{"kind": "cargo", "gears": 3}] * 4 + [None]),
    }
)

ROWS_BY_HOUR = [
    {"station": None, "window": {"start": clock(9), "end": clock(10)}, "n": 1, "km": 3.0},
    {"station": "a", "window": {"start": clock(8), "end": clock(9)}, "n": 2, "km": 5.0},
    {"station": "a", "window": {"start": clock(9), "end": clock(10)}, "n": 1, "km": None},
    {"station": "b", "window": {"start": clock(8), "end": clock(9)}, "n": 1, "km": 2.0},
]


def rides(frame: Any = RIDES, **arguments: Any) -> EventStream:
    """Return the events of a table of rides by station, with other arguments of events() where they are given."""
    return events(frame, **{"key": "station", "at": "leaves"} | arguments)


def by_hour(frame: Any) -> Query:
    """Return a query that counts rides and adds up their km, by station and hour."""
    return rides(frame).window(tumbling("1 hour")).aggregate(n=module(Count, "riders"), km=module(Total, "km"))


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a table of any kind in the order of their text, those without a station first."""
    rows: list[dict[str, Any]] = pa.table(table).to_pylist()
    return sorted(rows, key=place_of_row)


def place_of_row(row: dict[str, Any]) -> tuple[bool, str]:
    """Return what a row is sorted by."""
    window = row.get("window")
    if isinstance(window, dict):
        # Its fields are in another order where the oldest pandas and pyarrow made a table of dicts.
        row = {**row, "window": (window["start"], window["end"])}
    return row.get("station") is not None, repr(row)


def test_a_tumbling_window_has_the_rows_of_its_key_and_time() -> None:
    results: Any = by_hour(RIDES).results()
    assert results.schema == pa.schema(
        [
            ("station", pa.string()),
            ("window", pa.struct([("start", INSTANT), ("end", INSTANT)])),
            ("n", pa.int64()),
            ("km", pa.float64()),
        ]
    )
    assert rows_of(results) == ROWS_BY_HOUR


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        (pa.Table, RIDES),
        (pa.Table, pa.dataset.dataset(RIDES)),
        (pl.DataFrame, pl.DataFrame(RIDES)),
        (duckdb.DuckDBPyRelation, duckdb.from_arrow(RIDES)),
    ],
)
def test_a_result_is_of_the_kind_of_its_input(kind: type, frame: Any) -> None:
    results = by_hour(frame).results()
    assert isinstance(results, kind)
    assert rows_of(results) == ROWS_BY_HOUR


def test_a_lazy_frame_gives_a_lazy_frame() -> None:
    results: Any = by_hour(pl.DataFrame(RIDES).lazy()).results()
    assert isinstance(results, pl.LazyFrame)
    assert rows_of(results.collect()) == ROWS_BY_HOUR


def test_a_reader_is_read_once_and_when_the_query_runs() -> None:
    query = by_hour(pa.RecordBatchReader.from_batches(RIDES.schema, RIDES.to_batches(max_chunksize=2)))
    assert rows_of(query.results()) == ROWS_BY_HOUR


def test_nan_and_nat_of_pandas_are_null() -> None:
    results = by_hour(RIDES.to_pandas()).results()
    assert isinstance(results, pd.DataFrame)
    assert rows_of(pa.Table.from_pandas(results, preserve_index=False)) == ROWS_BY_HOUR


def test_whole_numbers_in_windows_of_results_in_pandas_stay_whole() -> None:
    large = 2**55 + 1  # a float has no such number
    table = pa.table({"low": [large, large], "high": [large + 2, None], "x": [1, 2]})
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    results: Any = (
        events(frame, start="low", end="high").window(snapshot()).aggregate(xs=module(Members, "x")).results()
    )
    windows = [(window["start"], window["end"]) for window in results["window"]]
    assert sorted(windows) == [(large, large + 2), (large + 2, None)]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_read_by_a_pattern_and_give_an_arrow_table(tmp_path: Path, ending: str) -> None:
    table = RIDES.drop_columns("bike")
    for number, part in enumerate((table.slice(0, 3), table.slice(3))):
        if ending == "csv":
            pyarrow.csv.write_csv(part, tmp_path / f"{number}.csv")
        else:
            pq.write_table(part, tmp_path / f"{number}.parquet")
    results = by_hour(str(tmp_path / f"*.{ending}")).results()
    assert isinstance(results, pa.Table)
    assert rows_of(results) == ROWS_BY_HOUR


def test_hopping_windows_overlap() -> None:
    query = rides().window(hopping("1 hour", "30 minutes")).aggregate(n=module(Count))
    rows_of_a = [row for row in rows_of(query.results()) if row["station"] == "a"]
    counts_by_start = [(row["window"]["start"], row["n"]) for row in rows_of_a]
    assert counts_by_start == [(clock(7, 30), 1), (clock(8), 2), (clock(8, 30), 2), (clock(9), 1)]


def test_a_session_ends_after_its_gap() -> None:
    query = rides().window(session("30 minutes")).aggregate(n=module(Count))
    sessions = [(row["station"], row["window"]["start"], row["n"]) for row in rows_of(query.results())]
    assert sessions == [
        (None, clock(9, 59), 1),
        ("a", clock(8, 5), 2),
        ("a", clock(9, 20), 1),
        ("b", clock(8, 40), 1),
    ]


#   x = 1  |---------|
#   x = 2       |---------|
#          0    5   10   15
def test_a_snapshot_has_the_events_that_live_at_a_time() -> None:
    table = pa.table({"low": [0, 5], "high": [10, 15], "x": [1, 2]})
    query = events(table, start="low", end="high").window(snapshot()).aggregate(xs=module(Members, "x"))
    assert rows_of(query.results()) == [
        {"window": {"start": 0, "end": 5}, "xs": [1]},
        {"window": {"start": 10, "end": 15}, "xs": [2]},
        {"window": {"start": 5, "end": 10}, "xs": [1, 2]},
    ]


def test_a_function_of_arrays_and_a_module_of_a_plugin_are_called_as_on_spark() -> None:
    windows = rides().window(tumbling("1 hour"))
    query = windows.aggregate(mean=module("stats.average", "km"), spread=module(np.ptp, "riders", returns=int))
    assert {(row["station"], row["mean"], row["spread"]) for row in rows_of(query.results())} == {
        (None, 3.0, 0),
        ("a", 2.5, 2),
        ("a", None, 0),
        ("b", 2.0, 0),
    }


def test_columns_are_names_paths_and_expressions() -> None:
    query = rides(key=["bike.kind", "riders % 2 = 0"], rows="riders < 5").where("km IS NOT NULL")
    results: Any = query.window(tumbling("1 day")).aggregate(total=module(Total, "km * 2")).results()
    assert results.schema.names == ["kind", "riders % 2 = 0", "window", "total"]
    assert {(row["kind"], row["riders % 2 = 0"], row["total"]) for row in results.to_pylist()} == {
        ("cargo", False, 10.0),
        ("cargo", True, 4.0),
    }


def test_the_entries_of_a_map_are_a_key_as_the_error_for_the_map_advises() -> None:
    # The first two maps have the same entries in another order.
    maps = pa.array([[("a", 1), ("b", 2)], [("b", 2), ("a", 1)], None], pa.map_(pa.string(), pa.int64()))
    frame = pa.table({"m": maps, "at": [1, 2, 3]})
    with pytest.raises(QueryError, match=r"entries, .*: key='array_sort\(map_entries\(m\)\)'"):
        events(frame, key="m", at="at").window(tumbling(10)).aggregate(n=module("stats.count"))

    advised_key = "array_sort(map_entries(m))"
    results = events(frame, key=advised_key, at="at").window(tumbling(10)).aggregate(n=module("stats.count")).results()
    entries = [{"key": "a", "value": 1}, {"key": "b", "value": 2}]
    counts = [(row[advised_key], row["n"]) for row in results.to_pylist()]
    assert sorted(counts, key=str) == [(None, 1), (entries, 2)]


def test_columns_are_read_in_the_types_that_spark_has() -> None:
    table = pa.table(
        {
            # the last nanosecond before 10 o'clock in Berlin, which is 8 o'clock in UTC
            "at": pa.array([1_714_550_399_999_999_999], pa.timestamp("ns", "Europe/Berlin")),
            "k": pa.array(["a"]).dictionary_encode(),
            "text": pa.array(["b"], pa.large_string()),
            "x": pa.array([7], pa.uint32()),
            "y": pa.array([[1]], pa.list_(pa.uint8(), 1)),
        }
    )
    windows = rides(table, key=["k", "text"], at="at").window(tumbling("1 hour"))
    results: Any = windows.aggregate(x=module("stats.max", "x"), y=module("stats.collect_list", "y")).results()
    assert results.schema.field("x").type == pa.int64()
    window = {"start": clock(7), "end": clock(8)}
    assert rows_of(results) == [{"k": "a", "text": "b", "window": window, "x": 7, "y": [[1]]}]


def test_rows_without_a_time_are_rejected_and_say_why(caplog: pytest.LogCaptureFixture) -> None:
    table = pa.table({"at": [1, None], "x": [1, 2]})
    query = events(table, at="at").window(tumbling(10)).aggregate(n=module(Count))
    assert rows_of(query.results()) == [{"window": {"start": 0, "end": 10}, "n": 1}]

    assert [record.name for record in caplog.records] == ["muntin.rejected"]
    assert caplog.messages[0].startswith("muntin: 1 of 2 rows of the static input were rejected: 1 null time\n")

    (rejected,) = rows_of(query.rejected_rows())
    assert rejected["reason"] == "null time"
    assert rejected["message"] == "its time is null"
    assert rows_of(query.late_rows()) == []


def test_rows_that_a_module_skips_are_counted_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def pairs(xs: list[int], ys: list[float]) -> int:
        return len(xs)

    table = pa.table({"at": [1, 11, 21], "x": [None, 4, 5], "y": [1.0, 2.0, 3.0]})
    windows = events(table, at="at").window(tumbling(10))
    windows.aggregate(n=module(pairs, "x", "y", returns=int)).results()
    assert [record.name for record in caplog.records] == ["muntin.skipped"]
    assert "1 of 3 rows of the static input were skipped by function.pairs" in caplog.text


def test_values_that_no_column_holds_are_null_and_counted_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def large(values: list[int]) -> int:
        return 2**70 if values == [4] else 0

    table = pa.table({"at": [1, 11], "x": [4, 5]})
    results = events(table, at="at").window(tumbling(10)).aggregate(large=module(large, "x")).results()
    assert [row["large"] for row in rows_of(results)] == [None, 0]
    assert [record.name for record in caplog.records] == ["muntin.overflows"]
    assert "1 values of the results are too large for their column 'large'" in caplog.text


def test_results_are_selected() -> None:
    query = by_hour(RIDES).select("station", start="window.start", each="km / n").where("n > 1")
    assert rows_of(query.results()) == [{"station": "a", "start": clock(8), "each": 2.5}]


def test_the_events_of_two_tables_are_joined() -> None:
    left = pa.table({"k": ["a", "b"], "start": [0, 0], "end": [10, 10], "x": [1, 2]})
    right = pa.table({"k": ["a", "a"], "start": [5, 20], "end": [15, 30], "y": ["in", "out"]})
    left_events = events(left, key="k", start="start", end="end")
    right_events = events(right, key="k", start="start", end="end")
    query = left_events.join(right_events, left_columns="x", right_columns="y")
    assert rows_of(query.results()) == [{"k": "a", "lifetime": {"start": 5, "end": 10}, "x": 1, "y": "in"}]


def test_a_condition_may_be_a_column_in_a_query_with_a_state() -> None:
    """The name of the column is in the identity of the query, which a state has."""
    table = pa.table({"at": [1, 2], "id": [1, 2], "change": ["insert"] * 2, "is_kept": [True, False], "x": [1, 2]})
    stream = events(table, at="at", id="id", change="change").where("is_kept")
    assert [row["x"] for row in rows_of(stream.results())] == [1]


def test_a_join_that_reads_no_column_of_a_side_can_be_asked_for_late_rows() -> None:
    left = events(pa.table({"start": [0], "end": [10], "x": [1]}), start="start", end="end")
    right = events(pa.table({"start": [5], "end": [15]}), start="start", end="end")
    query = left.join(right, left_columns="x")
    assert rows_of(query.results()) == [{"lifetime": {"start": 5, "end": 10}, "x": 1}]
    assert rows_of(query.late_rows()) == []


def test_results_are_printed_in_the_order_of_their_windows(capsys: pytest.CaptureFixture[str]) -> None:
    by_hour(RIDES).select("station", "n").show(3)
    printed = capsys.readouterr().out
    lines_of_rows = printed.splitlines()[4:7]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines_of_rows]
    assert cells == [["a", "2"], ["b", "1"], ["NULL", "1"]]  # of the windows at 8, 8 and 9 o'clock


def count_by_key(column: pa.Array) -> Query:
    """Return a query over one row, whose key is in the given column."""
    table = pa.table({"at": [1], "k": column})
    return rides(table, key="k", at="at").window(tumbling(5)).aggregate(n=module(Count))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: rides(key="statoin"),
            "key reads 'statoin', and the input has no such column",
        ),
        (lambda: rides(rows="km + 1"), r"rows\(km \+ 1\) is of type double\n  expected: a condition"),
        (lambda: rides(at="station").window(tumbling(5)).aggregate(n=module(Count)), "the time column station is of"),
        (lambda: rides(at="uuid() IS NULL").window(tumbling(5)).aggregate(n=module(Count)), "without Spark"),
        (lambda: rides("no_such_*.parquet"), "there is no file 'no_such_\\*.parquet'"),
        (lambda: events(pa.table({"a": [1]})["a"], at="t"), "a ChunkedArray is no table"),
        (
            lambda: count_by_key(pa.array([1], pa.time64("us"))),
            r"Arrow column 'k' is of type time64\[us\], which",
        ),
        (lambda: count_by_key(pa.nulls(1)), "Arrow column 'k' is of type null, which has no meaning"),
        (lambda: by_hour(RIDES).write(checkpoint="c", results="r"), r"a table has an end[^$]*query\.results\(\)"),
    ],
)
def test_what_cannot_be_done_is_said(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        make()


def test_a_column_of_sparks_is_refused_with_what_to_write() -> None:
    class Column:
        isNotNull = None  # a method by which columns of Spark's are known

        def __str__(self) -> str:
            return "Column<'km'>"

    with pytest.raises(QueryError, match=r"key reads Column<'km'>, a column of Spark's(.|\n)*as text in SQL"):
        rides(key=Column())


def test_a_query_in_this_process_imports_no_pyspark() -> None:
    code = (
        "import sys, pyarrow as pa; from muntin import tumbling; from muntin_engine import events, module\n"
        "query = events(pa.table({'at': [1]}), at='at').window(tumbling(10)).aggregate(n=module('stats.count'))\n"
        "print(query.results().to_pylist(), 'pyspark' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[{'window': {'start': 0, 'end': 10}, 'n': 1}] False"


def test_an_expression_is_another_column_than_the_one_that_its_text_names() -> None:
    table = pa.table({"at": [1, 2], "a": [10, 20], "b": [1, 2], "a-b": [1000, 2000]})
    calls = {"named": module(Total, "a-b"), "computed": module(Total, expression("a-b"))}
    (row,) = events(table, at="at").window(tumbling(10)).aggregate(**calls).results().to_pylist()
    assert row["named"] == 1000 + 2000
    assert row["computed"] == (10 - 1) + (20 - 2)


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (
            "query.toPandas()",
            "the results are a table of the input's kind, with the methods of its library: query.results()",
        ),
        ("query.writeStream", "the input is a table, which has an end: query.results() are all results"),
        ("stream.writeStream", "has an end: .to_query().results() are the events themselves, or .window(...) first"),
        ("stream.filter('km > 2')", "write .where('km > 2')"),
    ],
)
def test_words_of_sparks_are_answered_with_what_is_right_for_tables(call: str, advice: str) -> None:
    stream = rides(RIDES)
    query = stream.window(tumbling("1 hour")).aggregate(n=module(Count))
    with pytest.raises(AttributeError) as missing:
        eval(call, {"stream": stream, "query": query})
    assert advice in str(missing.value)


@pytest.mark.nightly
@pytest.mark.parametrize("window", [tumbling("1 hour"), hopping("1 hour", "10 minutes"), session("20 minutes")])
def test_results_over_random_rows_are_those_of_spark(spark: SparkSession, window: WindowSpecification) -> None:
    random = np.random.default_rng(5)
    count = 2_000
    # Rows of one day, a tenth of them without km.
    table = pa.table(
        {
            "station": random.integers(0, 9, count),
            "leaves": pa.array(random.integers(0, 86_400_000_000, count), pa.timestamp("us", "UTC")),
            "km": pa.array(np.round(random.random(count), 3), mask=random.random(count) < 0.1),
            "riders": pa.array(random.integers(1, 5, count), pa.int32()),
        }
    )

    def query_over(frame: Any) -> Query:
        windows = rides(frame).window(window)
        return windows.aggregate(mean=module("stats.average", "km"), all=module(Members, "riders"))

    on_spark = query_over(spark.createDataFrame(table)).results().toArrow()
    assert rows_of(query_over(table).results()) == rows_of(on_spark)
