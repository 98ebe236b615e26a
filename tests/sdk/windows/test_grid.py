"""The arithmetic of a grid, against a search among windows that are listed one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, Window
from muntin.windows.grid import Grid, last_multiple

GRIDS = st.builds(Grid, size=st.integers(1, 12), hop=st.integers(1, 12), offset=st.integers(-20, 20))
TICKS = st.integers(-60, 60)


def windows_by_number(grid: Grid) -> dict[int, Window]:
    """List the windows around tick 0; they reach beyond all ticks that are drawn."""
    windows: dict[int, Window] = {}
    for number in range(-200, 200):
        start = grid.offset + number * grid.hop
        windows[number] = Window(start, start + grid.size)
    return windows


@given(GRIDS, TICKS)
def test_a_grid_finds_the_numbers_of_the_windows_around_a_tick(grid: Grid, tick: int) -> None:
    windows = windows_by_number(grid)
    assert grid.first_ending_after(tick) == min(number for number, window in windows.items() if window.end > tick)
    assert grid.last_starting_before(tick) == max(number for number, window in windows.items() if window.start < tick)
    assert grid.first_starting_from(tick) == min(number for number, window in windows.items() if window.start >= tick)
    assert grid.window(grid.first_ending_after(tick)) in windows.values()


@given(GRIDS, TICKS)
def test_a_grid_finds_the_starts_and_ends_of_the_windows_around_a_tick(grid: Grid, tick: int) -> None:
    windows = windows_by_number(grid).values()
    assert grid.next_start(tick) == min(window.start for window in windows if window.end > tick)
    assert grid.last_end(tick) == max(window.end for window in windows if window.end <= tick)
    assert last_multiple(tick, grid.hop, grid.offset) == max(window.start for window in windows if window.start <= tick)


@pytest.mark.parametrize("end_of_axis", [EARLIEST, INFINITY], ids=["earliest", "infinity"])
def test_the_ends_of_the_axis_are_not_moved_to_a_window(end_of_axis: int) -> None:
    grid = Grid(10, 5)
    assert grid.next_start(end_of_axis) == end_of_axis
    assert grid.last_end(end_of_axis) == end_of_axis
