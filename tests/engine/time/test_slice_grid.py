"""Laws of slices, of which windows are made, over ticks and over periods.

The reference lists the windows near tick 0 one by one, and looks at each of them: it knows of no slices.
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
WINDOWS_OF_TICKS = st.builds(HoppingWindows, size=SIZES, hop=SIZES, offset=st.integers(-30, 30))
WINDOWS_OF_PERIODS = st.builds(
    PeriodWindows, periods=st.just(Squares()), size=SIZES, hop=SIZES, offset=st.integers(-5, 5)
)
WINDOWS = WINDOWS_OF_TICKS | WINDOWS_OF_PERIODS
TICKS = st.integers(-150, 150)


# The reference.


def windows_near_0(windows: RegularWindows) -> Mapping[int, Window]:
    """Return the windows near tick 0 by their numbers, in ticks; window 0 starts at the offset."""
    begins: Callable[[int], int] = windows.periods.begins if windows.periods else int
    extents: dict[int, Window] = {}
    for number in range(-200, 200):
        first = windows.offset + number * windows.hop  # a tick or a period
        extents[number] = Window(begins(first), begins(first + windows.size))
    return extents


def windows_over(windows: RegularWindows, start: int, end: int) -> list[int]:
    """Return the numbers of the windows that overlap the ticks `[start, end)`."""
    extents = windows_near_0(windows)
    return [number for number, window in extents.items() if window.start < end and window.end > start]


# The laws.


def place_on_axis(windows: RegularWindows, tick: int) -> int:
    """Return what a grid counts in the place of a tick: the tick itself, or the number of its period."""
    return tick if windows.periods is None else windows.periods.number_at(tick)


def windows_of_slices(grid: SliceGrid, first: int, last: int) -> list[int]:
    """Return the numbers of the windows that have any slice of those from the first to the last one."""
    return list(range(grid.first_window(first), grid.last_window(last) + 1))


def check_slices(grid: SliceGrid, windows: RegularWindows, tick: int) -> None:
    """Assert that the slice at a tick belongs to the windows over it, and that these are made of whole slices."""
    number = grid.slice_at(tick)
    assert grid.slices_at(np.array([place_on_axis(windows, tick)])).tolist() == [number]

    extent = grid.extent(number)
    assert extent.start <= tick < extent.end
    assert extent.end == grid.extent(number + 1).start

    # All ticks of a slice are in the same windows.
    for inner_tick in (extent.start, tick, extent.end - 1):
        assert windows_of_slices(grid, number, number) == windows_over(windows, inner_tick, inner_tick + 1)

    for window in windows_over(windows, tick, tick + 1):
        expected = windows_near_0(windows)[window]
        assert grid.windows.window(window) == expected
        first_slice = grid.start_of(window)
        last_slice = first_slice + grid.slices - 1
        assert Window(grid.extent(first_slice).start, grid.extent(last_slice).end) == expected


def check_lateness(grid: SliceGrid, windows: RegularWindows, watermark: int, start: int, end: int) -> None:
    """Assert that an event is late if a window of it is complete, and can be forgotten if all of them are.

    Args:
        grid: The slices, which are under test.
        windows: The windows.
        watermark: The watermark: windows that end at it or before it are complete.
        start: The start of the event.
        end: The end of the event.
    """
    extents = windows_near_0(windows)
    open_numbers = [number for number, window in extents.items() if window.end > watermark]
    first_open = grid.windows.first_open(watermark)
    assert first_open == min(open_numbers)

    first_slice = grid.slices_at(place_on_axis(windows, start))
    last_slice = grid.slices_at(place_on_axis(windows, end - 1))
    event_windows = windows_over(windows, start, end)
    assert windows_of_slices(grid, first_slice, last_slice) == event_windows

    if event_windows:  # an event in a gap has none
        is_late = any(extents[number].end <= watermark for number in event_windows)
        assert (first_slice < grid.first_legal(first_open)) == is_late
        is_live = event_windows[-1] >= first_open
        assert (last_slice >= grid.first_live(first_open)) == is_live


@given(WINDOWS, TICKS)
def test_a_window_consists_of_its_slices(windows: RegularWindows, tick: int) -> None:
    check_slices(SliceGrid.of(windows), windows, tick)


@given(
    st.lists(WINDOWS_OF_TICKS, min_size=1, max_size=4) | st.lists(WINDOWS_OF_PERIODS, min_size=1, max_size=3),
    TICKS,
)
def test_windows_of_several_specifications_consist_of_the_same_slices(
    specifications: Sequence[RegularWindows], tick: int
) -> None:
    grids = SliceGrid.shared(specifications)
    assert len({(grid.cycle, grid.cuts) for grid in grids}) == 1
    for grid, windows in zip(grids, specifications, strict=True):
        check_slices(grid, windows, tick)


@given(WINDOWS, TICKS, TICKS, st.integers(1, 40))
def test_an_event_is_late_if_a_window_of_it_is_complete_and_forgotten_if_all_are(
    windows: RegularWindows, watermark: int, start: int, length: int
) -> None:
    check_lateness(SliceGrid.of(windows), windows, watermark, start, start + length)


@given(WINDOWS, TICKS)
def test_output_is_settled_up_to_the_last_complete_window_and_may_change_from_the_first_open_one(
    windows: RegularWindows, watermark: int
) -> None:
    grid = SliceGrid.of(windows)
    extents = windows_near_0(windows)
    first_open = min(number for number, window in extents.items() if window.end > watermark)

    assert settled([grid.windows], watermark) == extents[first_open - 1].end
    assert output_watermark([grid], watermark, at_end=False) == extents[first_open].start
    assert output_watermark([grid], watermark, at_end=True) == extents[first_open].end


@given(WINDOWS, TICKS, TICKS)
def test_windows_have_begun_that_start_before_the_horizon(
    windows: RegularWindows, watermark: int, horizon: int
) -> None:
    grid = grid_of(windows)
    extents = windows_near_0(windows)
    unbegun = [number for number, window in extents.items() if window.start >= horizon]
    begun_and_open = [window for window in extents.values() if window.start < horizon and window.end > watermark]

    assert grid.first_unbegun(horizon) == min(unbegun)
    assert open_windows([grid], watermark, horizon) == len(begun_and_open)


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


@pytest.mark.parametrize("faulty_grid", [EagerlyLate, Forgetful, Long])
def test_the_check_of_lateness_fails_for_a_grid_that_is_wrong_by_one(faulty_grid: Any) -> None:
    windows = hopping(6, 2)
    grid = faulty_grid.of(windows)

    def check_around_the_watermark() -> None:
        for tick in range(30):
            check_lateness(grid, windows, watermark=11, start=tick, end=tick + 1)

    with pytest.raises(AssertionError):
        check_around_the_watermark()


@pytest.mark.parametrize(
    ("windows", "cuts", "cycle", "slices"),
    [
        pytest.param(hopping(9, 6), (0,), 3, 3, id="the example of the thesis, section 6.2.1"),
        pytest.param(hopping(4000, 1999), (0, 2), 1999, 5, id="two slices of a hop, of unequal lengths"),
        pytest.param(hopping(30, 10), (0,), 10, 3, id="one slice of a hop"),
    ],
)
def test_a_hop_has_two_slices_at_most(windows: HoppingWindows, cuts: tuple[int, ...], cycle: int, slices: int) -> None:
    grid = SliceGrid.of(windows)
    assert grid.cuts == cuts
    assert grid.cycle == cycle
    assert grid.slices == slices
    assert grid.stride <= 2


@pytest.mark.parametrize("windows", [tumbling(10), PeriodWindows(Squares(), size=2, hop=1)], ids=["ticks", "periods"])
def test_before_the_first_watermark_all_windows_are_open_and_after_the_last_none(windows: RegularWindows) -> None:
    grid = SliceGrid.of(windows)

    assert grid.windows.first_open(EARLIEST) == -NEVER
    assert grid.windows.first_unbegun(EARLIEST) == -NEVER
    assert grid.windows.first_open(INFINITY) == NEVER
    for bound in (grid.first_legal, grid.first_live, grid.start_of):
        assert bound(-NEVER) == -NEVER
        assert bound(NEVER) == NEVER

    for watermark in (EARLIEST, INFINITY):
        assert settled([grid.windows], watermark) == watermark
        assert output_watermark([grid], watermark, at_end=True) == watermark


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
def test_a_slice_of_any_year_is_in_the_calendar_windows_that_are_cut_one_by_one(
    zone: str, size: int, hop: int, unit: Any, tick: int
) -> None:
    kind = CalendarWindows(size, hop, unit, zone)
    windows = kind.grid()
    assert windows is not None
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)

    windows_of_slice = [grid.windows.window(window) for window in windows_of_slices(grid, number, number)]
    windows_of_tick = list(islice(kind.cut(Stretches(), tick, tick + 1), 9))  # there are 3 at most
    assert windows_of_slice == windows_of_tick
