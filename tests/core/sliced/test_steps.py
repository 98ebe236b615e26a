"""Which slices of a key are in which of its windows, against listing every window."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import hopping
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.slices.sliced_query import is_in_window
from muntin_engine.evaluators.slices.steps import SlideStep, steps_of

WINDOWS = st.builds(HoppingWindows, st.integers(1, 9), st.integers(1, 9), st.integers(-5, 5))
GRIDS = WINDOWS.map(SliceGrid.of)


def windows_of(steps: list[SlideStep], slices: list[int], present: int) -> dict[int, list[int]]:
    """Return the slices of each window that the steps make."""
    low, high, found = 0, present, dict[int, list[int]]()
    for step in steps:
        low, high = low + step.leaving, high + step.coming
        assert step.members == high - low
        for window in range(step.first, step.last) if step.members else ():
            assert window not in found
            found[window] = slices[low:high]
    return found


@settings(max_examples=100)
@given(GRIDS, st.sets(st.integers(-20, 40)), st.integers(-15, 15), st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_every_window_gets_its_slices_in_any_number_of_calls(
    grid: SliceGrid, numbers: set[int], first: int, lengths: list[int]
) -> None:
    live = sorted(number for number in numbers if number >= grid.first_live(first) and is_in_window(grid, number))
    queue: list[int] = []
    came_below = -NEVER
    for length in lengths:
        last = first + length
        coming = [number for number in live if came_below <= number < grid.first_legal(last)]
        came_below = grid.first_legal(last)
        slices = queue + coming
        steps = list(steps_of(grid, slices, len(queue), first, last))
        wanted = {window: [n for n in live if window in grid.windows_of(n)] for window in range(first, last)}
        assert windows_of(steps, slices, len(queue)) == {window: some for window, some in wanted.items() if some}
        queue = slices[sum(step.leaving for step in steps) :]
        assert queue == [number for number in slices if number >= grid.first_live(last)]
        first = last


def test_windows_with_the_same_slices_are_one_step_and_empty_ones_are_skipped() -> None:
    """
                 0    1    ..   9
    slices       x    x         x
    windows   [-------)                       two slices each
                 [-------)
                      [-------)
                             [-------)
    """
    grid = SliceGrid.of(hopping(2, 1))
    steps = [step for step in steps_of(grid, [0, 1, 9], 0, -100, 100) if step.makes_windows]
    assert [(step.first, step.last, step.members) for step in steps] == [(-1, 0, 1), (0, 1, 2), (1, 2, 1), (8, 10, 1)]


def test_the_number_of_steps_does_not_depend_on_what_lies_between() -> None:
    grid = SliceGrid.of(hopping(600, 1))
    assert len(list(steps_of(grid, [-(10**15), 0, 10**15], 0, -NEVER, NEVER))) <= 7
