"""The grid: each of its answers, looked for among windows that are listed one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Window
from muntin.windows.grid import Grid, last_multiple

GRIDS = st.builds(Grid, st.integers(1, 12), st.integers(1, 12), st.integers(-20, 20))
TICKS = st.integers(-60, 60)


def listed(grid: Grid) -> dict[int, Window]:
    """Return the windows near tick 0 by their numbers."""
    starts = {number: grid.offset + number * grid.hop for number in range(-200, 200)}
    return {number: Window(start, start + grid.size) for number, start in starts.items()}


@given(GRIDS, TICKS)
def test_numbers_are_those_of_the_windows_around_a_tick(grid: Grid, tick: int) -> None:
    windows = listed(grid)
    assert grid.first_ending_after(tick) == min(number for number, window in windows.items() if window.end > tick)
    assert grid.last_starting_before(tick) == max(number for number, window in windows.items() if window.start < tick)
    assert grid.first_starting_from(tick) == min(number for number, window in windows.items() if window.start >= tick)
    assert grid.window(grid.first_ending_after(tick)) in windows.values()


@given(GRIDS, TICKS)
def test_ticks_are_those_at_which_windows_start_and_end(grid: Grid, tick: int) -> None:
    windows = listed(grid).values()
    assert grid.next_start(tick) == min(window.start for window in windows if window.end > tick)
    assert grid.last_end(tick) == max(window.end for window in windows if window.end <= tick)
    assert last_multiple(tick, grid.hop, grid.offset) == max(window.start for window in windows if window.start <= tick)


def test_the_ends_of_the_axis_stay_where_they_are() -> None:
    for end in (EARLIEST, INFINITY):
        assert Grid(10, 5).next_start(end) == Grid(10, 5).last_end(end) == end
