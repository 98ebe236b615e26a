"""Events are found by the ticks at which they begin and end, as revisions leave them."""

from __future__ import annotations

import pytest

from muntin import INFINITY
from muntin_engine.recording.event_lifetimes import EventLifetimes

KEY = ("a",)


# 1      [0 ------- 10)
# 2      [0 -- 5)
# 3           [5 -- 10)
# 4                 [10 -------------
@pytest.fixture
def events() -> EventLifetimes:
    lifetimes = EventLifetimes()
    for event, start, end in ((1, 0, 10), (2, 0, 5), (3, 5, 10), (4, 10, INFINITY)):
        lifetimes.put(KEY, event, start, end)
    return lifetimes


def test_events_cut_where_no_member_begins_or_ends(events: EventLifetimes) -> None:
    assert events.cutting_events(KEY, {1}, 5) == {2, 3}
    assert events.cutting_events(KEY, {2}, 5) == set()
    assert events.cutting_events(KEY, {1}, INFINITY) == set()
    assert events.cutting_events(("b",), {1}, 5) == set()


def test_a_part_of_an_event_is_bounded_by_others(events: EventLifetimes) -> None:
    assert events.bounding_events(KEY, 1, 5, 10, is_clipped=False) == {2}
    assert events.bounding_events(KEY, 1, 0, 5, is_clipped=False) == {3}
    assert events.bounding_events(KEY, 1, 0, 5, is_clipped=True) == {3}
    assert events.bounding_events(KEY, 1, 5, 10, is_clipped=True) == set()
    assert events.bounding_events(KEY, 1, 0, 10, is_clipped=False) == set()


def test_events_overlap_a_part_of_the_axis(events: EventLifetimes) -> None:
    assert events.overlapping_events(KEY, 4, 6) == {1, 2, 3}
    assert events.overlapping_events(KEY, 10, 11) == {4}


def test_a_revision_moves_an_event_and_a_retraction_removes_it(events: EventLifetimes) -> None:
    events.put(KEY, 2, 0, 7)
    assert events.cutting_events(KEY, {1}, 7) == {2}
    assert events.cutting_events(KEY, {1}, 5) == {3}
    events.put(KEY, 2, 0, 0)
    assert 2 not in events
    assert events.overlapping_events(KEY, 0, 4) == {1}
