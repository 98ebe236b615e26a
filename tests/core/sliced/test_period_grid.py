"""Slices and windows of periods of any lengths, against looking at every tick; and days and months far away in time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import CalendarWindows, PeriodWindows, Stretches
from muntin_engine.core.slice_grid import RangeGrid, SliceGrid, output_watermark, share_slices
from muntin_engine.core.window_grid import NEVER, PeriodGrid, grid_of, open_windows, settled
from muntin_engine.evaluators.arrays.held_partials import in_windows
from tests.hostile.muntin_hostile.windows import Squares

WINDOWS = st.builds(PeriodWindows, st.just(Squares()), st.integers(1, 5), st.integers(1, 5), st.integers(-5, 5))
TICKS = st.integers(-300, 300)


def extents(windows: PeriodWindows) -> dict[int, Window]:
    """Return the windows near tick 0 by their numbers; window 0 starts with the period at the offset."""
    firsts = {number: windows.offset + number * windows.hop for number in range(-60, 60)}
    begins = windows.periods.begins
    return {number: Window(begins(first), begins(first + windows.size)) for number, first in firsts.items()}


@given(WINDOWS, TICKS)
def test_a_slice_is_in_the_windows_over_each_of_its_ticks(windows: PeriodWindows, tick: int) -> None:
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)
    extent = grid.extent(number)
    assert extent.start <= tick < extent.end
    for other in range(extent.start, extent.end):
        over = {place for place, window in extents(windows).items() if window.start <= other < window.end}
        assert set(grid.windows_of(number)) == over
    assert in_windows([grid], np.array([number])).tolist() == [bool(over)]


@given(WINDOWS, TICKS, TICKS)
def test_the_bounds_of_a_watermark(windows: PeriodWindows, watermark: int, tick: int) -> None:
    grid, known = SliceGrid.of(windows), extents(windows)
    first_open = grid.windows.first_open(watermark)
    assert first_open == min(place for place, window in known.items() if window.end > watermark)
    over = [place for place, window in known.items() if window.start <= tick < window.end]
    number = grid.slice_at(tick)
    if over:
        assert (number < grid.first_legal(first_open)) == any(known[place].end <= watermark for place in over)
        assert (number >= grid.first_live(first_open)) == (max(over) >= first_open)
    closed = [window.end for window in known.values() if window.end <= watermark]
    assert settled([grid_of(windows)], watermark) == max(closed)
    for at_end in (False, True):
        end = known[first_open].end if at_end else known[first_open].start
        assert output_watermark([grid], watermark, at_end=at_end) == end


@given(WINDOWS, TICKS, TICKS)
def test_windows_have_begun_that_start_before_the_horizon(windows: PeriodWindows, watermark: int, horizon: int) -> None:
    grid, known = grid_of(windows), extents(windows)
    assert grid.first_unbegun(horizon) == min(place for place, window in known.items() if window.start >= horizon)
    opened = [window for window in known.values() if window.start < horizon and window.end > watermark]
    assert open_windows([grid], watermark, horizon) == len(opened)


@given(WINDOWS, TICKS, st.integers(1, 90))
def test_an_event_belongs_to_the_range_of_windows_that_it_overlaps(
    windows: PeriodWindows, start: int, length: int
) -> None:
    grid = RangeGrid.of(windows)
    first = grid.slices_at(windows.periods.number_at(start))
    last = grid.last_windows(windows.periods.number_at(start + length - 1) + 1)
    over = [place for place, w in extents(windows).items() if w.start < start + length and w.end > start]
    assert list(range(first, last + 1)) == over


def test_the_ends_of_the_axis_stay_themselves() -> None:
    windows = PeriodWindows(Squares(), 2, 1)
    grid = grid_of(windows)
    assert isinstance(grid, PeriodGrid)
    assert (grid.first_open(EARLIEST), grid.first_open(INFINITY)) == (-NEVER, NEVER)
    assert (grid.first_unbegun(EARLIEST), grid.first_unbegun(INFINITY)) == (-NEVER, NEVER)
    assert (settled([grid_of(windows)], EARLIEST), settled([grid_of(windows)], INFINITY)) == (EARLIEST, INFINITY)
    assert (grid.start(3), grid.window(3)) == (9, Window(9, 25))


def test_only_windows_of_equal_periods_share_slices() -> None:
    day = CalendarWindows(1, 1, "day", "Asia/Tokyo")
    others = [
        CalendarWindows(7, 7, "day", "Asia/Tokyo", "1970-01-04"),
        CalendarWindows(1, 1, "day", "Asia/Seoul"),
        CalendarWindows(1, 1, "day", "Asia/Tokyo", "1970-01-01 06:00"),
        CalendarWindows(1, 1, "month", "Asia/Tokyo"),
        CalendarWindows(1, 1, "day"),
    ]
    grids = [(day.grid(), other.grid()) for other in others]
    assert [share_slices([a, b]) for a, b in grids if a is not None and b is not None] == [True, *[False] * 4]


def _far() -> Iterator[CalendarWindows]:
    for unit in ("day", "month"):
        for zone in ("UTC", "Europe/Berlin", "Pacific/Apia", "America/New_York", "Asia/Kathmandu"):
            yield CalendarWindows(1, 1, unit, zone)
    yield CalendarWindows(3, 1, "month", "Australia/Lord_Howe", "1970-01-15 06:00")
    yield CalendarWindows(1, 3, "day", "Australia/Lord_Howe")


@pytest.mark.parametrize("kind", list(_far()), ids=str)
@given(st.integers(-(2**62), 2**62) | st.integers(-(10**17), 4 * 10**17))
def test_years_far_away_have_the_windows_that_the_general_evaluator_has(kind: CalendarWindows, tick: int) -> None:
    windows = kind.grid()
    assert windows is not None
    grid = SliceGrid.of(windows)
    wanted = list(islice(kind.cut(Stretches(), tick, tick + 1), 9))
    assert [grid.windows.window(number) for number in grid.windows_of(grid.slice_at(tick))] == wanted
