"""The results of two versions, compared by DuckDB."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from muntin_engine.recording.backtest.comparison import (
    ColumnDifferences,
    ComparedResults,
    Distribution,
    all_differences,
    compare,
    rows_where,
)


def results(values: list[Any], value_type: pa.DataType, keys: list[Any] | None = None) -> pa.Table:
    """Return results of one window, with these values in the column `km`.

    Args:
        values: The values.
        value_type: Their type.
        keys: Their keys, the stations; by default each value has its own, `k0`, `k1` and so on.
    """
    stations = keys or [f"k{place}" for place, _ in enumerate(values)]
    windows = [{"start": 0, "end": 10}] * len(values)
    extent = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    return pa.table(
        {"station": pa.array(stations), "window": pa.array(windows, extent), "km": pa.array(values, value_type)}
    )


def differences(old: pa.Table, new: pa.Table, folder: Path) -> ColumnDifferences:
    """Compare results of two versions, and return the differences in their only column."""
    comparison = compare(ComparedResults(old, new, ["station"], ["window"], ["km"]), folder)
    (column,) = comparison.columns
    assert comparison.differing == column.rows.num_rows
    return column


@pytest.mark.parametrize(
    ("values", "value_type"),
    [
        ([nan, None, inf, -inf, 0.0, 1.5], pa.float64()),
        ([None, 1, -(2**63), 2**63 - 1], pa.int64()),
        ([None, "a", ""], pa.string()),
        ([None, b"a"], pa.binary()),
        ([None, True, False], pa.bool_()),
        ([None, Decimal("1.25")], pa.decimal128(10, 2)),
        ([None, [nan, None], []], pa.list_(pa.float64())),
        ([None, {"low": nan, "high": None}], pa.struct([("low", pa.float64()), ("high", pa.float64())])),
        ([None, [("a", 1.0)], []], pa.map_(pa.string(), pa.float64())),
        ([None, 3], pa.duration("us")),
        ([None, 3], pa.timestamp("us", "UTC")),
        ([None, 3], pa.date32()),
        ([None, None], pa.null()),
    ],
    ids=str,
)
def test_equal_values_do_not_differ(values: list[Any], value_type: pa.DataType, tmp_path: Path) -> None:
    table = results(values, value_type)
    assert differences(table, table, tmp_path).rows.num_rows == 0
    reordered = table.take(list(reversed(range(len(table)))))
    assert differences(table, reordered, tmp_path).rows.num_rows == 0


def test_zeros_of_both_signs_are_equal(tmp_path: Path) -> None:
    assert differences(results([0.0], pa.float64()), results([-0.0], pa.float64()), tmp_path).rows.num_rows == 0


@pytest.fixture
def six_results(tmp_path: Path) -> ColumnDifferences:
    """Five differences of six results.

    key   old    new    difference
    k0    1      1.5     0.5
    k1    2     -2      -4
    k2    NaN    3       NaN
    k3    null   4       unknown
    k4    5      5       equal
    k5    6              only old
    """
    old = results([1.0, 2.0, nan, None, 5.0, 6.0], pa.float64())
    new = results([1.5, -2.0, 3.0, 4.0, 5.0], pa.float64())
    return differences(old, new, tmp_path)


def test_differences_come_by_size_and_those_without_one_last(six_results: ColumnDifferences) -> None:
    rows = six_results.rows.to_pylist()
    assert [(row["key"], row["kind"]) for row in rows] == [
        ("k2", "changed"),  # from NaN to 3
        ("k1", "changed"),  # from 2 to -2
        ("k0", "changed"),  # from 1 to 1.5
        ("k3", "changed"),  # from null to 4
        ("k5", "only old"),
    ]
    assert isnan(rows[0]["difference"])
    assert [row["difference"] for row in rows[1:]] == [-4.0, 0.5, None, None]


def test_differences_are_counted_by_kind_and_finite_ones_have_a_distribution(six_results: ColumnDifferences) -> None:
    assert six_results.counts == {"changed": 4, "only old": 1, "only new": 0}
    assert six_results.distribution == Distribution(  # of -4 and 0.5
        count=2, least=-4.0, lower_quartile=-2.875, median=-1.75, upper_quartile=-0.625, largest=0.5, mean=-1.75
    )


def test_a_condition_selects_differences(six_results: ColumnDifferences) -> None:
    rows = rows_where(six_results, "abs(new - old) > 1 AND NOT isnan(difference)").to_pylist()
    assert [row["key"] for row in rows] == ["k1"]


def test_the_difference_of_large_numbers_is_exact(tmp_path: Path) -> None:
    column = differences(results([2**62], pa.int64()), results([2**62 + 1], pa.int64()), tmp_path)
    assert column.rows.column("difference").to_pylist() == [1.0], "as floats they would be equal"


@pytest.mark.parametrize("value_type", [pa.duration("us"), pa.timestamp("us"), pa.timestamp("us", "UTC")], ids=str)
def test_times_and_lengths_differ_by_seconds(value_type: pa.DataType, tmp_path: Path) -> None:
    old = results([1_000_000, 5, None], value_type)
    new = results([3_500_000, 5, 7], value_type)
    column = differences(old, new, tmp_path)
    assert column.rows.column("difference").to_pylist() == [2.5, None]
    assert column.rows.schema.field("new").type == value_type
    assert column.rows.column("new").cast(pa.int64()).to_pylist() == [3_500_000, 7]
    assert column.distribution is not None
    assert column.distribution.mean == 2.5
    assert rows_where(column, "new - old > INTERVAL 2 SECONDS").num_rows == 1


def test_of_several_rows_of_one_window_equal_ones_are_matched_first_and_then_those_left_in_order(
    tmp_path: Path,
) -> None:
    old = results([1, 2, 2, 3], pa.int64(), ["a"] * 4)
    new = results([2, 3, 4, 2, 5], pa.int64(), ["a"] * 5)
    rows = differences(old, new, tmp_path).rows.to_pylist()
    assert [(row["kind"], row["old"], row["new"]) for row in rows] == [("changed", 1, 4), ("only new", None, 5)]


def test_keys_that_are_null_or_nan_are_matched(tmp_path: Path) -> None:
    old = results([1, 2], pa.int64(), [nan, None])
    new = results([1, 3], pa.int64(), [nan, None])
    assert differences(old, new, tmp_path).rows.column("new").to_pylist() == [3]


@pytest.mark.parametrize(
    ("old_type", "new_type", "way"),
    [
        (pa.int64(), pa.float64(), "numbers"),
        (pa.int32(), pa.int64(), "numbers"),
        (pa.decimal128(10, 2), pa.float64(), "numbers"),
        (pa.decimal128(10, 2), pa.decimal128(12, 3), "numbers"),
        (pa.int64(), pa.string(), "text"),
        (pa.bool_(), pa.string(), "text"),
    ],
    ids=str,
)
def test_equal_values_of_two_types_do_not_differ_and_the_change_of_type_is_told(
    old_type: pa.DataType, new_type: pa.DataType, way: str, tmp_path: Path
) -> None:
    old_values = pa.array([1, 0, None], pa.int8()).cast(old_type)
    if new_type == pa.string():
        new_values = old_values.cast(new_type)  # as text, true is not 1
    else:
        new_values = pa.array([1, 0, None], pa.int8()).cast(new_type)
    empty_results = results([None] * 3, pa.null())
    old_results = empty_results.set_column(2, "km", old_values)
    new_results = empty_results.set_column(2, "km", new_values)

    column = differences(old_results, new_results, tmp_path)
    assert column.rows.num_rows == 0
    assert column.type_change == f"km was {old_type}, and is {new_type}: they are compared as {way}"


def test_columns_of_several_types_become_one_table(tmp_path: Path) -> None:
    numbers = differences(results([1], pa.int64()), results([4], pa.int64()), tmp_path)
    floats = differences(results([1.0], pa.float64()), results([9.5], pa.float64()), tmp_path)
    texts = differences(results(["a"], pa.string()), results(["b"], pa.string()), tmp_path)
    assert all_differences([numbers, floats]).column("new").to_pylist() == [9.5, 4.0]
    assert all_differences([numbers, texts]).column("new").to_pylist() == ["4", "b"]
    assert all_differences([numbers]).column("new").to_pylist() == [4]


def test_differences_of_one_size_are_in_the_order_of_columns_and_keys(tmp_path: Path) -> None:
    # so many columns that a sort by several threads would mix them
    columns = [f"column{place}" for place in range(20)]
    stations = ["k0", "k1", "k2"]
    old = results(["old"] * 3, pa.string(), stations).select(["station", "window"])
    new = old
    for name in columns:
        old = old.append_column(name, pa.array(["old"] * 3))
        new = new.append_column(name, pa.array(["new"] * 3))

    comparison = compare(ComparedResults(old, new, ["station"], ["window"], columns), tmp_path)
    rows = all_differences(comparison.columns).to_pylist()
    assert [(row["column"], row["key"]) for row in rows] == [*product(columns, stations)]
