"""Events and lifetimes."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest

from muntin import INFINITY, Event, Lifetime
from muntin.errors import StreamError


def test_a_point_event_lasts_one_tick() -> None:
    event = Event.point(4, "hit")
    assert (event.start, event.end, event.duration) == (4, 5, 1)


def test_an_edge_event_lasts_until_more_is_known() -> None:
    event = Event.edge(4, 1.5)
    assert event.end == INFINITY
    assert event.lifetime.is_open
    assert event.ends_at is None


@pytest.mark.parametrize("kind", [Lifetime, lambda start, end: Event(start, end, "payload")])
@pytest.mark.parametrize("end", [3, 2, -4])
def test_an_end_must_lie_after_the_start(kind: type[Lifetime], end: int) -> None:
    with pytest.raises(StreamError, match=rf"must end after it starts, got \[3, {end}\)") as refused:
        kind(3, end)
    assert refused.value.values == {"start": 3, "end": end}


#         0    5    10
# first   [----)
# second       [----)      they touch
# third       [-)          it overlaps both
def test_lifetimes_that_touch_do_not_overlap() -> None:
    first, second, third = Lifetime(0, 5), Lifetime(5, 10), Lifetime(4, 6)
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    assert first.overlaps(third)
    assert second.overlaps(third)


def test_lifetimes_sort_by_start_then_end() -> None:
    assert sorted([Lifetime(2, 4), Lifetime(1, 9), Lifetime(2, 3)]) == [Lifetime(1, 9), Lifetime(2, 3), Lifetime(2, 4)]


def test_times_can_be_read_as_datetimes() -> None:
    event = Event(0, 1_000_000, None)
    assert event.starts_at == datetime(1970, 1, 1, tzinfo=UTC)
    assert event.ends_at == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_events_are_values() -> None:
    event = Event(1, 2, ("a", 1))
    assert pickle.loads(pickle.dumps(event)) == event
    assert len({event, Event(1, 2, ("a", 1))}) == 1
    with pytest.raises(AttributeError):
        event.end = 5  # type: ignore[misc]  # that is the point
