"""Which slices of a key are in which of its windows, against listing every window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import hopping
from muntin.windows import HoppingWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.held_partials import in_windows
from muntin_engine.evaluators.arrays.state_windows import Steps, steps_of

GRIDS = st.builds(HoppingWindows, st.integers(1, 9), st.integers(1, 9), st.integers(-5, 5)).map(SliceGrid.of)


def steps(grid: SliceGrid, slices: Sequence[tuple[int, int]], present: int, first: int, last: int) -> Steps:
    """Return the steps of slices, each with its key."""
    keys, numbers = np.array(slices, np.int64).reshape(-1, 2).T
    leaves = grid.runs.last_starting_before(numbers + 1) + 1
    return steps_of(keys, np.maximum(grid.runs.first_ending_after(numbers), first), leaves, present, first, last)


def windows_of(found: Steps, slices: Sequence[tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    """Return the slices of each window that the steps make, by key and window."""
    low, high, windows = dict[int, int](), dict[int, int](), dict[tuple[int, int], list[int]]()
    of_key = {key: [number for other, number in sorted(slices) if other == key] for key, _ in slices}
    for key, first, last, leaving, coming, members in zip(*(column.tolist() for column in found), strict=True):
        low[key], high[key] = low.get(key, 0) + leaving, high.get(key, len(of_key[key]) - total(found, key)) + coming
        assert members == high[key] - low[key]
        for window in range(first, last) if members else ():
            assert (key, window) not in windows
            windows[key, window] = of_key[key][low[key] : high[key]]
    return windows


def total(found: Steps, key: int) -> int:
    """Return how many slices of a key come in."""
    return int(found.coming[found.keys == key].sum())


@settings(max_examples=100)
@given(
    GRIDS,
    st.sets(st.tuples(st.integers(0, 2), st.integers(-20, 40))),
    st.integers(-15, 15),
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
def test_every_window_gets_its_slices_in_any_number_of_calls(
    grid: SliceGrid, slices: set[tuple[int, int]], first: int, lengths: list[int]
) -> None:
    ordered = sorted(slices)
    are_in = in_windows([grid], np.array([number for _, number in ordered], np.int64))
    live = [one for one, is_in in zip(ordered, are_in, strict=True) if is_in and one[1] >= grid.first_live(first)]
    queue: list[tuple[int, int]] = []
    came_below = -NEVER
    for length in lengths:
        last = first + length
        coming = [one for one in live if came_below <= one[1] < grid.first_legal(last)]
        came_below = grid.first_legal(last)
        found = steps(grid, queue + coming, len(queue), first, last)
        wanted = {
            (key, window): [number for other, number in live if other == key and window in grid.windows_of(number)]
            for key in range(3)
            for window in range(first, last)
        }
        assert windows_of(found, queue + coming) == {window: some for window, some in wanted.items() if some}
        gone = {key: int(found.leaving[found.keys == key].sum()) for key in range(3)}
        stays = [one for one in queue + coming if one[1] >= grid.first_live(last)]
        assert len(stays) == len(queue + coming) - sum(gone.values())
        queue, first = sorted(stays), last


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
    found = steps(grid, [(5, 0), (5, 1), (5, 9)], 0, -100, 100)
    made = [column[found.make_windows].tolist() for column in (found.firsts, found.lasts, found.members)]
    assert made == [[-1, 0, 1, 8], [0, 1, 2, 10], [1, 2, 1, 1]]


def test_the_number_of_steps_does_not_depend_on_what_lies_between() -> None:
    grid = SliceGrid.of(hopping(600, 1))
    assert len(steps(grid, [(0, -(10**15)), (0, 0), (0, 10**15)], 0, -NEVER, NEVER).keys) <= 7
