"""Partial states as bytes: what is read is what was written, and takes no more room than its numbers need."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Component
from muntin.columnar import Sums
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable
from muntin_engine.evaluators.arrays.values import COUNTED, Dense, Exact
from muntin_engine.evaluators.arrays.wire import from_blob, to_blob

NUMBERS = st.sampled_from([0, 1, -1, 255, 256, 1 << 16, 1 << 32, INFINITY, EARLIEST]) | st.integers(-(2**63), 2**63 - 1)
COUNT, LARGEST, TOTAL = Part(0, "count"), Part(0, "largest"), Part(1, "total")
PARTS = {COUNT: COUNTED, LARGEST: Component.max("int64"), TOTAL: Component.sum()}


def batch_of(rows: list[tuple[int, int, int]], *, are_points: bool) -> StretchTable:
    """Return a stretch per row of (low, number, high), all of one key."""
    low, numbers, high = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    parts = {
        COUNT: Dense(COUNTED, np.full(len(rows), 3)),
        LARGEST: Dense(PARTS[LARGEST], numbers),
        TOTAL: Exact(PARTS[TOTAL], Sums.of(numbers.astype(np.float64))),
    }
    keys, weight = np.arange(len(rows)) % 2, np.ones(len(rows), np.int8)
    return StretchTable(keys, low, low if are_points else high, weight, parts)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=6), st.booleans())
def test_what_is_read_is_what_was_written(rows: list[tuple[int, int, int]], are_points: bool) -> None:
    written = batch_of(rows, are_points=are_points)
    _, read, _ = from_blob(to_blob(pa.table({"k0": ["a", "b"]}), written), PARTS)
    for name in ("keys", "low", "high", "weight"):
        assert getattr(read, name).tolist() == getattr(written, name).tolist(), name
    assert read.are_points == are_points
    for part in (COUNT, LARGEST):
        assert read.parts[part].array.tolist() == written.parts[part].array.tolist()
    assert read.parts[TOTAL].sums.lanes[0].tolist() == written.parts[TOTAL].sums.lanes[0].tolist()


def test_times_dates_and_vectors_keep_their_types() -> None:
    at, pair = Component.max("datetime64[us]"), Component.max("int64", shape=(2,))
    parts = {
        Part(0, "at"): Dense(at, np.array([5, 7], "datetime64[us]")),
        Part(0, "pair"): Dense(pair, np.array([[1, 2], [3, 4]])),
    }
    places = np.array([0, 1])
    written = StretchTable(np.array([0, 0]), places, places, np.array([1, 1]), parts)
    _, read, _ = from_blob(to_blob(pa.table({"k0": [1]}), written), {Part(0, "at"): at, Part(0, "pair"): pair})
    for part, values in parts.items():
        assert read.parts[part].array.dtype == values.array.dtype
        assert read.parts[part].array.tolist() == values.array.tolist()


@pytest.mark.parametrize(("span", "most"), [(200, 12), (60_000, 13), (4_000_000_000, 15)])
def test_a_row_takes_what_its_numbers_need(span: int, most: int) -> None:
    # two keys: a byte; the distance of a slice: one, two or four; a float: eight; the rest is equal everywhere
    low = np.linspace(1_700_000_000_000_000, 1_700_000_000_000_000 + span, 10_000).astype(np.int64)
    parts = {
        COUNT: Dense(COUNTED, np.ones(10_000, np.int64)),
        TOTAL: Exact(PARTS[TOTAL], Sums.of(np.random.default_rng(1).normal(size=10_000))),
    }
    rows = StretchTable(np.arange(10_000) % 2, low, low + 20_000_000, np.ones(10_000, np.int8), parts)
    assert len(to_blob(pa.table({"k0": ["a", "b"]}), rows)) < most * 10_000
