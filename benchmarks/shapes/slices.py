"""Slices against none (thesis, figure 6-15): the largest payload, over rows per slice and slices per window."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.shapes.array_ways import sliced_arrays, tagged_arrays, unsliced_arrays
from benchmarks.shapes.panels import Panel
from benchmarks.shapes.rows import NumberedRows
from benchmarks.shapes.stopwatch import cpu_seconds
from benchmarks.shapes.ways import Way, check_alike
from muntin import hopping

THESIS: Final = {"thesis at 20 x 5": 0.30}
"""What the thesis has for 20 rows per slice and 5 slices per window, without a key."""

ROWS_PER_SLICE: Final = (1, 5, 20, 100)
SLICES_PER_WINDOW: Final = (2, 5, 10, 20)
KEYS: Final = (1, 100)
MORE_KEYS: Final = (1, 10, 100, 1000)

_UP: Final = "processor time with slices over that without"


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield the ratios of processor times for a key and for many, and those of 20 x 5 over the number of keys."""
    ratio(NumberedRows(1000, 500), sliced_arrays, 5, 2, repeats=1)  # loads what is loaded at first use
    for keys in KEYS:
        yield _over_shapes(_rows(keys, is_quick=is_quick), repeats=1 if is_quick else 5)
    yield _over_keys(is_quick=is_quick)


def ratio(rows: NumberedRows, way: Way, per_slice: int, slices: int, repeats: int) -> float:
    """Return the cost of a way relative to the cost of adding each row to all its windows."""
    windows = hopping(per_slice * slices, per_slice)
    seconds, outcome = cpu_seconds(lambda: way(windows, rows), repeats)
    without, unsliced = cpu_seconds(lambda: unsliced_arrays(windows, rows), repeats)
    check_alike([outcome, unsliced])
    return seconds / without


def _over_shapes(rows: NumberedRows, repeats: int) -> Panel:
    series = {
        f"{slices} slices per window": [
            ratio(rows, sliced_arrays, per_slice, slices, repeats) for per_slice in ROWS_PER_SLICE
        ]
        for slices in SLICES_PER_WINDOW
    }
    title = f"{rows.keys} key{'s' * (rows.keys > 1)}, {rows.count:,} rows"
    return Panel(title, "rows per slice and key", _UP, ROWS_PER_SLICE, series, THESIS, log_axes="x")


def _over_keys(*, is_quick: bool) -> Panel:
    ways = {"slices": sliced_arrays, "range tags": tagged_arrays}
    series = {
        name: [ratio(_rows(keys, is_quick=is_quick), way, 20, 5, repeats=5) for keys in MORE_KEYS]
        for name, way in ways.items()
    }
    return Panel("20 rows per slice, 5 slices per window", "keys", _UP, MORE_KEYS, series, THESIS, is_drawn=False)


def _rows(keys: int, *, is_quick: bool) -> NumberedRows:
    return NumberedRows(40_000, 20_000, keys) if is_quick else NumberedRows(400_000, 100_000, keys)
