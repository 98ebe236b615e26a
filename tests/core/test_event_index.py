"""The index of events, ordered by end, then start.

         0    5    10
a        [----)         in [0, 5)
b          [--)         in [2, 5)
c          [-------)    in [2, 10)
d        [------------> in [0, infinity)
e             !         in nothing yet: its membership is empty
"""

from __future__ import annotations

import random

from muntin import EARLIEST, INFINITY
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent
from tests.core.build import index

A = StoredEvent("a", 0, 5, (), 0, 5)
B = StoredEvent("b", 2, 5, (), 2, 5)
C = StoredEvent("c", 2, 10, (), 2, 10)
D = StoredEvent("d", 0, INFINITY, (), 0, INFINITY)
E = StoredEvent("e", 5, 6, (), 5, 5)


def ids(events: object) -> str:
    assert isinstance(events, list)
    return "".join(event.id for event in events)


def test_events_lie_in_order_of_end_then_start() -> None:
    assert ids(list(index(D, C, B, A))) == "abcd"


def test_an_event_is_found_by_its_id_until_it_is_gone() -> None:
    events = index(A, B)
    assert events.get("b") is B
    assert events.get("x") is None
    events.replace([B], [])
    assert events.get("b") is None
    assert ids(list(events)) == "a"


def test_an_event_is_replaced_by_its_next_version() -> None:
    events = index(A, B, C)
    longer = A._replace(end=12, until=12)
    events.replace([A], [longer])
    assert ids(list(events)) == "bca"
    assert events.get("a") is longer


def test_overlap_is_half_open_on_both_sides() -> None:
    events = index(A, B, C, D, E)
    assert ids(events.overlapping(5, 6)) == "cd"
    assert ids(events.overlapping(4, 5)) == "abcd"
    assert ids(events.overlapping(-3, 0)) == ""
    assert ids(events.overlapping(-3, 1)) == "ad"
    assert ids(events.overlapping(100, 101)) == "d"


def test_what_has_ended_at_a_tick_is_apart_from_what_lasts_past_it() -> None:
    events = index(A, B, C, D)
    assert (ids(events.until_at_most(5)), ids(events.until_after(5))) == ("ab", "cd")
    assert (ids(events.until_at_most(4)), ids(events.until_after(4))) == ("", "abcd")
    assert (ids(events.until_at_most(INFINITY - 1)), ids(events.until_after(INFINITY - 1))) == ("abc", "d")


def test_the_earliest_start_is_that_of_an_event_which_lasts_past_a_tick() -> None:
    events = index(A, B, C)
    assert events.earliest(0) == 0
    assert events.earliest(5) == 2
    assert events.earliest(10) == INFINITY


def test_forgetting_keeps_what_is_still_needed() -> None:
    events = index(A, B, C, D)
    assert ids(events.forget(5, lambda event: event.id == "b")) == "a"
    assert ids(list(events)) == "bcd"
    assert events.get("a") is None
    assert ids(events.forget(5, lambda event: True)) == ""
    assert ids(events.forget(5, lambda event: False)) == "b"
    assert len(events) == 2


def test_an_index_agrees_with_a_plain_search_whatever_is_done_to_it() -> None:
    random_numbers = random.Random(3)
    events, plain = EventIndex(), list[StoredEvent]()
    for id in range(300):
        start = random_numbers.randrange(-50, 50)
        end = INFINITY if id % 11 == 0 else start + random_numbers.randrange(20)
        new = StoredEvent(id, start, end, (), start, end)
        gone = random_numbers.sample(plain, min(len(plain), random_numbers.randrange(3)))
        events.replace(gone, [new])
        plain = [event for event in plain if event not in gone] + [new]
        if id % 5 == 0:
            past = random_numbers.randrange(-50, 0)
            forgotten = events.forget(past)
            assert sorted(forgotten) == sorted(event for event in plain if event.until <= past)
            plain = [event for event in plain if event.until > past]
        tick = random_numbers.randrange(-60, 60)
        found = [event for event in plain if event.since < tick + 7 and event.until > tick and event.is_member]
        assert sorted(events.overlapping(tick, tick + 7)) == sorted(found)
        assert sorted(events.until_after(tick)) == sorted(event for event in plain if event.until > tick)
        assert events.earliest(tick) == min((e.since for e in plain if e.until > tick), default=INFINITY)
        ended = [event.until for event in plain if event.is_member and event.until < INFINITY]
        assert events.last_end() == max(ended, default=EARLIEST)
