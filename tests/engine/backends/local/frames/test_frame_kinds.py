"""Tables of each library: every type that they have is read as Spark reads it, or refused where it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, module
from muntin_engine.backends.local.frames.local_frame import opened
from muntin_engine.backends.local.frames.pandas_frame import PandasFrame
from tests.engine.backends.local.column_types import COLUMNS, NOT_IN_POLARS, ColumnCase

MIXED_ZONES = [datetime.fromisoformat("2024-05-01"), datetime(2024, 5, 1, tzinfo=UTC)]
TIMES = pa.array([1, 2])
"""The times of two rows."""


def read(frame: Any) -> pa.Table:
    """Return a table of any kind as a query reads it, in Arrow's types."""
    return pa.table(opened(frame))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_arrow_is_read_in_the_type_that_spark_has(name: str) -> None:
    case = COLUMNS[name]
    table = pa.table({"x": case.column})
    for frame in (table, pa.RecordBatchReader.from_batches(table.schema, table.to_batches())):
        rows = read(frame)
        assert rows.schema.field("x").type == case.read_type
        assert rows["x"].to_pylist() == [case.read_value, None]


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - NOT_IN_POLARS))
def test_a_column_of_polars_is_read_as_that_of_arrow(name: str) -> None:
    case = COLUMNS[name]
    frame: Any = pl.from_arrow(pa.table({"x": case.column}))
    expected = case.read_value
    if name == "date64":  # which is a time to Polars
        expected = datetime.fromisoformat("1960-02-29")
    assert read(frame)["x"].to_pylist() == [expected, None]
    assert read(frame.lazy()).equals(read(frame))


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_pandas_with_arrow_types_is_read_as_that_of_arrow(name: str) -> None:
    case = COLUMNS[name]
    frame = pa.table({"x": case.column}).to_pandas(types_mapper=pd.ArrowDtype)
    assert read(frame)["x"].to_pylist() == [case.read_value, None]
    assert read(frame).schema.field("x").type == case.read_type


@pytest.mark.parametrize(
    ("column", "data_type", "values"),
    [
        (pd.Series([1.5, np.nan]), pa.float64(), [1.5, None]),
        (pd.Series([1, pd.NA], dtype="Int64"), pa.int64(), [1, None]),
        (pd.Series([1, pd.NA, np.nan], dtype=object), pa.int64(), [1, None, None]),
        (pd.Series(["a", pd.NA], dtype="string"), pa.string(), ["a", None]),
        (pd.Series(["a", np.nan], dtype=object), pa.string(), ["a", None]),
        (pd.Series(["a", None], dtype="category"), pa.string(), ["a", None]),
        (pd.Series([2, None], dtype="category"), pa.int64(), [2, None]),
        (pd.Series([True, None], dtype=object), pa.bool_(), [True, None]),
        (pd.Series([date(2024, 1, 1), None]), pa.date32(), [date(2024, 1, 1), None]),
        (pd.Series([Decimal("1.5"), None]), pa.decimal128(2, 1), [Decimal("1.5"), None]),
        (
            pd.Series(["2024-05-01", pd.NaT], dtype="datetime64[s]"),
            pa.timestamp("us"),
            [datetime.fromisoformat("2024-05-01"), None],
        ),
        (pd.Series([None, np.nan], dtype=object), pa.string(), [None, None]),
        (pd.Series([], dtype=object), pa.string(), []),
        (pd.Series([np.float16(1.5)]), pa.float32(), [1.5]),
        (pd.Series([{"a": 1}, None]), pa.struct([("a", pa.int64())]), [{"a": 1}, None]),
    ],
)
def test_the_nulls_of_pandas_are_nulls(column: Any, data_type: pa.DataType, values: list[Any]) -> None:
    rows = read(pd.DataFrame({"x": column}))
    assert rows.schema.field("x").type == data_type
    assert rows["x"].to_pylist() == values


