"""Laws of the numbering of rows along the axis: slices, and runs of them, over ticks and over periods.

Windows are listed one by one, and looked at tick by tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Window, hopping, tumbling
from muntin.windows import CalendarWindows, HoppingWindows, PeriodWindows, Stretches
from muntin.windows.regular import RegularWindows
from muntin_engine.time.slice_grid import SliceGrid, output_watermark, share_slices
from muntin_engine.time.window_grid import NEVER, grid_of, open_windows, settled
from tests.sdk.testing.laws.muntin_hostile.windows import Squares

SIZES = st.integers(1, 9)
TICKED = st.builds(HoppingWindows, SIZES, SIZES, st.integers(-30, 30))
IN_PERIODS = st.builds(PeriodWindows, st.just(Squares()), SIZES, SIZES, st.integers(-5, 5))
WINDOWS = TICKED | IN_PERIODS
TICKS = st.integers(-150, 150)


def listed(windows: RegularWindows) -> Mapping[int, Window]:
    """Return the windows near tick 0 by their numbers; window 0 starts at the offset."""
    begins: Callable[[int], int] = windows.periods.begins if windows.periods else int
    firsts = {number: windows.offset + number * windows.hop for number in range(-200, 200)}
    return {number: Window(begins(first), begins(first + windows.size)) for number, first in firsts.items()}


def over(windows: RegularWindows, start: int, end: int) -> list[int]:
    """Return the numbers of the windows that overlap a stretch."""
    return [number for number, window in listed(windows).items() if window.start < end and window.end > start]


def numbers_of(grid: SliceGrid, first: int, last: int) -> list[int]:
    """Return the windows that a run of slices has a part in."""
    return list(range(grid.first_window(first), grid.last_window(last) + 1))


def check_slices(grid: SliceGrid, windows: RegularWindows, tick: int) -> None:
    """A slice is in the windows over each of its ticks, and a window is its slices."""
    number = grid.slice_at(tick)
    extent = grid.extent(number)
    assert extent.start <= tick < extent.end == grid.extent(number + 1).start
    for inner_tick in (extent.start, tick, extent.end - 1):
        assert numbers_of(grid, number, number) == over(windows, inner_tick, inner_tick + 1)
    counted = tick if windows.periods is None else windows.periods.number_at(tick)
    assert grid.slices_at(np.array([counted])).tolist() == [number]
    for place in over(windows, tick, tick + 1):
        first = grid.start_of(place)
        assert grid.windows.window(place) == listed(windows)[place]
        assert Window(grid.extent(first).start, grid.extent(first + grid.slices - 1).end) == listed(windows)[place]


def check_bounds(grid: SliceGrid, windows: RegularWindows, watermark: int, start: int, end: int) -> None:
    """A row is late if a window of it is complete, and dead if all are; output changes at the ends of windows."""
    ticks_of_windows = listed(windows)
    rows = over(windows, start, end)
    first_open = grid.windows.first_open(watermark)
    assert first_open == min(number for number, window in ticks_of_windows.items() if window.end > watermark)
    numbers = [tick if windows.periods is None else windows.periods.number_at(tick) for tick in (start, end - 1)]
    low, high = map(grid.slices_at, numbers)
    assert numbers_of(grid, low, high) == rows
    if rows:
        assert (low < grid.first_legal(first_open)) == any(ticks_of_windows[number].end <= watermark for number in rows)
        assert (high >= grid.first_live(first_open)) == (rows[-1] >= first_open)
    assert settled([grid.windows], watermark) == ticks_of_windows[first_open - 1].end
    for at_end in (False, True):
        first = ticks_of_windows[first_open]
        assert output_watermark([grid], watermark, at_end=at_end) == (first.end if at_end else first.start)


@given(WINDOWS, TICKS)
def test_a_window_is_its_slices(windows: RegularWindows, tick: int) -> None:
    check_slices(SliceGrid.of(windows), windows, tick)


@given(st.lists(TICKED, min_size=1, max_size=4) | st.lists(IN_PERIODS, min_size=1, max_size=3), TICKS)
def test_specifications_share_their_slices(specifications: Sequence[RegularWindows], tick: int) -> None:
    grids = SliceGrid.shared(specifications)
    assert len({(grid.cycle, grid.cuts) for grid in grids}) == 1
    for grid, windows in zip(grids, specifications, strict=True):
        check_slices(grid, windows, tick)


@given(WINDOWS, TICKS, TICKS, st.integers(1, 40))
def test_rows_are_late_and_forgotten_by_their_windows(
    windows: RegularWindows, watermark: int, start: int, length: int
) -> None:
    check_bounds(SliceGrid.of(windows), windows, watermark, start, start + length)


@given(WINDOWS, TICKS, TICKS)
def test_windows_have_begun_that_start_before_the_horizon(windows: RegularWindows, mark: int, horizon: int) -> None:
    grid = grid_of(windows)
    ticks_of_windows = listed(windows)
    assert grid.first_unbegun(horizon) == min(
        place for place, window in ticks_of_windows.items() if window.start >= horizon
    )
    opened = [window for window in ticks_of_windows.values() if window.start < horizon and window.end > mark]
    assert open_windows([grid], mark, horizon) == len(opened)


@dataclass(frozen=True)
class EagerlyLate(SliceGrid):
    def first_legal(self, first_open: int) -> int:
        """Let rows be late a slice too early."""
        return super().first_legal(first_open) + 1


@dataclass(frozen=True)
class Forgetful(SliceGrid):
    def first_live(self, first_open: int) -> int:
        """Forget a slice too many."""
        return super().first_live(first_open) + 1


@dataclass(frozen=True)
class Long(SliceGrid):
    def last_window(self, slices: Any) -> Any:
        """Let an event belong to the window that starts where it ends."""
        return super().last_window(slices + 1)


@pytest.mark.parametrize("broken", [EagerlyLate, Forgetful, Long])
def test_a_grid_that_is_wrong_by_one_is_found(broken: Any) -> None:
    windows = hopping(6, 2)

    def check_all() -> None:
        for tick in range(30):
            check_bounds(broken.of(windows), windows, 11, tick, tick + 1)

    with pytest.raises(AssertionError):
        check_all()


@pytest.mark.parametrize(
    ("windows", "cuts", "cycle", "slices"),
    [(hopping(9, 6), (0,), 3, 3), (hopping(4000, 1999), (0, 2), 1999, 5), (hopping(30, 10), (0,), 10, 3)],
)
def test_a_hop_has_two_slices_at_most(windows: HoppingWindows, cuts: tuple[int, ...], cycle: int, slices: int) -> None:
    """The first example is that of the thesis, section 6.2.1."""
    grid = SliceGrid.of(windows)
    assert (grid.cuts, grid.cycle, grid.slices, grid.stride <= 2) == (cuts, cycle, slices, True)


def test_before_the_first_watermark_all_is_open_and_after_the_last_nothing() -> None:
    for windows in (tumbling(10), PeriodWindows(Squares(), 2, 1)):
        grid = SliceGrid.of(windows)
        assert (grid.windows.first_open(EARLIEST), grid.windows.first_open(INFINITY)) == (-NEVER, NEVER)
        assert grid.windows.first_unbegun(EARLIEST) == -NEVER
        for bound in (grid.first_legal, grid.first_live, grid.start_of):
            assert (bound(-NEVER), bound(NEVER)) == (-NEVER, NEVER)
        for end in (EARLIEST, INFINITY):
            assert settled([grid.windows], end) == output_watermark([grid], end, at_end=True) == end


def test_only_windows_of_equal_periods_share_slices() -> None:
    def shares_slices_with_days(windows: CalendarWindows) -> bool:
        days = CalendarWindows(1, 1, "day", "Asia/Tokyo").grid()
        grid = windows.grid()
        assert days is not None
        assert grid is not None
        return share_slices((days, grid))

    assert shares_slices_with_days(CalendarWindows(7, 7, "day", "Asia/Tokyo"))
    months = CalendarWindows(1, 1, "month", "Asia/Tokyo")
    assert not shares_slices_with_days(months)
    days_of_another_zone = CalendarWindows(1, 1, "day")
    assert not shares_slices_with_days(days_of_another_zone)
    days_from_six = CalendarWindows(1, 1, "day", "Asia/Tokyo", "1970-01-01 06:00")
    assert not shares_slices_with_days(days_from_six)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Apia", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize(("size", "hop", "unit"), [(1, 1, "day"), (1, 3, "day"), (1, 1, "month"), (3, 1, "month")])
@given(tick=st.integers(-(2**62), 2**62) | st.integers(-(10**17), 4 * 10**17))
def test_years_far_away_have_the_windows_that_are_cut_one_by_one(
    zone: str, size: int, hop: int, unit: Any, tick: int
) -> None:
    kind = CalendarWindows(size, hop, unit, zone)
    windows = kind.grid()
    assert windows is not None
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)
    expected = list(islice(kind.cut(Stretches(), tick, tick + 1), 9))
    assert [grid.windows.window(window) for window in numbers_of(grid, number, number)] == expected
