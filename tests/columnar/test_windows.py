"""Windows from slices and ranges, against merging their members one by one."""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import Component, hopping
from muntin.columnar import Sums, fold_rows, identities, merge
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.evaluators.arrays.closing import close_windows
from muntin_engine.evaluators.arrays.coding import compress, encode, number, stable_order
from muntin_engine.evaluators.arrays.reducing import reduce_codes
from muntin_engine.evaluators.arrays.scans import cover, scan_windows
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable
from muntin_engine.evaluators.arrays.values import Exact
from tests.differential.forms import longest

COMPONENTS = {
    "whole sum": Component.sum("int64"),
    "float sum": Component.sum(),
    "least": Component.min(),
    "most": Component.max("int64"),
    "product": Component.product("int64"),
    "all bits": Component.bit_and(),
    "vector": Component.sum("int64", shape=(3,)),
    "own": Component.merged(longest, [0, 0], "int64", shape=(2,)),
}
SEEDS = st.integers(0, 2**32)


def values_of(component: Component, shape: tuple[int, ...], seed: int) -> Any:
    lowest = 0 if component.function is longest else -5  # its identity is neutral for numbers that are not negative
    return np.random.default_rng(seed).integers(lowest, 6, (*shape, *component.shape)).astype(component.dtype)


def is_same(found: Any, wanted: Any) -> bool:
    """True if two values are equal; the least of nothing is NaN."""
    return np.array_equal(np.asarray(found, float), np.asarray(wanted, float), equal_nan=True)


@pytest.mark.parametrize("name", COMPONENTS)
@given(seed=SEEDS, slices=st.integers(1, 7), stride=st.integers(1, 4), count=st.integers(1, 6), keys=st.integers(1, 4))
def test_scanning_a_table_merges_the_slices_of_each_window(
    name: str, seed: int, slices: int, stride: int, count: int, keys: int
) -> None:
    component = COMPONENTS[name]
    table = values_of(component, ((count - 1) * stride + slices, keys), seed)
    found = scan_windows(component, table, slices, stride, count)
    for window in range(count):
        rows = table[window * stride : window * stride + slices]
        for key in range(keys):
            assert is_same(found[window, key], fold_rows(component, rows[:, key])[0])


@pytest.mark.parametrize("name", COMPONENTS)
@given(seed=SEEDS, windows=st.integers(1, 20), keys=st.integers(1, 3), rows=st.integers(1, 12))
def test_a_tree_gives_each_window_the_ranges_that_hold_it(
    name: str, seed: int, windows: int, keys: int, rows: int
) -> None:
    component, random = COMPONENTS[name], np.random.default_rng(seed)
    lows = random.integers(0, windows, rows)
    highs = np.minimum(lows + random.integers(0, windows, rows), windows - 1)
    owners, values = random.integers(0, keys, rows), values_of(component, (rows,), seed)
    found = cover(component, lows, highs, owners, values, (windows, keys))
    for window in range(windows):
        for key in range(keys):
            held = values[(lows <= window) & (window <= highs) & (owners == key)]
            assert is_same(found[window, key], fold_rows(component, held)[0])


@pytest.mark.parametrize("name", COMPONENTS)
@given(seed=SEEDS, size=st.integers(1, 6), rows=st.integers(0, 40))
def test_values_of_one_code_are_merged(name: str, seed: int, size: int, rows: int) -> None:
    component = COMPONENTS[name]
    codes, values = np.random.default_rng(seed).integers(0, size, rows), values_of(component, (rows,), seed)
    found = reduce_codes(component, codes, size, values)
    for code in range(size):
        held = [values[place : place + 1] for place in np.flatnonzero(codes == code)]
        wanted = reduce(lambda a, b: merge(component, a, b), held, identities(component, 1))
        assert is_same(found[code], wanted[0])


def _windows(grid: SliceGrid, slices: list[int], numbers: list[float], first: int, last: int) -> list[tuple[Any, ...]]:
    """Return window, key, rows and sum of what closes of points, each of a key by its place modulo 3."""
    low, total = np.array(slices), Part(0, "total")
    parts = {total: Exact(Component.sum(), Sums.of(np.array(numbers, float)))}
    points = StretchTable(np.arange(len(low)) % 3, low, low, np.ones(len(low), np.int8), parts)
    return [
        row
        for found in close_windows(grid, points, first, last)
        for row in zip(
            found.low.tolist(),
            found.keys.tolist(),
            found.weight.tolist(),
            found.parts[total].sums.rounded().tolist(),
            strict=True,
        )
    ]


def test_windows_of_float_sums_never_drift() -> None:
    """
    0    1    2    3    4    5    6
    |1e16|    |    |inf |    |    |
    """
    grid = SliceGrid.of(hopping(2, 1))
    found = _windows(grid, [0, 3, 6, 9, 12, 15, 18], [1e16, 1.0, 1.0, inf, 1.0, 1.0, 1.0], -1, 20)
    assert [total for *_, total in found] == [1e16, 1e16, 1.0, 1.0, 1.0, 1.0, inf, inf, *[1.0] * 6]
    slices = [place for place in range(7) for _ in range(3)]
    values = [value for value in [1e16, 1.0, 1.0, inf, 1.0, 1.0, 1.0] for _ in range(3)]
    close = [total for window, key, _, total in _windows(grid, slices, values, 0, 6) if key == 0]
    assert close == [1e16 + 1, 2, inf, inf, 2, 2]


@given(
    st.lists(st.tuples(st.integers(-30, 30), st.integers(-9, 9)), min_size=1, max_size=40),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_a_window_is_the_sum_of_its_slices(points: list[tuple[int, int]], length: int, stride: int) -> None:
    grid = SliceGrid(WindowGrid(length, stride), stride, length)
    slices, numbers = map(list, zip(*points, strict=True))
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    for place, (at, value) in enumerate(points):
        for window in range(-3, 4):
            if window * stride <= at < window * stride + length:
                rows, total = expected.get((window, place % 3), (0, 0))
                expected[window, place % 3] = rows + 1, total + value
    found = _windows(grid, slices, numbers, -3, 4)
    assert len(found) == len(expected)
    assert {(window, key): (rows, total) for window, key, rows, total in found} == expected


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=30))
def test_codes_without_gaps_keep_their_order(given_codes: list[int]) -> None:
    codes, size = compress(np.array(given_codes), 2**41)
    assert codes.tolist() == [sorted(set(given_codes)).index(code) for code in given_codes]
    assert size == len(set(given_codes))


@given(st.lists(st.integers(-(2**61), 2**61), min_size=1, max_size=30))
def test_numbers_are_ascending_and_few(values: list[int]) -> None:
    codes, size = number(np.array(values))
    assert np.array_equal(np.argsort(codes, kind="stable"), np.argsort(values, kind="stable"))
    assert 0 <= codes.min() <= codes.max() < size <= max(1 << 16, 4 * len(values))


@pytest.mark.parametrize("size", [10, 1 << 16, 1 << 20, 1 << 33])
def test_sorting_by_halves_is_sorting(size: int) -> None:
    codes = np.random.default_rng(size).integers(0, size, 5000)
    assert np.array_equal(stable_order(codes, size), np.argsort(codes, kind="stable"))


def test_rows_without_keys_have_one_code() -> None:
    assert encode([], 3).codes.tolist() == [0, 0, 0]
    assert encode([], 0).size == 0
