"""One event followed by another within a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest

from muntin import INFINITY, ClipPolicy, Event, TimestampPolicy, Window, tumbling
from muntin.errors import PolicyError
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import HoppingWindows
from muntin_patterns import FollowedBy, Match, Step


def pairs(events: Sequence[Event[Step[str]]], within: int, window: Window = Window(0, 30)) -> list[str]:  # noqa: B008
    rows = FollowedBy[str](within).compute_result(events, window)
    return sorted(f"{row.payload.first}{row.payload.second}" for row in rows)


def over_windows(script: Script, windows: HoppingWindows, within: int) -> list[tuple[int, Match[str]]]:
    module: FollowedBy[str] = FollowedBy(within)
    query = WindowedQuery(windows, [Computation(module)], ClipPolicy.RIGHT, TimestampPolicy.UNCHANGED)
    return [(row.start, row.value) for row in script.close().run(query).get(None, [])]


def test_the_second_starts_within_the_time_after_the_end_of_the_first() -> None:
    # 0    5    10   15   20
    # [-a)
    #        [-b)
    #                     [c)
    events = [Event(0, 3, Step("a")), Event(7, 10, Step("b")), Event(20, 22, Step("c"))]
    assert pairs(events, within=4) == ["ab"]
    assert pairs(events, within=10) == ["ab", "bc"]
    assert pairs(events, within=17) == ["ab", "ac", "bc"]


def test_both_ends_of_the_time_are_included() -> None:
    # [-a)          a ends at 3
    #    [b)        b starts at 3, at once
    #        [c)    c starts at 7, after 4
    events = [Event(0, 3, Step("a")), Event(3, 4, Step("b")), Event(7, 8, Step("c"))]
    assert pairs(events, within=0) == ["ab"]
    assert pairs(events, within=3) == ["ab", "bc"]
    assert pairs(events, within=4) == ["ab", "ac", "bc"]


def test_events_that_overlap_are_no_pair() -> None:
    # [---a----)
    #    [---b----)
    assert pairs([Event(0, 9, Step("a")), Event(3, 12, Step("b"))], within=30) == []


def test_a_step_says_whether_it_may_open_or_close() -> None:
    # [a)  [b)  [c)      only a opens, only c closes
    steps = [Step("a", True, False), Step("b", False, False), Step("c", False, True)]
    assert pairs([Event(5 * at, 5 * at + 2, step) for at, step in enumerate(steps)], within=30) == ["ac"]


def test_an_event_that_has_not_ended_opens_no_match() -> None:
    # [a- - - -
    #      [b)
    assert pairs([Event(0, INFINITY, Step("a")), Event(5, 7, Step("b"))], within=30) == []


def test_several_that_end_together_are_all_followed() -> None:
    # [a)
    # [b)
    #      [c)
    assert pairs([Event(0, 2, Step("a")), Event(0, 2, Step("b")), Event(5, 7, Step("c"))], within=5) == ["ac", "bc"]


def test_a_match_is_a_point_at_the_start_of_the_second() -> None:
    rows = FollowedBy[str](timedelta(microseconds=4)).compute_result(
        [Event(0, 3, Step("a")), Event(5, 9, Step("b"))], Window(0, 30)
    )
    assert rows == [Event(5, 6, Match("a", "b", ended=3, started=5))]


def test_with_tumbling_windows_and_a_reach_each_pair_is_reported_once() -> None:
    # 0         10        20        30
    # [-a)      :         :
    #       [b) :         :          a is followed by b in its own window,
    #           :  [c)    :          both by c in the next; a by c after 10, the longest time
    script = Script().insert("1", 0, 3, Step("a")).insert("2", 6, 8, Step("b")).insert("3", 13, 15, Step("c"))
    assert over_windows(script, tumbling(10, reach=11), within=10) == [
        (6, Match("a", "b", 3, 6)),
        (13, Match("a", "c", 3, 13)),
        (13, Match("b", "c", 8, 13)),
    ]


def test_one_tick_of_reach_less_would_lose_a_first_and_is_refused() -> None:
    # 0         10
    # [-a)      [b)     b starts at the start of its window, 7 after a
    script = Script().insert("1", 0, 3, Step("a")).insert("2", 10, 12, Step("b"))
    assert over_windows(script, tumbling(10, reach=8), within=7) == [(10, Match("a", "b", 3, 10))]
    with pytest.raises(PolicyError, match=r"write: tumbling\(10, reach=8\)"):
        over_windows(script, tumbling(10, reach=7), within=7)
    alone: FollowedBy[str] = FollowedBy(7)
    lost = alone.compute_result([Event(10, 12, Step("b"))], Window(10, 20))  # all that is a member then
    assert not lost


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_the_definition(seed: int) -> None:
    random = Random(seed)
    steps = [Step(label, random.random() < 0.7, random.random() < 0.7) for label in "abcdefgh"]
    starts = [random.randrange(-10, 30) for _ in steps]
    events = [Event(start, start + random.randint(1, 9), step) for start, step in zip(starts, steps, strict=True)]
    window, within = Window(0, 20), random.randrange(15)
    expected = [
        f"{a.payload.label}{b.payload.label}"
        for a in events
        for b in events
        if a is not b
        and a.payload.opens
        and b.payload.closes
        and 0 <= b.start - a.end <= within
        and window.start <= b.start < window.end
    ]
    assert pairs(events, within, window) == sorted(expected)
