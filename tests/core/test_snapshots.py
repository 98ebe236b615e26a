"""Snapshot windows."""

from __future__ import annotations

from muntin import INFINITY, snapshot
from tests.core.build import Axis, extents, stored


def test_each_endpoint_is_a_boundary() -> None:
    """
              0    5    10
    events    [------)              0 to 7
                 [-------)          3 to 11
                 [---)              3 to 7
    windows   [-)                   0 to 3
                 [---)              3 to 7
                     [---)          7 to 11
    """
    axis = Axis(snapshot(), (0, 7), (3, 11), (3, 7))
    assert axis.ending(INFINITY) == [(0, 3), (3, 7), (7, 11)]


def test_a_boundary_stays_while_one_endpoint_is_left_there() -> None:
    axis = Axis(snapshot(), (0, 7), (3, 11), (3, 7))
    axis.assigner.remove([stored(axis.assigner, 2, 3, 7)])
    assert axis.ending(INFINITY) == [(0, 3), (3, 7), (7, 11)]
    axis.assigner.remove([stored(axis.assigner, 1, 3, 11)])
    assert axis.ending(INFINITY) == [(0, 7)]


def test_an_open_event_leaves_the_last_snapshot_open() -> None:
    axis = Axis(snapshot(), (2, INFINITY), (4, 6))
    assert axis.ending(INFINITY) == [(2, 4), (4, 6), (6, INFINITY)]
    assert axis.ending(INFINITY - 1) == [(2, 4), (4, 6)]


def test_a_stretch_is_covered_by_the_snapshots_that_share_a_tick_with_it() -> None:
    """
              0    5    10   15
    events    [----)                0 to 5
                        [----)      10 to 15
    windows   [----)
                   [----)           5 to 10: without a member
                        [----)
    """
    axis = Axis(snapshot(), (0, 5), (10, 15))
    assert axis.overlapping(4, 5) == [(0, 5)]
    assert axis.overlapping(5, 6) == [(5, 10)]
    assert axis.overlapping(4, 11) == [(0, 5), (5, 10), (10, 15)]
    assert axis.overlapping(-9, 0) == []
    assert axis.overlapping(15, 20) == []
    assert axis.overlapping(0, 20, limit=10) == [(0, 5), (5, 10)]


def test_the_frontier_is_the_last_endpoint_up_to_the_limit() -> None:
    axis = Axis(snapshot(), (0, 5), (3, 12))
    assert axis.close(4) == 3
    assert axis.ending(INFINITY) == [(3, 5), (5, 12)]
    assert axis.close(5) == 5
    assert axis.first_open() == (5, 12)
    assert axis.close(11) == 5
    assert axis.close(12) == 12
    assert axis.first_open() is None


def test_the_frontier_stays_a_boundary_when_the_events_that_made_it_are_gone() -> None:
    """
              0    5    10
    first     [----)                gone after the frontier came to 5
    second         [----)
    third       [-------------)     1 to 15: as long as it lives, its own start is no boundary any more
    """
    axis = Axis(snapshot(), (0, 5), (1, 15))
    axis.close(5)
    axis.assigner.remove([stored(axis.assigner, 0, 0, 5)])
    assert axis.ending(INFINITY) == [(5, 15)]
    assert axis.overlapping(0, 20) == [(5, 15)]


def test_negative_and_huge_times_are_boundaries_like_any_other() -> None:
    far = 2**62
    assert Axis(snapshot(), (-far, far), (-3, 0)).ending(INFINITY) == [(-far, -3), (-3, 0), (0, far)]


def test_the_next_end_is_the_next_endpoint() -> None:
    axis = Axis(snapshot(), (0, 5), (3, INFINITY))
    assert [axis.assigner.next_end(axis.events, after) for after in (0, 3, 4, 5)] == [3, 5, 5, INFINITY]


def test_windows_after_a_tick_are_listed_alone() -> None:
    axis = Axis(snapshot(), (0, 5), (3, 9))
    assert extents(axis.assigner.ending((), 4, INFINITY, 0)) == [(3, 5), (5, 9)]
    assert extents(axis.assigner.ending((), 5, INFINITY, 0)) == [(5, 9)]
