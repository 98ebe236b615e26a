"""Codes in their order, with tables and without."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from muntin_engine.evaluators.arrays.stretches.coding import (
    LARGEST_CODE,
    by_key_and_start,
    distinct,
    encode,
    stable_order,
)

SIZES = [3, 1 << 16, (1 << 16) + 1, 1 << 40, LARGEST_CODE]
"""Numbers of codes: up to 1 << 16, codes are counted in a table."""


@pytest.mark.parametrize("size", SIZES)
def test_codes_of_any_size_are_ordered_stably(size: int) -> None:
    codes = np.random.default_rng(size).integers(0, size, 500) // 7 * 7  # so that codes repeat
    codes[::3] = size - 1
    assert stable_order(codes, size).tolist() == np.argsort(codes, kind="stable").tolist()


@pytest.mark.parametrize("size", SIZES)
def test_distinct_codes_ascend_and_each_code_has_its_place_among_them(size: int) -> None:
    codes = np.random.default_rng(size).integers(0, size, 500)
    occurring, places = distinct(codes, size)
    assert occurring.tolist() == sorted(set(codes.tolist()))
    assert occurring[places].tolist() == codes.tolist()


@pytest.mark.parametrize("size", SIZES)
def test_no_codes_have_no_distinct_ones(size: int) -> None:
    occurring, places = distinct(np.array([], np.int64), size)
    assert occurring.tolist() == []
    assert places.tolist() == []


@pytest.mark.parametrize("width", [10, 1 << 30, 1 << 61])
def test_stretches_are_ordered_by_key_and_then_by_start(width: int) -> None:
    random = np.random.default_rng(width)
    keys = random.integers(0, 5, 300)
    lows = random.integers(-width, width, 300)
    assert by_key_and_start(keys, lows).tolist() == np.lexsort((lows, keys)).tolist()


@pytest.mark.parametrize(
    "columns",
    [
        [pa.array([1, None, 1, 2, None])],
        [pa.array(["a", "b", "a", None, "b"]), pa.array([0.5, 0.5, 0.5, 0.5, None])],
        [pa.array([[1], [2], [1], None, [2]])],
        [],
    ],
    ids=["a column", "two columns", "a nested column", "no columns"],
)
def test_all_rows_of_a_code_have_the_values_that_are_listed_for_it(columns: list[pa.Array]) -> None:
    encoded = encode(columns, 5)
    assert len(set(encoded.codes.tolist())) == encoded.size
    for column, distinct_column in zip(columns, encoded.columns, strict=True):
        assert distinct_column.take(pa.array(encoded.codes)).to_pylist() == column.to_pylist()
