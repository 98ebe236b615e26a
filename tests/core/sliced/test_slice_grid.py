"""Slices and the windows that are made of them, against looking at every tick."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Window, hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER, grid_of, settled
from muntin_engine.evaluators.arrays.held_partials import in_windows

WINDOWS = st.builds(HoppingWindows, st.integers(1, 20), st.integers(1, 20), st.integers(-30, 30))
TICKS = st.integers(-200, 200)


def windows_at(windows: HoppingWindows, tick: int) -> set[int]:
    """Return the numbers of the windows over a tick; window 0 starts at the offset."""
    return {number for number in range(-300, 300) if 0 <= tick - windows.offset - number * windows.hop < windows.size}


@given(WINDOWS, TICKS)
def test_a_slice_is_in_the_windows_over_each_of_its_ticks(windows: HoppingWindows, tick: int) -> None:
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)
    extent = grid.extent(number)
    assert extent.start <= tick < extent.end == grid.extent(number + 1).start
    for other in range(extent.start, extent.end):
        assert set(grid.windows_of(number)) == windows_at(windows, other)
    assert in_windows([grid], np.array([number]))[0] == bool(windows_at(windows, tick))


@given(WINDOWS, st.integers(-50, 50))
def test_a_window_is_its_slices(windows: HoppingWindows, number: int) -> None:
    grid = SliceGrid.of(windows)
    window = grid.windows.window(number)
    assert window.start == windows.offset + number * windows.hop
    assert window.end - window.start == windows.size
    first = grid.start_of(number)
    found = sorted({grid.slice_at(tick) for tick in range(window.start, window.end)})
    assert found == list(range(first, first + grid.slices))


@given(WINDOWS, TICKS, TICKS)
def test_the_bounds_of_a_punctuation(windows: HoppingWindows, watermark: int, tick: int) -> None:
    grid = SliceGrid.of(windows)
    first_open = grid.windows.first_open(watermark)
    assert grid.windows.window(first_open).end > watermark >= grid.windows.window(first_open - 1).end
    number = grid.slice_at(tick)
    is_late = any(grid.windows.window(window).end <= watermark for window in windows_at(windows, tick))
    if windows_at(windows, tick):
        assert (number < grid.first_legal(first_open)) == is_late
        assert (number >= grid.first_live(first_open)) == (max(windows_at(windows, tick)) >= first_open)


@given(WINDOWS, TICKS)
def test_a_window_has_begun_if_it_starts_before_the_horizon(windows: HoppingWindows, horizon: int) -> None:
    grid = SliceGrid.of(windows).windows
    first = grid.first_unbegun(horizon)
    assert grid.window(first).start >= horizon > grid.window(first - 1).start


@given(WINDOWS, TICKS)
def test_output_is_settled_up_to_the_last_end_of_a_window(windows: HoppingWindows, watermark: int) -> None:
    grid = SliceGrid.of(windows)
    assert settled([grid_of(windows)], watermark) == grid.windows.window(grid.windows.first_open(watermark) - 1).end


@given(st.lists(WINDOWS, min_size=1, max_size=4), TICKS)
def test_specifications_share_their_slices(specifications: list[HoppingWindows], tick: int) -> None:
    grids = SliceGrid.shared(specifications)
    assert len({(grid.cycle, grid.cuts) for grid in grids}) == 1
    for grid, windows in zip(grids, specifications, strict=True):
        assert set(grid.windows_of(grid.slice_at(tick))) == windows_at(windows, tick)


def test_the_example_of_the_thesis_has_three_panes_to_a_window_and_slides_by_two() -> None:
    grid = SliceGrid.of(hopping(9, 6))
    assert (grid.cycle, grid.cuts, grid.slices, grid.stride) == (3, (0,), 3, 2)


@given(WINDOWS)
def test_a_hop_has_two_slices_at_most_or_one_if_it_divides_the_size(windows: HoppingWindows) -> None:
    grid = SliceGrid.of(windows)
    assert grid.stride == (1 if windows.size % windows.hop == 0 else 2)


def test_windows_whose_size_and_hop_share_no_divisor_have_two_slices_per_hop() -> None:
    """
    0 2      1999     2001   3998  4000
    |-|-------|--------|------|-----|---      slices
    [-------------------------------)         windows of 4000
              [------------------------)
    """
    grid = SliceGrid.of(hopping(4000, 1999))
    assert (grid.cycle, grid.cuts, grid.stride, grid.slices) == (1999, (0, 2), 2, 5)
    starts = [grid.extent(number).start for number in range(6)]
    assert starts == [0, 2, 1999, 2001, 3998, 4000]


def test_windows_that_start_a_tick_later_than_others_have_two_slices_more() -> None:
    """
    0 1            600 601
    |-|-------------|-|--------     slices
    [---------------)               windows of 600
      [---------------)             the same, a tick later
    """
    whole, later = SliceGrid.shared([tumbling(600), tumbling(600, 1)])
    assert (whole.cycle, whole.cuts) == (600, (0, 1))
    assert (whole.stride, whole.slices, later.stride, later.slices) == (2, 2, 2, 2)
    assert (whole.shift, later.shift, whole.extent(0), later.extent(1)) == (0, 1, Window(0, 1), Window(1, 600))


@given(WINDOWS, st.integers(-(2**62), 2**62))
def test_slices_far_away_have_the_same_windows_one_by_one_and_in_arrays(windows: HoppingWindows, tick: int) -> None:
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)
    assert grid.slices_at(np.array([tick, tick])).tolist() == [number, number]
    of, known = grid.windows_of(number), grid.windows.counted
    assert of == range(known.first_ending_after(tick), known.last_starting_before(tick + 1) + 1)
    assert grid.extent(number).start <= tick < grid.extent(number).end


def test_before_the_first_punctuation_all_is_open_and_after_the_last_nothing() -> None:
    grid = SliceGrid.of(tumbling(10))
    assert (grid.windows.first_open(EARLIEST), grid.windows.first_open(INFINITY)) == (-NEVER, NEVER)
    for bound in (grid.first_legal, grid.first_live, grid.start_of):
        assert (bound(-NEVER), bound(NEVER)) == (-NEVER, NEVER)
    assert settled([grid_of(tumbling(10))], EARLIEST) == EARLIEST
    assert settled([grid_of(tumbling(10))], INFINITY) == INFINITY
