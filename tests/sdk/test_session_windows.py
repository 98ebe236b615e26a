"""Session windows: what belongs together, and what a query may ask of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import pytest

from muntin import INFINITY, Axis, Event, Needs, Window, session, snapshot
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import SessionWindows, Stretches
from muntin_stats import Count


def sessions(script: Script, gap: int) -> list[tuple[int, int, int]]:
    """Return start, end and number of members of each session of a stream of one key."""
    rows = script.close().run(WindowedQuery(session(gap), [Computation(Count())]))[None]
    return [(row.window.start, row.window.end, row.value[0]) for row in rows]


def test_an_event_a_gap_after_another_is_in_its_session_and_one_a_tick_later_is_not() -> None:
    # 0    5    10   15   20
    # a----b         |            5 apart: [0, 10)
    # a-----b        |            6 apart: [0, 5) and [6, 11)
    assert sessions(Script().point("a", 0, 0).point("b", 5, 0), 5) == [(0, 10, 2)]
    assert sessions(Script().point("a", 0, 0).point("b", 6, 0), 5) == [(0, 5, 1), (6, 11, 1)]


def test_of_an_event_that_lasts_the_gap_follows_the_last_tick() -> None:
    # 0    5    10   15   20
    # [a----)        |            the last tick is 6
    #           b    |            in the session: 11 is 5 after 6
    #            c                not: a session of its own
    lasting = Script().insert("a", 0, 7)
    assert sessions(lasting.point("b", 11, 0), 5) == [(0, 16, 2)]
    assert sessions(lasting.point("c", 12, 0), 5) == [(0, 11, 1), (12, 17, 1)]


def test_a_session_with_an_event_that_has_not_ended_does_not_end() -> None:
    rows = Script().insert("a", 3, INFINITY).point("b", 400, 0).run(WindowedQuery(session(5), [Computation(Count())]))
    assert rows == {}
    assert list(session(5).cut(Stretches([session(5).membership(3, INFINITY)]), 1000, INFINITY)) == [
        Window(3, INFINITY)
    ]


def test_without_a_gap_events_that_touch_are_one_session() -> None:
    script = Script().insert("a", 0, 5).insert("b", 5, 9).insert("c", 10, 12)
    assert session() == SessionWindows(1)
    assert str(session()) == "session()"
    assert [row[:2] for row in sessions(script, 1)] == [(0, 9), (10, 12)]


def histories() -> Iterator[list[Event[str]]]:
    for seed in range(80):
        random = Random(seed)
        starts = [random.randrange(-10, 50) for _ in range(random.randrange(9))]
        yield [Event(start, random.choice((start + 1, start + 1, start + 4, start + 12)), "") for start in starts]


def joined(events: Sequence[Event[str]], gap: int) -> list[Window]:
    """Return the sessions by joining each two events that are near each other, and what is joined to them."""
    group = list(range(len(events)))
    for one, other in combinations(range(len(events)), 2):
        first, second = sorted((events[one], events[other]), key=lambda event: event.start)
        if second.start - (first.end - 1) <= gap:
            old, new = group[other], group[one]
            group = [new if place == old else place for place in group]
    parts = [[event for event, of in zip(events, group, strict=True) if of == place] for place in sorted(set(group))]
    return sorted(Window(min(e.start for e in part), max(e.end for e in part) - 1 + gap) for part in parts)


@pytest.mark.parametrize("gap", [1, 3, 7])
def test_sessions_are_what_is_joined_pair_by_pair(gap: int) -> None:
    kind, found = session(gap), 0
    for events in histories():
        known = Stretches([kind.membership(event.start, event.end) for event in events])
        assert list(kind.cut(known, -100, 200)) == joined(events, gap)
        found += len(joined(events, gap))
    assert found > 100


class Counting(list[tuple[int, int]]):
    """Counts how many of its parts are read."""

    read = 0

    def __getitem__(self, place: object) -> tuple[int, int]:  # type: ignore[override]  # by number alone
        self.read += 1
        return super().__getitem__(place)  # type: ignore[call-overload, no-any-return]


def test_the_first_session_is_found_without_going_through_those_before_it() -> None:
    known = Stretches([(place * 10, place * 10 + 5) for place in range(100_000)])
    known._covered = parts = Counting(known.covered)
    windows = session(5).cut(known, 600_002, INFINITY)
    assert next(windows) == Window(600_000, 600_005)
    assert 0 < parts.read < 40


def test_sessions_hold_what_starts_less_than_a_gap_after_the_end_of_an_event() -> None:
    assert Needs(reach=10).lacks(session(10)) == ""
    told = Needs(reach=11).lacks(session(10))
    assert told.startswith(
        "needs events to stay members for 11 ticks after their end, and session(10) keeps them for 10"
    )
    assert told.endswith("write: session(11)")
    assert Needs((SessionWindows,), 11).lacks(snapshot()).endswith("write, for example: session(11)")


def test_a_gap_is_spelled_as_time_where_the_axis_is_time() -> None:
    assert session("30 minutes").spell(Axis.TIME) == "session('30 minutes')"
    assert SessionWindows.suggest(0, Axis.TICKS) == "session()"
