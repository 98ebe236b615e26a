"""Partial states as bytes: what is read is what was written, and takes no more room than its numbers need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Component
from muntin.columnar import Sums
from muntin_engine.evaluators.columnar.partials import COUNTED, Part, Partials
from muntin_engine.evaluators.columnar.wire import from_blob, to_blob

NUMBERS = st.sampled_from([0, 1, -1, 255, 256, 1 << 16, 1 << 32, INFINITY, EARLIEST]) | st.integers(-(2**63), 2**63 - 1)
COUNT, LARGEST, TOTAL = (
    Part(0, "count", COUNTED),
    Part(0, "largest", Component.max("int64")),
    Part(1, "total", Component.sum()),
)
PARTS = [COUNT, LARGEST, TOTAL]


def partials_of(rows: list[tuple[int, int, int]], *, has_lasts: bool) -> Partials:
    """Return a partial state per row of (slice, number, last), all of one key."""
    slices, numbers, lasts = (np.array([row[place] for row in rows], np.int64) for place in range(3))
    parts: dict[Part, Any] = {
        COUNT: np.full(len(rows), 3),
        LARGEST: numbers,
        TOTAL: Sums.of(numbers.astype(np.float64)),
    }
    keys, counts = np.arange(len(rows)) % 2, np.ones(len(rows), np.int8)
    return Partials(slices, keys, counts, parts, lasts if has_lasts else None)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=6), st.booleans())
def test_what_is_read_is_what_was_written(rows: list[tuple[int, int, int]], has_lasts: bool) -> None:
    written = partials_of(rows, has_lasts=has_lasts)
    keys, read = from_blob(to_blob(pa.table({"k0": ["a", "b"]}), written), PARTS)
    assert keys.to_pydict() == {"k0": ["a", "b"]}
    for name in ("slices", "keys", "rows", *(["lasts"] if has_lasts else [])):
        assert getattr(read, name).tolist() == getattr(written, name).tolist(), name
    assert (read.lasts is None) == (not has_lasts)
    for part in (COUNT, LARGEST):
        assert read.parts[part].tolist() == written.parts[part].tolist()  # type: ignore[union-attr]
    assert read.parts[TOTAL].lanes[0].tolist() == written.parts[TOTAL].lanes[0].tolist()  # type: ignore[union-attr]


def test_times_dates_and_vectors_keep_their_types() -> None:
    at, pair = Part(0, "at", Component.max("datetime64[us]")), Part(0, "pair", Component.max("int64", shape=(2,)))
    parts: dict[Part, Any] = {at: np.array([5, 7], "datetime64[us]"), pair: np.array([[1, 2], [3, 4]])}
    written = Partials(np.array([0, 1]), np.array([0, 0]), np.array([1, 1]), parts)
    _, read = from_blob(to_blob(pa.table({"k0": [1]}), written), list(parts))
    for part, values in parts.items():
        found = read.parts[part]
        assert isinstance(found, np.ndarray)
        assert found.dtype == values.dtype
        assert found.tolist() == values.tolist()


@pytest.mark.parametrize(("span", "most"), [(200, 12), (60_000, 13), (4_000_000_000, 15)])
def test_a_row_takes_what_its_numbers_need(span: int, most: int) -> None:
    # two keys: a byte; the distance of a slice: one, two or four; a float: eight; the rest is equal everywhere
    slices = np.linspace(1_700_000_000_000_000, 1_700_000_000_000_000 + span, 10_000).astype(np.int64)
    parts: dict[Part, Any] = {
        COUNT: np.ones(10_000, np.int64),
        TOTAL: Sums.of(np.random.default_rng(1).normal(size=10_000)),
    }
    rows = Partials(slices, np.arange(10_000) % 2, np.ones(10_000, np.int8), parts, slices + 20_000_000)
    assert len(to_blob(pa.table({"k0": ["a", "b"]}), rows)) < most * 10_000
