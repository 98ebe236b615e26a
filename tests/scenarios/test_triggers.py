"""When windows are put out early, and what refinements make of it, as streams; well-known triggers of Beam and Flink.

Each case is an emission, the windows, and micro-batches: the rows and what else comes, and the output. Rows are points
of the payload 1, unless they say another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import pytest

from muntin import INFINITY, Window, count_by_start, early, hopping, session, snapshot, tumbling
from muntin.errors import ModuleContractError, ModuleFailedError, PolicyError
from muntin.triggers import (
    Decision,
    Trigger,
    TriggerView,
    after,
    after_count,
    any_of,
    each,
    every,
    every_count,
    past_end,
    percentile,
    repeat,
    until,
)
from muntin.windows import WindowKind
from tests.modules.every_shape import Positive
from tests.modules.refinements import Change, Fails, OnlyIfMoved, Renames
from tests.scenarios.feed import Feed, Total, at, query, revision, row

TENS = tumbling(10)


@dataclass(frozen=True)
class ContinuousEventTime(Trigger):
    """Fires each time the max event time passes a multiple of a period."""

    name: ClassVar[str] = "test.continuous_event_time"

    period: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        following = view.max_event_time // self.period * self.period + self.period
        if state is None or view.max_event_time < state:
            return following if state is None else state, Decision.WAIT
        return following, Decision.FIRE

    def next_event_time(self, state: Any, window: Window) -> int:
        return int(state)


@dataclass(frozen=True)
class Delta(Trigger):
    """Fires when a value is further from that of the last firing than a threshold, at first from the first."""

    name: ClassVar[str] = "test.delta"

    column: str
    threshold: float

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.column,)

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        values = view.values[self.column]
        base = next(iter(values), None) if state is None else state
        far = [value for value in values if abs(value - base) > self.threshold]
        return (far[-1], Decision.FIRE) if far else (base, Decision.WAIT)


Batch = tuple[list[Any], dict[str, Any], list[str]]


def each_one(count: int, *fires: tuple[int, str]) -> list[Batch]:
    """Return micro-batches of one row each, of which some fire."""
    return [([at(1)], {}, [change for place, change in fires if place == number]) for number in range(count)]


CASES: Final[dict[str, tuple[Any, WindowKind, list[Batch]]]] = {
    "a clock wakes windows without rows, from its first reading on": (
        every(60),
        TENS,
        [
            ([at(1)], {}, []),
            ([], {"clock": 70}, []),
            ([], {"clock": 119}, []),
            ([], {"clock": 125}, ["+[0,10) early 0 1"]),
            ([], {"clock": 900}, []),
            ([at(2)], {"clock": 905}, []),
            ([], {"clock": 960}, ["+[0,10) early 1 2"]),
        ],
    ),
    "accumulate": (
        early(every_count(1), refinement="accumulate"),
        TENS,
        [([at(1, 3)], {}, ["+[0,10) early 0 3"]), ([at(2, 8), at(3, 1)], {}, ["+[0,10) early 1 12"])],
    ),
    "discard": (
        early(every_count(2), refinement="discard"),
        TENS,
        [
            ([at(1, 3), at(2, 4)], {}, ["+[0,10) early 0 7"]),
            ([at(11), at(12)], {}, ["+[10,20) early 0 2"]),
            ([at(3, 5)], {}, []),
            ([], {"watermark": 20}, ["+[0,10) final 1 5"]),
        ],
    ),
    "retract": (
        early(every_count(1), refinement="retract"),
        TENS,
        [
            ([at(1, 3)], {}, ["+[0,10) early 0 3"]),
            ([at(2, 8)], {}, ["-[0,10) early 0 3", "+[0,10) early 1 11"]),
            ([], {"watermark": 10}, ["-[0,10) early 1 11", "+[0,10) final 2 11"]),
        ],
    ),
    "a refinement of changes adds up in each window": (
        early(every_count(1), refinement=Change()),
        hopping(10, 5),
        [
            ([at(1, 3)], {}, ["+[-5,5) early 0 3", "+[0,10) early 0 3"]),
            ([at(5, 4)], {}, ["+[0,10) early 1 4", "+[5,15) early 0 4"]),
            ([at(8, 2)], {"watermark": 12}, ["+[-5,5) final 1 0", "+[0,10) final 2 2", "+[5,15) early 1 2"]),
            ([], {"watermark": 15}, ["+[5,15) final 2 0"]),
        ],
    ),
    "a result that hardly moved is not emitted, and the final one is": (
        early(every_count(1), refinement=OnlyIfMoved(2)),
        TENS,
        [
            *each_one(5, (0, "+[0,10) early 0 1"), (3, "+[0,10) early 3 4")),
            ([], {"watermark": 10}, ["+[0,10) final 5 5"]),
        ],
    ),
    "a percentile asks for the newest member of the window itself": (
        percentile(0.5),
        TENS,
        [
            ([at(1, 1, "x")], {}, []),
            ([at(7, 2, "y"), at(2, 2, "y")], {"clock": 5}, ["+[0,10) early 0 4"]),
            ([at(3, 1, "x")], {"clock": 9}, []),
        ],
    ),
    # Beam
    "repeatedly, an element count": (
        every_count(3),
        TENS,
        each_one(7, (2, "+[0,10) early 0 3"), (5, "+[0,10) early 1 6")),
    ),
    "the first of a count and a delay, which starts both anew": (
        repeat(any_of(after_count(3), after(60))),
        TENS,
        [
            ([at(1)], {"clock": 0}, []),
            ([at(1), at(1)], {"clock": 50}, ["+[0,10) early 0 3"]),
            ([at(1)], {"clock": 65}, []),
            ([], {"clock": 124}, []),
            ([], {"clock": 125}, ["+[0,10) early 1 4"]),
        ],
    ),
    "each in turn begins where the one before ended": (
        each(after_count(3), every_count(5)),
        TENS,
        each_one(14, (2, "+[0,10) early 0 3"), (7, "+[0,10) early 1 8"), (12, "+[0,10) early 2 13")),
    ),
    "repeatedly, or finally": (
        until(every_count(2), after_count(5)),
        TENS,
        each_one(9, (1, "+[0,10) early 0 2"), (3, "+[0,10) early 1 4"), (4, "+[0,10) early 2 5")),
    ),
    "early firings, and one on time": (
        until(every_count(2), past_end()),
        TENS,
        [
            ([at(1), at(2), at(3)], {}, ["+[0,10) early 0 3"]),
            ([at(12)], {}, ["+[0,10) early 1 3"][:0]),
            ([at(4), at(5)], {}, []),
            ([], {"watermark": 10}, ["+[0,10) final 1 5"]),
        ],
    ),
    # Flink
    "continuous event time": (
        ContinuousEventTime(10),
        tumbling(100),
        [
            ([at(3)], {}, []),
            ([at(9)], {}, []),
            ([at(25)], {}, ["+[0,100) early 0 3"]),
            ([at(29)], {}, []),
            ([at(30)], {}, ["+[0,100) early 1 5"]),
        ],
    ),
    "continuous event time, by a watermark inside the window": (
        ContinuousEventTime(10),
        tumbling(100),
        [
            ([at(3)], {}, []),
            ([], {"watermark": 9}, []),
            ([], {"watermark": 10}, ["+[0,100) early 0 1"]),
            ([at(12)], {"watermark": 15}, []),
            ([], {"watermark": 35}, ["+[0,100) early 1 2"]),
            ([], {"watermark": 100}, ["+[0,100) final 2 2"]),
        ],
    ),
    "a delta from the last firing": (
        Delta("v", 5),
        TENS,
        [
            ([at(1, 1)], {}, []),
            ([at(2, 7)], {}, ["+[0,10) early 0 8"]),
            ([at(3, 5)], {}, []),
            ([at(4, 1)], {}, ["+[0,10) early 1 14"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_windows_are_emitted_when_their_trigger_fires(name: str) -> None:
    emission, window, batches = CASES[name]
    emit = early(emission) if isinstance(emission, Trigger) else emission
    feed = Feed(query(window, Total(), emit=emit, lifetimes="points"), "general")
    for rows, reports, expected in batches:
        assert sorted(feed.batch(*rows, **reports).changes) == sorted(expected), f"after {rows}, {reports}"


# Windows that events cut: the state of a trigger follows the window to the one that takes its place. With a gap of 5, a
# point at 1 is the session [1, 6). Retractions are left out.

CUT: Final[dict[str, tuple[Any, WindowKind, list[Batch]]]] = {
    "a session counts on as it grows": (
        every_count(2),
        session(5),
        [
            ([at(1)], {}, []),
            ([at(2)], {}, ["+[1,7) early 0 2"]),
            ([at(3)], {}, []),
            ([at(4)], {}, ["+[1,9) early 1 4"]),
            ([at(5), at(6)], {}, ["+[1,11) early 2 6"]),
            ([at(7)], {"watermark": 13}, ["+[1,12) final 3 7"]),
        ],
    ),
    # 1   5   8     13
    # [---)   [-----)      two of three members each; the point at 5 joins them
    "the counts of sessions that merge are added": (
        every_count(5),
        session(4),
        [
            ([at(1), at(2)], {}, []),
            ([at(8), at(9)], {}, []),
            ([at(5)], {}, ["+[1,13) early 0 5"]),
            ([at(10), at(10), at(10), at(10)], {}, []),
            ([at(10)], {}, ["+[1,14) early 1 10"]),
        ],
    ),
    "a session that grows is put out on the minute": (
        every(60),
        session(5),
        [
            ([at(1)], {"clock": 5}, []),
            ([at(2)], {"clock": 55}, []),
            ([at(3)], {"clock": 65}, ["+[1,8) early 0 3"]),
            ([at(4)], {"clock": 110}, []),
            ([at(5)], {"clock": 119}, []),
            ([at(6)], {"clock": 121}, ["+[1,11) early 1 6"]),
        ],
    ),
    "of sessions that merge, the earlier delay counts": (
        after(60),
        session(4),
        [
            ([at(1)], {"clock": 0}, []),
            ([at(8)], {"clock": 50}, []),
            ([at(5)], {"clock": 59}, []),
            ([], {"clock": 60}, ["+[1,12) early 0 3"]),
            ([at(9)], {"clock": 500}, []),
        ],
    ),
    "what has fired once for a part has fired for the whole": (
        after_count(2),
        session(4),
        [
            ([at(1), at(2)], {}, ["+[1,6) early 0 2"]),
            ([at(3)], {}, []),
            ([at(20)], {}, []),
            ([at(21)], {}, ["+[20,25) early 0 2"]),
        ],
    ),
    "the end of a session that grows is reached anew, as in Beam and Flink": (
        past_end(),
        session(5),
        [
            ([at(1)], {}, []),
            ([at(8, 1, "other")], {}, ["+[1,6) early 0 1"]),
            ([at(4)], {}, []),
            ([at(9, 1, "other")], {}, ["+[1,9) early 1 2"]),
        ],
    ),
    "early firings until the end, which moves": (
        until(every_count(2), past_end()),
        session(5),
        [
            ([at(1), at(2)], {}, ["+[1,7) early 0 2"]),
            ([at(3)], {}, []),
            ([at(4)], {}, ["+[1,9) early 1 4"]),
            ([at(30, 1, "other")], {}, []),
        ],
    ),
    # 0       5       10
    # [---------------)        one of two
    #         [-------)        one more: [5, 10) has got two, and [0, 5) one
    #             [---)        [7, 10) has got one more than it had
    "the parts of a snapshot count on": (
        every_count(2),
        snapshot(),
        [
            ([row(1, 0, 10, 1)], {}, []),
            ([row(2, 5, 10, 2)], {}, ["+[5,10) early 0 3"]),
            ([row(3, 7, 10, 4)], {}, ["+[5,7) early 1 3"]),  # its members are those that were put out
            ([row(4, 8, 10, 8)], {}, ["+[8,10) early 1 15"]),
        ],
    ),
    "windows of three starts count on": (
        every_count(2),
        count_by_start(3),
        [
            ([at(1), at(3), at(9)], {}, ["+[1,10) early 0 3"]),
            ([at(5)], {}, []),  # [1, 6) and [3, 10) have two of the three members before, and one more each
            ([at(4)], {}, ["+[1,5) early 1 3", "+[3,6) early 1 3", "+[4,10) early 1 3"]),
        ],
    ),
}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("name", CUT)
def test_the_state_of_a_trigger_follows_windows_that_events_cut(name: str, *, restarts: bool) -> None:
    trigger, window, batches = CUT[name]
    tested = query(window, Total(), emit=early(trigger, refinement="retract"))
    feed = Feed(tested, "general")
    number = 0
    for rows, reports, expected in batches:
        with_ids = [event | {"id": number + place} for place, event in enumerate(rows)]
        number += len(rows)
        insertions = [change for change in feed.batch(*with_ids, **reports).changes if change.startswith("+")]
        assert sorted(insertions) == sorted(expected), f"after {rows}, {reports}"
        if restarts:
            feed = Feed(tested, "general", feed.cells)


def test_live_results_of_a_replaced_window_are_retracted() -> None:
    """
                  0    5    10
    1             [---------)            put out as one snapshot
    2                  [----)            cuts it at 5, until it goes
    """
    feed = Feed(query(snapshot(), Total(), emit=early(every_count(1), refinement="retract")), "general")
    assert feed.batch(row(1, 0, 10, 1)).changes == ["+[0,10) early 0 1"]
    after_cut = ["+[0,5) early 1 1", "+[5,10) early 1 3", "-[0,10) early 0 1"]
    assert sorted(feed.batch(row(2, 5, 10, 2)).changes) == after_cut
    after_retraction = ["+[0,10) early 2 1", "-[0,5) early 1 1", "-[5,10) early 1 3"]
    assert sorted(feed.batch(revision(2, 5, 10, 5)).changes) == after_retraction


def test_a_session_whose_members_are_all_retracted_starts_anew() -> None:
    feed = Feed(query(session(5), Total(), emit=early(every_count(2), refinement="retract")), "general")
    assert feed.batch(row(1, 1, 2, 1)).changes == []
    assert feed.batch(revision(1, 1, 2, 1)).changes == []
    assert feed.batch(row(2, 1, 2, 1)).changes == []
    assert feed.batch(row(3, 2, 3, 1)).changes == ["+[1,7) early 0 2"]


@pytest.mark.parametrize("window", [session(4), tumbling(20)])
def test_a_trigger_counts_on_where_lives_of_a_key_are_joined(window: WindowKind) -> None:
    """
    1 2    8 9         two lives, of a key that is forgotten after 4 ticks of silence
         5             joins them
    """
    emit = early(every_count(5), refinement="retract")
    feed = Feed(query(window, Total(), emit=emit, forget_keys_after=4), "general")
    assert feed.batch(row(1, 1, 2, 1), row(2, 2, 3, 1)).changes == []
    assert feed.batch(row(3, 8, 9, 1), row(4, 9, 10, 1)).changes == []
    end = 13 if window.name == "session" else 14
    start = 1 if window.name == "session" else 0
    assert feed.batch(row(5, 5, 6, 1)).changes == [f"+[{start},{end}) early 0 5"]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_window_that_passes_to_another_life_of_its_key_emits_nothing_for_that(*, restarts: bool) -> None:
    """
    1   [0 .. 5)~~~~~~~~18)                  reaches the other life from the third batch on
    2                      [20 .. 25)        and two more like it; the fourth comes after that
    """
    emit = early(every_count(2), refinement="retract")
    tested = query(tumbling(10), Total(), emit=emit, forget_keys_after=3)
    feed = Feed(tested, "general")
    batches: list[Batch] = [
        ([row(1, 0, 5, 1), row(2, 20, 25, 1), row(3, 20, 25, 1)], {}, ["+[20,28) early 0 2"]),
        ([row(4, 20, 25, 1)], {}, []),
        ([revision(1, 0, 5, 18)], {}, []),
        ([row(5, 20, 25, 1)], {}, ["+[20,28) early 1 4", "-[20,28) early 0 2"]),
    ]
    for rows, reports, expected in batches:
        assert sorted(feed.batch(*rows, **reports).changes) == sorted(expected), f"after {rows}"
        if restarts:
            feed = Feed(tested, "general", feed.cells)


@dataclass(frozen=True)
class Patient(Trigger):
    """A trigger that fires after three micro-batches with members, and cannot merge."""

    name: ClassVar[str] = "test.patient"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return (state or 0) + 1, Decision.FIRE if state == 2 else Decision.WAIT


def test_a_trigger_that_cannot_merge_is_refused_where_windows_take_the_place_of_others() -> None:
    trigger = repeat(any_of(after_count(5), Patient()))
    with pytest.raises(PolicyError, match=r"(?s)session\(5\) is cut by events.*test\.patient.*define merge\(self"):
        query(session(5), Total(), emit=early(trigger, refinement="retract")).plan()
    with pytest.raises(PolicyError, match=r"(?s)forget_keys_after='5 ticks' cuts windows.*define merge\(self"):
        query(TENS, Total(), emit=early(trigger, refinement="retract"), forget_keys_after=5).plan()
    query(TENS, Total(), emit=early(trigger, refinement="retract")).plan()


def test_an_operator_that_has_nothing_to_say_fires_all_the_same() -> None:
    feed = Feed(query(TENS, Positive(), emit=early(every_count(1)), lifetimes="points"), "general")
    assert feed.batch(at(1, -3)).changes == []
    assert [result["firing"] for result in feed.batch(at(1, 3)).rows] == [1]


def test_windows_that_are_not_touched_or_due_are_not_asked() -> None:
    asked: list[Window] = []

    @dataclass(frozen=True)
    class Watched(Trigger):
        name: ClassVar[str] = "test.watched"

        def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
            asked.append(window)
            return state, Decision.WAIT

        def next_clock(self, state: Any, window: Window) -> int:
            return 50 if window.start == 10 else INFINITY

    feed = Feed(query(TENS, Total(), emit=early(Watched()), lifetimes="points"), "general")
    feed.batch(*(at(start) for start in range(0, 50, 10)))
    asked.clear()
    feed.batch(at(31), clock=49)
    assert asked == [Window(30, 40)]
    feed.batch(clock=50)
    assert asked == [Window(30, 40), Window(10, 20)]


def test_a_trigger_that_fails_or_answers_something_else_is_named_with_its_key_and_window() -> None:
    @dataclass(frozen=True)
    class Broken(Trigger):
        name: ClassVar[str] = "test.broken"
        answer: Any = None

        def step(self, state: Any, window: Window, view: TriggerView) -> Any:
            return self.answer or dict[str, Any]()["price"]

    def asked(trigger: Trigger, refinement: Any = "accumulate") -> Feed:
        return Feed(query(TENS, Total(), emit=early(trigger, refinement=refinement), lifetimes="points"), "general")

    with pytest.raises(ModuleFailedError, match=r"test\.broken 1 failed in step: KeyError: 'price'") as failed:
        asked(Broken()).batch(at(1))
    assert (failed.value.key, failed.value.window) == (("k",), Window(0, 10))
    with pytest.raises(ModuleContractError, match=r"answered True .*\n  expected: a pair of its state and a Decision"):
        asked(Broken(True)).batch(at(1))
    with pytest.raises(ModuleFailedError, match=r"test\.fails 1 failed in refine: ZeroDivisionError: at all") as failed:
        asked(every_count(1), Fails()).batch(at(1))
    assert (failed.value.key, failed.value.window) == (("k",), Window(0, 10))
    with pytest.raises(ModuleContractError, match=r"the refinement test\.renames 1 answered .*\n  expected: a pair"):
        asked(every_count(1), Renames()).batch(at(1))


def test_a_window_that_lost_all_members_is_refined_as_a_new_one() -> None:
    """
                  0    5    10
    1             |----------->         revised to [0, 3), so that [5, 10) is empty until the second comes
    2                  |--|
    """
    feed = Feed(query(hopping(5, 5), Total(), emit=early(every_count(1), refinement=Change())), "general")
    assert feed.batch(row(1, 0, 9, 7)).changes == ["+[0,5) early 0 7", "+[5,10) early 0 7"]
    assert feed.batch(revision(1, 0, 9, 3)).changes == []
    assert feed.batch(row(2, 5, 8, 2)).changes == ["+[5,10) early 0 2"]
