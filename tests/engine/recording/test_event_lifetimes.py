"""Events are found by the ticks at which they begin and end, as revisions leave them."""

from __future__ import annotations

import pytest

from muntin import INFINITY
from muntin_engine.recording.event_lifetimes import EventLifetimes

KEY = ("a",)


@pytest.fixture
def events() -> EventLifetimes:
    """Four events of one key.

    1      [0 ------- 10)
    2      [0 -- 5)
    3           [5 -- 10)
    4                 [10 -------------
    """
    lifetimes = EventLifetimes()
    for event, start, end in ((1, 0, 10), (2, 0, 5), (3, 5, 10), (4, 10, INFINITY)):
        lifetimes.put(KEY, event, start, end)
    return lifetimes


def test_events_cut_the_axis_at_a_tick_where_no_member_begins_or_ends(events: EventLifetimes) -> None:
    # the key, the members of a window, and a tick at which it begins or ends
    assert events.cutting_events(KEY, {1}, 5) == {2, 3}
    assert events.cutting_events(KEY, {2}, 5) == set(), "the member ends there"
    assert events.cutting_events(KEY, {1}, INFINITY) == set()
    assert events.cutting_events(("b",), {1}, 5) == set(), "another key has no events"


def test_a_part_of_an_event_is_bounded_by_the_events_that_end_or_begin_there(events: EventLifetimes) -> None:
    # event 1, with its second half, its first half and its whole lifetime
    assert events.bounding_events(KEY, 1, start=5, end=10, is_clipped=False) == {2}
    assert events.bounding_events(KEY, 1, start=0, end=5, is_clipped=False) == {3}
    assert events.bounding_events(KEY, 1, start=0, end=10, is_clipped=False) == set()


def test_a_clipped_part_of_an_event_is_bounded_by_the_events_that_begin_at_its_end(events: EventLifetimes) -> None:
    assert events.bounding_events(KEY, 1, start=0, end=5, is_clipped=True) == {3}
    assert events.bounding_events(KEY, 1, start=5, end=10, is_clipped=True) == set()


def test_events_overlap_a_part_of_the_axis(events: EventLifetimes) -> None:
    assert events.overlapping_events(KEY, start=4, end=6) == {1, 2, 3}
    assert events.overlapping_events(KEY, start=10, end=11) == {4}


def test_an_event_with_another_end_is_found_there_and_one_that_ends_at_its_start_is_gone(
    events: EventLifetimes,
) -> None:
    events.put(KEY, 2, start=0, end=7)
    assert events.cutting_events(KEY, {1}, 7) == {2}
    assert events.cutting_events(KEY, {1}, 5) == {3}

    events.put(KEY, 2, start=0, end=0)
    assert 2 not in events
    assert events.overlapping_events(KEY, start=0, end=4) == {1}