def test_a_column_of_results_in_pandas_has_a_nullable_type_where_its_nulls_need_one() -> None:
    rows = pa.table(
        {
            "whole": [1, 2],
            "whole with null": [1, None],
            "float with null": [1.5, None],
            "float with nan and null": [math.nan, None],
        }
    )
    frame = PandasFrame().result(rows)
    assert list(map(str, frame.dtypes)) == ["int64", "Int64", "float64", "Float64"]
    # NaN is no null there, and is none when the results are read again.
    assert list(frame["float with nan and null"].isna()) == [False, True]
    assert read(frame)["float with nan and null"].is_valid().to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1], "k": ["a"]}).set_index("k"), "'k' is its index: frame.reset_index() makes"),
        (pd.DataFrame({"x": [1], "y": [1], "k": ["a"]}).set_index(["y", "k"]), "'k' is its index: frame.reset_index()"),
        (pd.concat({"a": pd.DataFrame({"k": [1]})}, axis=1), 'frame.columns = ["_".join(c) for c in frame.columns]'),
        (pd.DataFrame(), "it has no columns"),
        (pl.DataFrame(), "it has no columns"),
    ],
)
def test_what_a_frame_has_in_place_of_a_column_is_said(frame: Any, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        events(frame, key="k", at="x")
    assert message in str(raised.value)


def counts_by_x(frame: Any) -> Query:
    """Return a query that reads the column `x`, as its key."""
    return events(frame, key="x", at="at").window(tumbling(10)).aggregate(n=module("stats.count"))


def results_without_x(frame: Any) -> Any:
    """Return the results of a query that reads only the times of a frame."""
    return events(frame, at="at").window(tumbling(10)).aggregate(n=module("stats.count")).results()


KEYS = sorted(name for name in COLUMNS if name != "map")  # Spark has no hash of maps


# DuckDB's intervals have months, and are no lengths of time.
KEYS_OF_DUCKDB = [name for name in KEYS if "duration" not in name and name != "struct"]


def has_keys(values: Sequence[Any], key: Any) -> bool:
    """Return True if values are a key and a null, in any order."""
    return sorted(values, key=str) == sorted([key, None], key=str)


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_each_type_is_of_that_type_in_results_as_an_arrow_table(name: str) -> None:
    case = COLUMNS[name]
    results: Any = counts_by_x(pa.table({"at": TIMES, "x": case.column})).results()
    assert results.schema.field("x").type == case.read_type
    assert has_keys(results["x"].to_pylist(), case.read_value)


@pytest.mark.parametrize("name", sorted(set(KEYS) - NOT_IN_POLARS))
def test_a_key_of_each_type_is_in_results_of_polars(name: str) -> None:
    case = COLUMNS[name]
    results: Any = counts_by_x(pl.from_arrow(table_as_read(case))).results()
    assert isinstance(results, pl.DataFrame)
    assert has_keys(results["x"].to_list(), case.read_value)


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_each_type_is_in_results_of_pandas(name: str) -> None:
    table = pa.table({"at": TIMES, "x": COLUMNS[name].column})
    results: Any = counts_by_x(table.to_pandas(types_mapper=pd.ArrowDtype)).results()
    assert isinstance(results, pd.DataFrame)
    assert results["x"].isna().sum() == 1


@pytest.mark.parametrize("name", KEYS_OF_DUCKDB)
def test_a_key_of_each_type_is_in_results_of_duckdb(name: str) -> None:
    case = COLUMNS[name]
    results: Any = counts_by_x(duckdb.from_arrow(table_as_read(case))).results()
    assert isinstance(results, duckdb.DuckDBPyRelation)
    assert has_keys(results.to_arrow_table()["x"].to_pylist(), case.read_value)


def table_as_read(case: ColumnCase) -> pa.Table:
    """Return a table with the values of a column in the type in which a query reads them."""
    return pa.table({"at": TIMES, "x": pa.array([case.read_value, None], case.read_type)})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": pd.period_range("2024", periods=2, freq="M")}), "pandas column 'x' is of type period[M]"),
        (pd.DataFrame({"x": [1 + 2j, 2]}), "pandas column 'x' is of type complex128, which"),
        (
            pd.DataFrame({"x": [1, "a"]}),
            "pandas column 'x' is of type object (its values are not of one type: Could not convert 'a' with type str",
        ),
        (
            pd.DataFrame({"x": [b"a", "b"]}),
            "pandas column 'x' is of type object (its values are not of one type: some of its values are text, and",
        ),
        (
            pd.DataFrame({"x": MIXED_ZONES}, dtype=object),
            "pandas column 'x' is of type object (its values are not of one type: some of its times have a zone",
        ),
        (
            pd.DataFrame({"x": [time(1), None]}),
            "pandas column 'x' is of type object (its values are time64[us]), which",
        ),
        (pl.DataFrame({"x": [time(1), None]}), "Polars column 'x' is of type Time, which has no meaning"),
        (pl.DataFrame({"x": pl.Series([1, 2], dtype=pl.Int128)}), "Polars column 'x' is of type Int128, which"),
        (pl.DataFrame({"x": pl.Series([{}, {}], dtype=pl.Object)}), "Polars column 'x' is of type Object, which"),
        (pl.DataFrame({"x": [None, None]}), "Polars column 'x' is of type Null, which"),
        (pa.table({"x": pa.array([1, 2], pa.time32("s"))}), "Arrow column 'x' is of type time32[s], which"),
        (
            pa.table({"x": pa.array([Decimal(1), None], pa.decimal256(50, 2))}),
            "Arrow column 'x' is of type decimal256(50, 2), which",
        ),
        (
            pa.table({"x": pa.array([pa.MonthDayNano([1, 2, 3]), None])}),
            "Arrow column 'x' is of type month_day_nano_interval, which",
        ),
        (
            pa.table({"x": pa.array([{"a": 1, "t": time(1)}, None])}),
            "Arrow column 'x' is of type struct<a: int64, t: time64[us]>, whose part TIME has no meaning",
        ),
        (duckdb.sql("SELECT INTERVAL 1 MONTH AS x"), "DuckDB column 'x' is of type INTERVAL, which"),
        (duckdb.sql("SELECT uuid() AS x"), "DuckDB column 'x' is of type UUID, which"),
    ],
)
def test_a_type_without_a_meaning_is_refused_where_it_is_read(frame: Any, message: str) -> None:
    timed_frame = with_times(frame)
    assert results_without_x(timed_frame) is not None
    with pytest.raises(QueryError) as raised:
        counts_by_x(timed_frame).results()
    assert str(raised.value).startswith(message)
    assert "expected: numbers, text" in str(raised.value)


