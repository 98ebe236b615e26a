"""The rows that a query reads: those of a table in memory as it holds them, others through DuckDB, with one meaning."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from muntin import tumbling
from muntin_engine import Query, events, module
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.frames.local_frame import OpenFrame
from muntin_engine.backends.local.inputs import local_rows
from muntin_engine.backends.local.inputs.local_rows import LocalRows

LAST_MICROSECOND = 253_402_300_799_999_999
"""The last one of the year 9999."""

ROWS = pa.table(
    {
        "k": ["a", None, "b\0", "a"],
        "at": pa.array([1, 2, LAST_MICROSECOND, None], pa.timestamp("us", "UTC")),
        "x": [1.0, float("nan"), -0.0, None],
        "n": pa.array([1, None, -(2**31), 7], pa.int32()),
        "is_late": [True, None, False, True],
    }
)


def rows_of(frame: Any, condition: str | None = None, **columns: str) -> LocalRows:
    opened_frame = OpenFrame(frame)
    expressions = {name: translated(text, opened_frame.schema) for name, text in columns.items()}
    condition_sql = None if condition is None else translated(condition, opened_frame.schema).sql
    return LocalRows(opened_frame, expressions, condition_sql)


def table_of(rows: LocalRows) -> pa.Table:
    return pa.Table.from_batches(rows.batches(), rows.schema)


def addresses(table: pa.Table) -> list[int]:
    return [buffer.address for column in table.columns for buffer in column.chunk(0).buffers() if buffer is not None]


def test_columns_of_a_table_in_memory_are_handed_over_as_they_are() -> None:
    rows = rows_of(ROWS, start="at", k0="k", i0="x", i1="n", i2="is_late")
    assert addresses(table_of(rows)) == addresses(ROWS.select(["at", "k", "x", "n", "is_late"]))


@pytest.mark.parametrize("frame", [ROWS, ROWS.slice(1, 2), ROWS.slice(0, 0), pa.concat_tables([ROWS, ROWS.slice(2)])])
def test_rows_are_the_same_whether_the_table_or_duckdb_holds_them(frame: pa.Table) -> None:
    names = {"start": "at", "k0": "k", "i0": "x", "i1": "n", "i2": "is_late", "i3": "x"}
    rows = rows_of(frame, **names)
    projected = rows_of(frame, "coalesce(n, 0) < 100", **names)
    assert str(table_of(rows).to_pydict()) == str(table_of(projected).to_pydict())  # a NaN is not equal to itself
    assert table_of(rows).schema == table_of(projected).schema


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (ROWS, "n + 1"),
        (ROWS.set_column(3, "n", pa.array([1, 2, 3, 4], pa.uint16())), "n"),
        (ROWS.set_column(3, "n", pa.array([1, 2, 3, 4], pa.timestamp("ns"))), "n"),
        (ROWS.set_column(3, "n", pa.array([[1], [], None, [2]])), "n"),
        (ROWS.set_column(3, "n", pa.array([1, 2, 3, 4], pa.duration("us"))), "n"),
    ],
    ids=["computed", "unsigned", "nanoseconds", "nested", "length"],
)
def test_what_a_reading_changes_is_read_by_duckdb(frame: pa.Table, column: str) -> None:
    rows = rows_of(frame, i0="x", i1=column)
    assert not set(addresses(table_of(rows))) & set(addresses(frame.select(["x"])))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_frame_whose_column_has_got_another_type_is_cast_as_planned(make: type) -> None:
    frame = make({"at": [1, 2], "n": [1, 2]})
    rows = rows_of(frame, start="at", i0="n")
    assert table_of(rows).column("i0").to_pylist() == [1, 2]
    smaller = frame.astype({"n": "int32"})["n"] if make is pd.DataFrame else frame["n"].cast(pl.Int32)
    if make is pd.DataFrame:
        frame["n"] = smaller
    else:
        frame.replace_column(1, smaller)
    assert table_of(rows).column("i0").type == pa.int64()


def test_batches_have_as_many_rows_as_are_wanted_or_as_few_as_their_bytes_demand() -> None:
    table = pa.table({"at": np.arange(1000)})
    rows = rows_of(table, start="at")
    assert [len(batch) for batch in rows.batches(400)] == [400, 400, 200]
    with patch.object(local_rows, "BATCH_BYTES", 900):
        assert {len(batch) for batch in rows.batches(400)} == {101, 91}


def averages(table: pa.Table) -> Query:
    return events(table, key="k", at="at").window(tumbling(10)).aggregate(x=module("stats.average", "x"))


def test_many_rows_of_a_table_reach_a_map_task_at_once() -> None:
    table = pa.table({"k": np.arange(300_000) % 7, "at": np.arange(300_000), "x": np.ones(300_000)})
    results: Any = averages(table).results()
    by_chunks: Any = averages(pa.Table.from_batches(table.to_batches(max_chunksize=70_000))).results()
    order = [("k", "ascending"), ("window", "ascending")]
    names = ["k", "window", "end", "x"]
    flat = results.flatten().rename_columns(names)
    flat_by_chunks = by_chunks.flatten().rename_columns(names)
    assert flat.sort_by(order).equals(flat_by_chunks.sort_by(order))


def test_results_stay_as_they_are_when_the_memory_of_the_table_changes() -> None:
    k = np.array([1, 2])
    x = np.array([1.0, 2.0])
    table = pa.table({"k": k, "at": [1, 2], "x": x})  # Arrow holds the arrays themselves
    rows: Any = events(table, key="k", at="at").to_query().results()
    highest: Any = events(table, key="k", at="at").window(tumbling(1)).aggregate(x=module("stats.max", "x")).results()
    k[:] = 7
    x[:] = 7
    assert table.column("x").to_pylist() == [7.0, 7.0]
    for results in (rows, highest):
        assert sorted(results.column("k").to_pylist()) == [1, 2]
        assert sorted(results.column("x").to_pylist()) == [1.0, 2.0]
