"""Count windows."""

from __future__ import annotations

import pytest

from muntin import EARLIEST, INFINITY, count_by_end, count_by_start
from muntin_engine.evaluators.general.assignment.marked import CountAssigner
from tests.core.build import Axis, stored


def test_a_window_spans_n_distinct_starts() -> None:
    """
              0    5    10
    starts    !  !     !  !         0, 3 (twice), 9, 12
    windows   [--)                  0 to 3 and a tick: three events
                 [-----)            3 to 9
                       [--)         9 to 12
    """
    axis = Axis(count_by_start(2), (0, 20), (3, 4), (3, 9), (9, 10), (12, INFINITY))
    assert axis.ending(INFINITY) == [(0, 4), (3, 10), (9, 13)]


def test_fewer_than_n_starts_left_open_no_window() -> None:
    assert Axis(count_by_start(3), (0, 1), (5, 6)).ending(INFINITY) == []
    assert Axis(count_by_start(3), (0, 1), (5, 6)).first_open() is None
    assert Axis(count_by_start(1), (5, 6)).ending(INFINITY) == [(5, 6)]


def test_an_event_that_has_not_ended_is_not_counted_by_end() -> None:
    axis = Axis(count_by_end(2), (0, 5), (1, INFINITY), (2, 8))
    assert axis.ending(INFINITY) == [(5, 9)]
    assert [event.is_member for event in axis.events] == [True, True, False]


def test_an_event_is_a_member_by_its_counted_tick_alone() -> None:
    axis = Axis(count_by_end(1), (0, 5))
    assert [(event.since, event.until) for event in axis.events] == [(5, 6)]


def test_a_tick_that_is_counted_changes_every_window_around_it() -> None:
    """
              0    5    10   15
    starts    !    !    !    !          0, 5, 10, 15; the tick 7 may come
    windows   [---------)               around 7
                   [---------)          around 7
    """
    axis = Axis(count_by_start(3), (0, 1), (5, 6), (10, 11), (15, 16))
    assert axis.overlapping(7, 8) == [(0, 11), (5, 16)]
    assert axis.overlapping(11, 12) == [(5, 16)]
    assert axis.overlapping(16, 17) == []
    assert axis.overlapping(0, 20, limit=11) == [(0, 11)]


def test_windows_are_listed_by_their_end() -> None:
    axis = Axis(count_by_start(2), (0, 1), (3, 4), (9, 10), (12, 13))
    assert axis.ending(9) == [(0, 4)]
    assert axis.ending(10) == [(0, 4), (3, 10)]
    assert axis.ending(INFINITY, after=4) == [(3, 10), (9, 13)]


def test_the_frontier_is_the_first_start_whose_window_is_not_complete_before_the_limit() -> None:
    axis = Axis(count_by_start(2), (0, 1), (3, 4), (9, 10))
    assert axis.close(3) == 0
    assert axis.close(4) == 3
    assert axis.close(9) == 3
    assert axis.close(30) == 9
    assert axis.ending(INFINITY) == []
    axis.assigner.add([stored(axis.assigner, "late", 31, 32)])
    assert axis.ending(INFINITY) == [(9, 32)]


def test_the_frontier_never_passes_a_tick_that_may_still_be_counted() -> None:
    axis = Axis(count_by_start(1), (0, 1), (50, 51))
    assert axis.close(20) == 20
    axis.assigner.add([stored(axis.assigner, "new", 20, 21)])
    assert axis.ending(INFINITY) == [(20, 21), (50, 51)]


def test_output_may_start_as_early_as_a_counted_tick_whose_window_is_not_full() -> None:
    axis = Axis(count_by_start(3), (0, 1), (5, 6))
    axis.close(100)
    assert axis.assigner.first_start(EARLIEST) == 0
    assert Axis(count_by_start(3)).assigner.first_start(INFINITY) == INFINITY


@pytest.mark.parametrize("at", [-(2**62), 2**62])
def test_huge_times_are_counted_like_any_other(at: int) -> None:
    axis = Axis(count_by_start(2), (at, at + 1), (at + 5, at + 6))
    assert axis.ending(INFINITY) == [(at, at + 6)]
    assert axis.assigner.next_end(axis.events, at + 1) == at + 6
    assert axis.assigner.next_end(axis.events, at + 6) == INFINITY


def test_no_window_reaches_across_times_that_were_forgotten() -> None:
    """
              0    5    10   15   20   25   30   35
    starts    !    !    !    !    !    !    !    !
    waiting        !                                    5: its windows are 0-5 and 5-10
    windows   [---------)                               0 to 5 and 5 to 10, closed: none before the watermark at 33
    needed    !    !    !                   !    !      and 30, with which a window ends that is still to come
    """
    axis = Axis(count_by_start(2), *((start, start + 1) for start in range(0, 40, 5)))
    assert isinstance(axis.assigner, CountAssigner)
    gone = axis.assigner.release(axis.events, [stored(axis.assigner, 1, 5, 6)], 33)
    needed = {event.since for event in axis.events} - {event.since for event in gone}
    assert needed == {0, 5, 10, 30, 35}
    axis.assigner.remove(gone)
    assert axis.ending(INFINITY) == [(0, 6), (5, 11), (30, 36)]
    assert axis.assigner.to_data() == [EARLIEST, 30]
    again = Axis(count_by_start(2), *((start, start + 1) for start in sorted(needed)))
    again.assigner.restore([5, 30])
    assert again.ending(INFINITY) == [(5, 11), (30, 36)]
