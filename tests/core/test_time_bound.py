"""Time-bound output: nothing is put out before the event that it comes from, and nothing of the past is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import pytest

from muntin import (
    INFINITY,
    EmitPolicy,
    Event,
    IncrementalAggregate,
    Module,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    count_by_start,
    snapshot,
    tumbling,
)
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.core.build import Feed, Members, output, query, revision, row, spelled

TIME_BOUND: Final[dict[str, Any]] = {"emit": EmitPolicy.EAGER, "timestamps": TimestampPolicy.TIME_BOUND}


class RunningMembers(IncrementalAggregate[int, list[int], tuple[int, ...]]):
    """Changes its state in place, and counts what it is given."""

    name, version = "test.running_members", "1.0.0"

    def __init__(self) -> None:
        self.added = 0

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        self.added += len(payloads)
        state.extend(payloads)
        return state

    def compute_result(self, state: list[int]) -> tuple[int, ...]:
        return tuple(sorted(state))


class Gathered(Operator[int, tuple[int, ...]]):
    """Says all members for the whole window, which it must not if it is time-bound."""

    name, version = "test.gathered", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> Iterable[Event[tuple[int, ...]]]:
        return [Event(window.start, window.end, tuple(sorted(event.payload for event in events)))]


def told(result: BatchResult) -> list[tuple[Any, ...]]:
    """The output of a batch, without ids."""
    return [(str(change.kind), change.start, change.new_end or change.end, change.value) for change in output(result)]


def test_time_bound_output_is_shortened_where_it_changes() -> None:
    """
                  0    5    10   15   20
    a             [------------------->      1, said at once for all of [0, 20)
    b                    [------->           from 7 on
    deleted              [                   and never there
    """
    feed = Feed(query(tumbling(20), **TIME_BOUND))
    assert spelled(feed.batch(row("a", 0, value=1))) == ["+1 [0,20) (1,)"]
    assert spelled(feed.batch(row("b", 7, value=2))) == ["~1 [0,20->7) (1,)", "+2 [7,20) (1, 2)"]
    assert spelled(feed.batch(revision("b", 7, INFINITY, 7), watermark=7)) == ["-2 [7,20) (1, 2)", "+3 [7,20) (1,)"]


@pytest.mark.parametrize("module", [Members(), RunningMembers()])
def test_a_result_is_cut_where_each_member_starts_however_they_come(module: Module) -> None:
    """
                  0    5    10   15   20
    a             [------------------->      1
    b                    [------------->     2, from 7 on
    c                         [-------->     3, from 12 on
    """
    a, b, c = row("a", 0, value=1), row("b", 7, value=2), row("c", 12, value=3)
    feed = Feed(query(tumbling(20), module, **TIME_BOUND))
    assert spelled(feed.batch(a, b, c)) == ["+1 [0,7) (1,)", "+2 [7,12) (1, 2)", "+3 [12,20) (1, 2, 3)"]
    feed = Feed(query(tumbling(20), module, **TIME_BOUND))
    assert spelled(feed.batch(c)) == ["+1 [12,20) (3,)"]
    assert told(feed.batch(a, b)) == [
        ("retract", 12, 20, ((3,),)),
        ("insert", 0, 7, ((1,),)),
        ("insert", 7, 12, ((1, 2),)),
        ("insert", 12, 20, ((1, 2, 3),)),
    ]


def test_members_that_come_in_order_are_added_to_a_state_once() -> None:
    module = RunningMembers()
    feed = Feed(query(tumbling(1000), module, **TIME_BOUND))
    for start in range(100):
        feed.batch(row(start, start, value=start))
    assert module.added == 101  # the second event of the window builds the state that the others are added to


def test_an_event_that_never_ends_takes_nothing_of_another_into_new_windows_before_that_starts() -> None:
    """
                  0    10   20   30
    a             [----------------------->  in sight up to 10
    b                         [>             24: the windows from 10 and from 20 on come into sight
    """
    feed = Feed(query(tumbling(10), **TIME_BOUND))
    assert spelled(feed.batch(row("a", 0, value=1), watermark=5)) == ["+1 [0,10) (1,)"]
    assert spelled(feed.batch(row("b", 24, 25, 2))) == ["+2 [10,20) (1,)", "+3 [20,24) (1,)", "+4 [24,30) (1, 2)"]


def test_nor_where_the_lifetimes_are_those_of_an_operator() -> None:
    policies = {"timestamps": TimestampPolicy.UNCHANGED, "contract": OutputContract.TIME_BOUND}
    feed = Feed(query(tumbling(10), Gathered(), emit=EmitPolicy.EAGER, **policies))
    assert told(feed.batch(row("a", 0, value=1), watermark=5)) == [("insert", 0, 10, (1,))]
    new = [("insert", 10, 20, (1,)), ("insert", 20, 24, (1,)), ("insert", 24, 30, (1, 2))]
    assert sorted(told(feed.batch(row("b", 24, 25, 2)))) == new


def test_a_window_that_another_event_brought_into_sight_is_not_new_for_one_that_never_ends() -> None:
    """
                  20   25   30
    a             [-)~~~~                    20 to 22, and with its reach until 27: brings the window from 24 on
    b               [------------->          a member of it too
    c                  [---------->          from 25 on
    """
    feed = Feed(query(tumbling(6, reach=5), has_ids=False, **TIME_BOUND))
    feed.batch(row(None, 20, 22, 1), row(None, 22, value=2))
    assert told(feed.batch(row(None, 25, value=3))) == [
        ("revise", 24, 25, ((1, 2),)),
        ("insert", 25, 30, ((1, 2, 3),)),
    ]


def test_a_count_window_is_known_at_its_last_tick() -> None:
    feed = Feed(query(count_by_start(2), **TIME_BOUND))
    assert spelled(feed.batch(row("a", 0, 1, 1), row("b", 9, 10, 2))) == ["+1 [9,10) (1, 2)"]
    assert spelled(feed.batch(row("c", 5, 6, 3))) == ["-1 [9,10) (1, 2)", "+2 [5,6) (1, 3)", "+3 [9,10) (2, 3)"]


def test_a_time_bound_snapshot_that_is_cut_speaks_for_its_first_part() -> None:
    """
                  0    5    10
    a             [---------)
    b                [--)                cuts at 3 and at 6: what was said stands up to 3
    b gone                               the merged snapshot says it anew from 3 on
    a gone                               and all that was ever said of it goes
    """
    feed = Feed(query(snapshot(), **TIME_BOUND))
    assert spelled(feed.batch(row("a", 0, 10, 1))) == ["+1 [0,10) (1,)"]
    assert spelled(feed.batch(row("b", 3, 6, 2))) == ["~1 [0,10->3) (1,)", "+2 [3,6) (1, 2)", "+3 [6,10) (1,)"]
    assert spelled(feed.batch(revision("b", 3, 6, 3))) == ["-2 [3,6) (1, 2)", "-3 [6,10) (1,)", "+4 [3,10) (1,)"]
    assert sorted(spelled(feed.batch(revision("a", 0, 10, 0)))) == ["-1 [0,3) (1,)", "-4 [3,10) (1,)"]