def with_times(frame: Any) -> Any:
    """Return a frame of any library with a column `at`."""
    if isinstance(frame, pd.DataFrame):
        return frame.assign(at=1)
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(at=1)
    if isinstance(frame, pa.Table):
        return frame.append_column("at", TIMES)
    return frame.project("x, 1 AS at")


@pytest.mark.parametrize(
    "expression", ["x IS NULL", "CAST(x AS STRING) = 'a'", "coalesce(x, 1) = 1", "CASE WHEN x IS NULL THEN 1 END = 1"]
)
def test_no_expression_reads_a_column_of_a_type_without_a_meaning(expression: str) -> None:
    table = pa.table({"at": TIMES, "x": pa.array([1, 2], pa.time32("s"))})
    with pytest.raises(QueryError):
        events(table, at="at", rows=expression)


def test_a_field_of_a_struct_is_read_beside_one_without_a_meaning() -> None:
    table = pa.table({"at": TIMES, "s": pa.array([{"a": 1, "t": time(1)}, None])})
    query = events(table, key="s.a", at="at").window(tumbling(10)).aggregate(n=module("stats.count"))
    results: Any = query.results()
    assert set(results["a"].to_pylist()) == {1, None}


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("'a'::ENUM('a', 'b')", "a"),
        ("1::HUGEINT", Decimal(1)),
        ("1::UBIGINT", Decimal(1)),
        ("'1969-12-31 23:59:59.9999999'::TIMESTAMP_NS", datetime.fromisoformat("1969-12-31 23:59:59.999999")),
        ("[1::UTINYINT]", [1]),
        ("MAP {'a': 1.5::DECIMAL(4, 2)}", [("a", Decimal("1.50"))]),
        ("{'size': 3, 'w': [1, 2]::INTEGER[2]}", {"size": 3, "w": [1, 2]}),
    ],
)
def test_a_value_of_a_type_of_duckdb_is_read_as_spark_would_have_it(sql: str, value: Any) -> None:
    relation = duckdb.sql(f"SELECT {sql} AS x")
    assert read(relation)["x"].to_pylist() == [value]


def test_a_relation_of_a_closed_connection_is_refused() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS x")
    connection.close()
    with pytest.raises(QueryError, match="the input cannot be read: Connection Error"):
        events(relation, at="x")


def test_a_relation_of_a_connection_in_another_zone_is_read_in_utc() -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    relation = connection.sql("SELECT DATE '2024-05-01' AS day, TIMESTAMPTZ '2024-05-01 00:00:00+00' AS at")
    # In UTC the day begins at that moment, in Tokyo nine hours before it.
    query = events(relation, at="at", rows="CAST(day AS TIMESTAMP) = at").window(tumbling("1 hour"))
    results: Any = query.aggregate(n=module("stats.count")).results()
    assert results.project("n").fetchall() == [(1,)]


@pytest.mark.parametrize("name", ["a b", "a.b", 'a"b', "ä", "select", "1", "a'b", "a,b", "^a.*$", "a\\b", "a{b}", " a"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pl.DataFrame(columns).lazy()])
def test_the_name_of_a_column_may_have_any_letters(make: Callable[[Any], Any], name: str) -> None:
    frame = make({"at": [1, 2], name: [3, 4], "other": [5, 6]})
    query = events(frame, key=f"`{name}`", at="at").where(f"`{name}` > 3").window(tumbling(10))
    results: Any = query.aggregate(total=module("stats.sum", name)).results()
    if isinstance(results, pl.LazyFrame):
        results = results.collect()
    rows = pa.table(results).select([name, "total"]).to_pylist()
    assert rows == [{name: 4, "total": 4}]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["at", "x", "x"]),
        pd.DataFrame([[1, 2, 3]], columns=["at", "x", "X"]),
        pl.DataFrame({"at": [1], "x": [2], "X": [3]}),
        pa.table([TIMES, TIMES, TIMES], names=["at", "x", "x"]),
        pa.table([TIMES, TIMES, TIMES], names=["at", "x", "X"]),
    ],
)
def test_columns_of_one_name_are_refused_where_they_are_read(frame: Any) -> None:
    assert results_without_x(frame) is not None
    for key in ("x", "x + 1"):
        with pytest.raises(QueryError, match=r"x, [xX]"):
            events(frame, key=key, at="at")
