"""Slices and the windows that are made of them, against looking at every tick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, hopping, tumbling
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER, grid_of, settled
from muntin_engine.evaluators.slices.sliced_query import is_in_window

WINDOWS = st.builds(HoppingWindows, st.integers(1, 20), st.integers(1, 20), st.integers(-30, 30))
TICKS = st.integers(-200, 200)


def windows_at(windows: HoppingWindows, tick: int) -> set[int]:
    """Return the numbers of the windows over a tick; window 0 starts at the offset."""
    return {number for number in range(-300, 300) if 0 <= tick - windows.offset - number * windows.hop < windows.size}


@given(WINDOWS, TICKS)
def test_a_slice_is_in_the_windows_over_each_of_its_ticks(windows: HoppingWindows, tick: int) -> None:
    grid = SliceGrid.of(windows)
    number = grid.slice_at(tick)
    start = grid.offset + number * grid.width
    assert start <= tick < start + grid.width
    for other in range(start, start + grid.width):
        assert set(grid.windows_of(number)) == windows_at(windows, other)
    assert is_in_window(grid, number) == bool(windows_at(windows, tick))


@given(WINDOWS, st.integers(-50, 50))
def test_a_window_is_its_slices(windows: HoppingWindows, number: int) -> None:
    grid = SliceGrid.of(windows)
    window = grid.windows.window(number)
    assert window.start == windows.offset + number * windows.hop
    assert window.end - window.start == windows.size
    first = grid.start_of(number)
    assert [grid.slice_at(tick) for tick in range(window.start, window.end, grid.width)] == list(
        range(first, first + grid.slices)
    )


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
    assert len({(grid.width, grid.offset) for grid in grids}) == 1
    for grid, windows in zip(grids, specifications, strict=True):
        assert set(grid.windows_of(grid.slice_at(tick))) == windows_at(windows, tick)


def test_the_example_of_the_thesis_has_three_panes_to_a_window_and_slides_by_two() -> None:
    grid = SliceGrid.of(hopping(9, 6))
    assert (grid.width, grid.slices, grid.stride) == (3, 3, 2)


def test_before_the_first_punctuation_all_is_open_and_after_the_last_nothing() -> None:
    grid = SliceGrid.of(tumbling(10))
    assert (grid.windows.first_open(EARLIEST), grid.windows.first_open(INFINITY)) == (-NEVER, NEVER)
    for bound in (grid.first_legal, grid.first_live, grid.start_of):
        assert (bound(-NEVER), bound(NEVER)) == (-NEVER, NEVER)
    assert settled([grid_of(tumbling(10))], EARLIEST) == EARLIEST
    assert settled([grid_of(tumbling(10))], INFINITY) == INFINITY
