"""Hopping and tumbling windows."""

from __future__ import annotations

import pytest

from muntin import EARLIEST, INFINITY, hopping, tumbling
from tests.core.build import Axis


def test_an_event_is_in_every_tumbling_window_it_overlaps() -> None:
    """
              0    5    10   15
    event       [------)            2 to 10
    windows   [----)
                   [----)           and not [10, 15): an end is not part of a lifetime
    """
    axis = Axis(tumbling(5), (2, 10))
    assert axis.ending(INFINITY) == [(0, 5), (5, 10)]
    assert axis.overlapping(2, 10) == [(0, 5), (5, 10)]
    assert axis.overlapping(2, 11) == [(0, 5), (5, 10), (10, 15)]


def test_hopping_windows_overlap() -> None:
    """
              -8   -4   0    4    8
    event                  !            a point at 3
    windows        [---------)          [-4, 6), as 10 long every 4
                        [---------)     [0, 10)
    """
    axis = Axis(hopping(10, 4), (3, 4))
    assert axis.ending(INFINITY) == [(-4, 6), (0, 10)]


def test_a_point_at_a_boundary_is_in_the_window_that_starts_there() -> None:
    assert Axis(tumbling(5), (5, 6)).ending(INFINITY) == [(5, 10)]
    assert Axis(tumbling(5), (-5, -4)).ending(INFINITY) == [(-5, 0)]
    assert Axis(tumbling(5), (-1, 0)).ending(INFINITY) == [(-5, 0)]


def test_an_event_between_two_windows_is_in_none() -> None:
    """
              0    4    8    12
    windows   [--)      [--)            3 long every 8
    events        [--)                  3 to 7: in the gap
                  [-----)               3 to 8: still
                  [------)              3 to 9: in the second
    """
    assert Axis(hopping(3, 8), (3, 7)).ending(INFINITY) == []
    assert Axis(hopping(3, 8), (3, 8)).ending(INFINITY) == []
    assert Axis(hopping(3, 8), (3, 9)).ending(INFINITY) == [(8, 11)]
    assert Axis(hopping(3, 8), (3, 7)).first_open() == (8, 11)  # a hint at most: looking there is early, never late
    assert not next(iter(Axis(hopping(3, 8), (3, 7)).events)).is_member


def test_windows_start_at_the_offset_in_both_directions() -> None:
    assert Axis(tumbling(7, 3), (-5, 4)).ending(INFINITY) == [(-11, -4), (-4, 3), (3, 10)]
    assert Axis(hopping(4, 9, -20), (0, 8)).ending(INFINITY) == [(-2, 2), (7, 11)]


def test_a_reach_keeps_an_event_a_member_after_its_end() -> None:
    """
              0    5    10
    event      [-)                      1 to 3, with a reach of 4: a member up to 7
    windows   [----)
                   [----)
    """
    axis = Axis(tumbling(5, reach=4), (1, 3), (20, INFINITY))
    assert axis.ending(10) == [(0, 5), (5, 10)]
    assert next(iter(axis.events)).end == 3


def test_windows_are_listed_up_to_a_limit_and_after_another() -> None:
    axis = Axis(tumbling(5), (0, 20))
    assert axis.ending(15) == [(0, 5), (5, 10), (10, 15)]
    assert axis.ending(14) == [(0, 5), (5, 10)]
    assert axis.ending(20, after=10) == [(10, 15), (15, 20)]
    assert axis.overlapping(0, 20, limit=9) == [(0, 5)]


def test_an_event_without_an_end_has_windows_up_to_the_horizon() -> None:
    axis = Axis(tumbling(5), (2, INFINITY))
    assert axis.ending(INFINITY, horizon=11) == [(0, 5), (5, 10), (10, 15)]
    assert axis.ending(INFINITY, horizon=10) == [(0, 5), (5, 10)]
    assert axis.assigner.next_horizon(10) == 11
    assert axis.assigner.next_horizon(11) == 16


def test_far_apart_events_do_not_enumerate_the_gap_between_them() -> None:
    far = 2**62
    axis = Axis(hopping(10, 5), (0, 1), (far, far + 1), (-far, -far + 1))
    found = axis.ending(INFINITY)
    assert len(found) == 6
    assert all(start % 5 == 0 and end - start == 10 for start, end in found)
    assert axis.ending(100) == found[:4]


@pytest.mark.parametrize("at", [2**62, -(2**62), 2**62 + 3, 0])
def test_windows_are_exact_at_huge_times(at: int) -> None:
    for start, end in Axis(hopping(7, 3, 1), (at, at + 1)).ending(INFINITY):
        assert start <= at < end
        assert (start - 1) % 3 == 0
    assert len(Axis(hopping(6, 3), (at, at + 1)).ending(INFINITY)) == 2


def test_the_frontier_is_the_first_window_that_ends_after_the_limit() -> None:
    axis = Axis(hopping(10, 4), (3, 40))
    assert axis.close(10) == 4
    assert axis.close(13) == 4
    assert axis.close(14) == 8
    assert axis.close(5) == 8  # it never goes back
    assert axis.ending(INFINITY)[0] == (8, 18)
    assert axis.overlapping(0, 9) == [(8, 18)]
    assert axis.close(INFINITY) == INFINITY
    assert axis.ending(INFINITY) == []


def test_nothing_is_closed_before_the_first_punctuation() -> None:
    assert Axis(tumbling(5), (3, 4)).close(EARLIEST) == EARLIEST


def test_the_first_open_window_has_a_member_past_the_frontier() -> None:
    axis = Axis(tumbling(5), (2, 13), (31, 32))
    assert axis.first_open() == (0, 5)
    axis.close(10)
    assert axis.first_open() == (10, 15)
    axis.close(15)
    assert axis.first_open() == (30, 35)
    axis.close(35)
    assert axis.first_open() is None


def test_the_next_end_is_that_of_a_window_with_a_member() -> None:
    axis = Axis(tumbling(5), (2, 13), (31, 32))
    assert [axis.assigner.next_end(axis.events, after) for after in (EARLIEST, 4, 5, 14, 15, 35)] == [
        5,
        5,
        10,
        15,
        35,
        INFINITY,
    ]


def test_windows_that_only_the_future_opens_end_after_the_punctuation() -> None:
    assert Axis(hopping(10, 4)).assigner.start_after(10) == 4
    assert Axis(hopping(3, 8)).assigner.start_after(3) == 8
