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
from muntin_engine import events, module
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
    """Return the rows of a frame that fulfil a condition, with expressions of its columns by their new names."""
    opened_frame = OpenFrame(frame)
    expressions = {name: translated(text, opened_frame.schema) for name, text in columns.items()}
    condition_sql = None if condition is None else translated(condition, opened_frame.schema).sql
    return LocalRows(opened_frame, expressions, condition_sql)


def table_of(rows: LocalRows) -> pa.Table:
    """Read rows, and return them as one table."""
    return pa.Table.from_batches(rows.batches(), rows.schema)


def addresses(table: pa.Table) -> list[int]:
    """Return where the memory of the columns lies: equal addresses are memory that was not copied."""
    places: list[int] = []
    for column in table.columns:
        places += [buffer.address for buffer in column.chunk(0).buffers() if buffer is not None]
    return places


def test_columns_of_a_table_in_memory_are_handed_over_as_they_are() -> None:
    rows = rows_of(ROWS, start="at", k0="k", i0="x", i1="n", i2="is_late")
    assert addresses(table_of(rows)) == addresses(ROWS.select(["at", "k", "x", "n", "is_late"]))


@pytest.mark.parametrize("frame", [ROWS, ROWS.slice(1, 2), ROWS.slice(0, 0), pa.concat_tables([ROWS, ROWS.slice(2)])])
def test_rows_are_the_same_whether_the_table_or_duckdb_holds_them(frame: pa.Table) -> None:
    names = {"start": "at", "k0": "k", "i0": "x", "i1": "n", "i2": "is_late", "i3": "x"}
    held_in_memory = table_of(rows_of(frame, **names))
    true_for_all_rows = "coalesce(n, 0) < 100"  # a condition is computed by DuckDB
    held_by_duckdb = table_of(rows_of(frame, true_for_all_rows, **names))
    assert str(held_by_duckdb.to_pydict()) == str(held_in_memory.to_pydict())  # text, as a NaN is not equal to itself
    assert held_by_duckdb.schema == held_in_memory.schema


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
def test_a_column_that_has_to_be_computed_or_cast_is_read_by_duckdb_with_all_others(
    frame: pa.Table, column: str
) -> None:
    rows = rows_of(frame, i0="x", i1=column)
    assert set(addresses(table_of(rows))).isdisjoint(addresses(frame.select(["x"])))


def test_a_column_of_pandas_that_has_got_another_type_is_cast_to_that_of_the_plan() -> None:
    frame = pd.DataFrame({"at": [1, 2], "n": [1, 2]})
    rows = rows_of(frame, start="at", i0="n")
    frame["n"] = frame["n"].astype("int32")
    column = table_of(rows).column("i0")
    assert column.type == pa.int64()
    assert column.to_pylist() == [1, 2]


def test_a_column_of_polars_that_has_got_another_type_is_cast_to_that_of_the_plan() -> None:
    frame = pl.DataFrame({"at": [1, 2], "n": [1, 2]})
    rows = rows_of(frame, start="at", i0="n")
    frame.replace_column(1, frame["n"].cast(pl.Int32))
    column = table_of(rows).column("i0")
    assert column.type == pa.int64()
    assert column.to_pylist() == [1, 2]


def test_batches_have_as_many_rows_as_are_wanted_or_as_few_as_their_bytes_demand() -> None:
    table = pa.table({"at": np.arange(1000)})
    rows = rows_of(table, start="at")
    assert [len(batch) for batch in rows.batches(400)] == [400, 400, 200]
    # A row has eight bytes and counts as nine; a batch may have a row more than 900 // 9.
    with patch.object(local_rows, "BATCH_BYTES", 900):
        assert {len(batch) for batch in rows.batches(400)} == {101, 91}


def test_the_results_of_a_table_do_not_depend_on_its_chunks() -> None:
    count = 300_000
    table = pa.table({"k": np.arange(count) % 7, "at": np.arange(count), "x": np.ones(count)})
    chunked_table = pa.Table.from_batches(table.to_batches(max_chunksize=70_000))
    assert averages(chunked_table).equals(averages(table))


def averages(table: pa.Table) -> pa.Table:
    """Return the averages of `x` by key in windows of ten, in the order of keys and windows."""
    windows = events(table, key="k", at="at").window(tumbling(10))
    results: Any = windows.aggregate(x=module("stats.average", "x")).results()
    flat_results = results.flatten().rename_columns(["k", "start", "end", "x"])
    return flat_results.sort_by([("k", "ascending"), ("start", "ascending")])


def test_results_stay_as_they_are_when_the_memory_of_the_table_changes() -> None:
    k = np.array([1, 2])
    x = np.array([1.0, 2.0])
    table = pa.table({"k": k, "at": [1, 2], "x": x})  # Arrow holds the arrays themselves
    passed_on: Any = events(table, key="k", at="at").to_query().results()
    highest: Any = events(table, key="k", at="at").window(tumbling(1)).aggregate(x=module("stats.max", "x")).results()

    k[:] = 7
    x[:] = 7
    assert table.column("x").to_pylist() == [7.0, 7.0]

    for results in (passed_on, highest):
        assert sorted(results.column("k").to_pylist()) == [1, 2]
        assert sorted(results.column("x").to_pylist()) == [1.0, 2.0]
