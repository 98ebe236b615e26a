"""When windows are put out early, and what refinements make of it, as streams; well-known triggers of Beam and Flink.

Each case is an emission, the windows, and micro-batches, which expect changes of the output. Rows are points of the
payload 1, unless they say another. An expected change is its sign, the window, the timing, the number of the firing,
and the sum: `+[0,10) early 0 3`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
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
from tests.scenarios.feed import Feed, Step, Total, at, query, revision, row

TENS = tumbling(10)


@dataclass(frozen=True)
class ContinuousEventTime(Trigger):
    """Fires each time the max event time passes a multiple of a period."""

    name: ClassVar[str] = "test.continuous_event_time"

    period: int

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        next_multiple = view.max_event_time // self.period * self.period + self.period
        if state is None:
            return next_multiple, Decision.WAIT
        if view.max_event_time < state:
            return state, Decision.WAIT
        return next_multiple, Decision.FIRE

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


def one_by_one(count: int, changes: Mapping[int, str]) -> list[Step]:
    """Return micro-batches of one row at 1 each.

    Args:
        count: Number of micro-batches.
        changes: Expected changes, by the numbers of the micro-batches that fire.
    """
    steps: list[Step] = []
    for number in range(count):
        expected = [changes[number]] if number in changes else []
        steps.append(Step([at(1)], expects=expected))
    return steps


CASES: Final[dict[str, tuple[Any, WindowKind, list[Step]]]] = {
    "a clock wakes windows without rows, from its first reading on": (
        every(60),
        TENS,
        [
            Step([at(1)]),
            Step(clock=70),
            Step(clock=119),
            Step(clock=125, expects=["+[0,10) early 0 1"]),
            Step(clock=900),
            Step([at(2)], clock=905),
            Step(clock=960, expects=["+[0,10) early 1 2"]),
        ],
    ),
    "accumulate": (
        early(every_count(1), refinement="accumulate"),
        TENS,
        [Step([at(1, 3)], expects=["+[0,10) early 0 3"]), Step([at(2, 8), at(3, 1)], expects=["+[0,10) early 1 12"])],
    ),
    "discard": (
        early(every_count(2), refinement="discard"),
        TENS,
        [
            Step([at(1, 3), at(2, 4)], expects=["+[0,10) early 0 7"]),
            Step([at(11), at(12)], expects=["+[10,20) early 0 2"]),
            Step([at(3, 5)]),
            Step(watermark=20, expects=["+[0,10) final 1 5"]),
        ],
    ),
    "retract": (
        early(every_count(1), refinement="retract"),
        TENS,
        [
            Step([at(1, 3)], expects=["+[0,10) early 0 3"]),
            Step([at(2, 8)], expects=["-[0,10) early 0 3", "+[0,10) early 1 11"]),
            Step(watermark=10, expects=["-[0,10) early 1 11", "+[0,10) final 2 11"]),
        ],
    ),
    "a refinement of changes adds up in each window": (
        early(every_count(1), refinement=Change()),
        hopping(10, 5),
        [
            Step([at(1, 3)], expects=["+[-5,5) early 0 3", "+[0,10) early 0 3"]),
            Step([at(5, 4)], expects=["+[0,10) early 1 4", "+[5,15) early 0 4"]),
            Step([at(8, 2)], watermark=12, expects=["+[-5,5) final 1 0", "+[0,10) final 2 2", "+[5,15) early 1 2"]),
            Step(watermark=15, expects=["+[5,15) final 2 0"]),
        ],
    ),
    "a result that hardly moved is not emitted, and the final one is": (
        early(every_count(1), refinement=OnlyIfMoved(2)),
        TENS,
        [
            *one_by_one(5, {0: "+[0,10) early 0 1", 3: "+[0,10) early 3 4"}),
            Step(watermark=10, expects=["+[0,10) final 5 5"]),
        ],
    ),
    "a percentile asks for the newest member of the window itself": (
        percentile(0.5),
        TENS,
        [
            Step([at(1, 1, "x")]),
            Step([at(7, 2, "y"), at(2, 2, "y")], clock=5, expects=["+[0,10) early 0 4"]),
            Step([at(3, 1, "x")], clock=9),
        ],
    ),
    # Beam
    "repeatedly, an element count": (
        every_count(3),
        TENS,
        one_by_one(7, {2: "+[0,10) early 0 3", 5: "+[0,10) early 1 6"}),
    ),
    "the first of a count and a delay, which starts both anew": (
        repeat(any_of(after_count(3), after(60))),
        TENS,
        [
            Step([at(1)], clock=0),
            Step([at(1), at(1)], clock=50, expects=["+[0,10) early 0 3"]),
            Step([at(1)], clock=65),
            Step(clock=124),
            Step(clock=125, expects=["+[0,10) early 1 4"]),
        ],
    ),
    "each in turn begins where the one before ended": (
        each(after_count(3), every_count(5)),
        TENS,
        one_by_one(14, {2: "+[0,10) early 0 3", 7: "+[0,10) early 1 8", 12: "+[0,10) early 2 13"}),
    ),
    "repeatedly, or finally": (
        until(every_count(2), after_count(5)),
        TENS,
        one_by_one(9, {1: "+[0,10) early 0 2", 3: "+[0,10) early 1 4", 4: "+[0,10) early 2 5"}),
    ),
    "early firings, and one on time": (
        until(every_count(2), past_end()),
        TENS,
        [
            Step([at(1), at(2), at(3)], expects=["+[0,10) early 0 3"]),
            Step([at(12)], expects=[]),
            Step([at(4), at(5)]),
            Step(watermark=10, expects=["+[0,10) final 1 5"]),
        ],
    ),
    # Flink
    "continuous event time": (
        ContinuousEventTime(10),
        tumbling(100),
        [
            Step([at(3)]),
            Step([at(9)]),
            Step([at(25)], expects=["+[0,100) early 0 3"]),
            Step([at(29)]),
            Step([at(30)], expects=["+[0,100) early 1 5"]),
        ],
    ),
    "continuous event time, by a watermark inside the window": (
        ContinuousEventTime(10),
        tumbling(100),
        [
            Step([at(3)]),
            Step(watermark=9),
            Step(watermark=10, expects=["+[0,100) early 0 1"]),
            Step([at(12)], watermark=15),
            Step(watermark=35, expects=["+[0,100) early 1 2"]),
            Step(watermark=100, expects=["+[0,100) final 2 2"]),
        ],
    ),
    "a delta from the last firing": (
        Delta("v", 5),
        TENS,
        [
            Step([at(1, 1)]),
            Step([at(2, 7)], expects=["+[0,10) early 0 8"]),
            Step([at(3, 5)]),
            Step([at(4, 1)], expects=["+[0,10) early 1 14"]),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_windows_are_emitted_when_their_trigger_fires(name: str) -> None:
    emission, window, steps = CASES[name]
    emit = early(emission) if isinstance(emission, Trigger) else emission
    feed = Feed(query(window, Total(), emit=emit, lifetimes="points"), "general")
    for step in steps:
        assert sorted(feed.step(step).changes) == sorted(step.expects), f"after {step}"


# Windows that events cut: the state of a trigger follows the window to the one that takes its place. With a gap of 5, a
# point at 1 is the session [1, 6). Retractions are left out.

CASES_OF_CUT_WINDOWS: Final[dict[str, tuple[Any, WindowKind, list[Step]]]] = {
    "a session counts on as it grows": (
        every_count(2),
        session(5),
        [
            Step([at(1)]),
            Step([at(2)], expects=["+[1,7) early 0 2"]),
            Step([at(3)]),
            Step([at(4)], expects=["+[1,9) early 1 4"]),
            Step([at(5), at(6)], expects=["+[1,11) early 2 6"]),
            Step([at(7)], watermark=13, expects=["+[1,12) final 3 7"]),
        ],
    ),
    # 1   5   8     13
    # [---)   [-----)      two of three members each; the point at 5 joins them
    "the counts of sessions that merge are added": (
        every_count(5),
        session(4),
        [
            Step([at(1), at(2)]),
            Step([at(8), at(9)]),
            Step([at(5)], expects=["+[1,13) early 0 5"]),
            Step([at(10), at(10), at(10), at(10)]),
            Step([at(10)], expects=["+[1,14) early 1 10"]),
        ],
    ),
    "a session that grows is put out on the minute": (
        every(60),
        session(5),
        [
            Step([at(1)], clock=5),
            Step([at(2)], clock=55),
            Step([at(3)], clock=65, expects=["+[1,8) early 0 3"]),
            Step([at(4)], clock=110),
            Step([at(5)], clock=119),
            Step([at(6)], clock=121, expects=["+[1,11) early 1 6"]),
        ],
    ),
    "of sessions that merge, the earlier delay counts": (
        after(60),
        session(4),
        [
            Step([at(1)], clock=0),
            Step([at(8)], clock=50),
            Step([at(5)], clock=59),
            Step(clock=60, expects=["+[1,12) early 0 3"]),
            Step([at(9)], clock=500),
        ],
    ),
    "what has fired once for a part has fired for the whole": (
        after_count(2),
        session(4),
        [
            Step([at(1), at(2)], expects=["+[1,6) early 0 2"]),
            Step([at(3)]),
            Step([at(20)]),
            Step([at(21)], expects=["+[20,25) early 0 2"]),
        ],
    ),
    "the end of a session that grows is reached anew, as in Beam and Flink": (
        past_end(),
        session(5),
        [
            Step([at(1)]),
            Step([at(8, 1, "other")], expects=["+[1,6) early 0 1"]),
            Step([at(4)]),
            Step([at(9, 1, "other")], expects=["+[1,9) early 1 2"]),
        ],
    ),
    "early firings until the end, which moves": (
        until(every_count(2), past_end()),
        session(5),
        [
            Step([at(1), at(2)], expects=["+[1,7) early 0 2"]),
            Step([at(3)]),
            Step([at(4)], expects=["+[1,9) early 1 4"]),
            Step([at(30, 1, "other")]),
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
            Step([row(1, 0, 10, 1)]),
            Step([row(2, 5, 10, 2)], expects=["+[5,10) early 0 3"]),
            Step([row(3, 7, 10, 4)], expects=["+[5,7) early 1 3"]),  # its members are those that were put out
            Step([row(4, 8, 10, 8)], expects=["+[8,10) early 1 15"]),
        ],
    ),
    "windows of three starts count on": (
        every_count(2),
        count_by_start(3),
        [
            Step([at(1), at(3), at(9)], expects=["+[1,10) early 0 3"]),
            Step([at(5)]),  # [1, 6) and [3, 10) have two of the three members before, and one more each
            Step([at(4)], expects=["+[1,5) early 1 3", "+[3,6) early 1 3", "+[4,10) early 1 3"]),
        ],
    ),
}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("name", CASES_OF_CUT_WINDOWS)
def test_the_state_of_a_trigger_follows_windows_that_events_cut(name: str, *, restarts: bool) -> None:
    trigger, window, steps = CASES_OF_CUT_WINDOWS[name]
    retracting_query = query(window, Total(), emit=early(trigger, refinement="retract"))
    feed = Feed(retracting_query, "general")
    ids = count()
    for step in steps:
        rows_with_ids = [event | {"id": next(ids)} for event in step.rows]
        changes = feed.step(step._replace(rows=rows_with_ids)).changes
        insertions = [change for change in changes if change.startswith("+")]
        assert sorted(insertions) == sorted(step.expects), f"after {step}"
        if restarts:
            feed = Feed(retracting_query, "general", feed.cells)


def test_live_results_of_a_replaced_window_are_retracted() -> None:
    """
                  0    5    10
    1             [---------)            put out as one snapshot
    2                  [----)            cuts it at 5, until it goes
    """
    feed = Feed(query(snapshot(), Total(), emit=early(every_count(1), refinement="retract")), "general")
    assert feed.batch(row(1, start=0, end=10, value=1)).changes == ["+[0,10) early 0 1"]
    after_cut = ["+[0,5) early 1 1", "+[5,10) early 1 3", "-[0,10) early 0 1"]
    assert sorted(feed.batch(row(2, start=5, end=10, value=2)).changes) == after_cut
    after_retraction = ["+[0,10) early 2 1", "-[0,5) early 1 1", "-[5,10) early 1 3"]
    assert sorted(feed.batch(revision(2, start=5, end=10, new_end=5)).changes) == after_retraction


def test_a_session_whose_members_are_all_retracted_starts_anew() -> None:
    feed = Feed(query(session(5), Total(), emit=early(every_count(2), refinement="retract")), "general")
    assert feed.batch(row(1, start=1, end=2, value=1)).changes == []
    assert feed.batch(revision(1, start=1, end=2, new_end=1)).changes == []
    assert feed.batch(row(2, start=1, end=2, value=1)).changes == []
    assert feed.batch(row(3, start=2, end=3, value=1)).changes == ["+[1,7) early 0 2"]


@pytest.mark.parametrize(
    ("window", "change"),
    [
        (session(4), "+[1,13) early 0 5"),
        (tumbling(20), "+[0,14) early 0 5"),  # the life of the key ends at 14, and the window with it
    ],
)
def test_a_trigger_counts_on_where_lives_of_a_key_are_joined(window: WindowKind, change: str) -> None:
    """
    1 2    8 9         two lives, of a key that is forgotten after 4 ticks of silence
         5             joins them
    """
    emit = early(every_count(5), refinement="retract")
    feed = Feed(query(window, Total(), emit=emit, forget_keys_after=4), "general")
    assert feed.batch(row(1, start=1, end=2, value=1), row(2, start=2, end=3, value=1)).changes == []
    assert feed.batch(row(3, start=8, end=9, value=1), row(4, start=9, end=10, value=1)).changes == []
    assert feed.batch(row(5, start=5, end=6, value=1)).changes == [change]


@pytest.mark.parametrize("restarts", [False, True])
def test_a_window_that_passes_to_another_life_of_its_key_emits_nothing_for_that(*, restarts: bool) -> None:
    """A key is forgotten after three silent ticks: it has two lives until the third batch, and one from then on.

    1      [0 .. 5)~~~~~~~~18)                  is prolonged in the third batch
    2, 3                      [20 .. 25)        come in the first batch
    4                         [20 .. 25)        comes in the second
    5                         [20 .. 25)        comes in the fourth, as the second member after the last firing
    """
    emit = early(every_count(2), refinement="retract")
    forgetting_query = query(tumbling(10), Total(), emit=emit, forget_keys_after=3)
    feed = Feed(forgetting_query, "general")
    steps = [
        Step(
            [row(1, start=0, end=5, value=1), row(2, start=20, end=25, value=1), row(3, start=20, end=25, value=1)],
            expects=["+[20,28) early 0 2"],
        ),
        Step([row(4, start=20, end=25, value=1)]),
        Step([revision(1, start=0, end=5, new_end=18)]),
        Step([row(5, start=20, end=25, value=1)], expects=["+[20,28) early 1 4", "-[20,28) early 0 2"]),
    ]
    for step in steps:
        assert sorted(feed.step(step).changes) == sorted(step.expects), f"after {step}"
        if restarts:
            feed = Feed(forgetting_query, "general", feed.cells)


@dataclass(frozen=True)
class Patient(Trigger):
    """Fires with the third micro-batch that has members, and cannot merge states."""

    name: ClassVar[str] = "test.patient"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return (state or 0) + 1, Decision.FIRE if state == 2 else Decision.WAIT


def test_a_trigger_that_cannot_merge_is_refused_where_windows_take_the_place_of_others() -> None:
    trigger = repeat(any_of(after_count(5), Patient()))
    with pytest.raises(PolicyError, match=r"(?s)session\(5\) is cut by events.*test\.patient.*define merge\(self"):
        query(session(5), Total(), emit=early(trigger, refinement="retract")).plan()
    with pytest.raises(PolicyError, match=r"(?s)forget_keys_after='5 ticks' cuts windows.*define merge\(self"):
        query(TENS, Total(), emit=early(trigger, refinement="retract"), forget_keys_after=5).plan()
    query(TENS, Total(), emit=early(trigger, refinement="retract")).plan()  # these windows stay as they are


def test_a_firing_for_which_an_operator_returns_no_row_is_counted() -> None:
    feed = Feed(query(TENS, Positive(), emit=early(every_count(1)), lifetimes="points"), "general")
    assert feed.batch(at(1, value=-3)).changes == []
    assert [result["firing"] for result in feed.batch(at(1, value=3)).rows] == [1]


def test_a_trigger_is_called_for_windows_that_are_touched_or_due_alone() -> None:
    called_windows: list[Window] = []

    @dataclass(frozen=True)
    class Watched(Trigger):
        name: ClassVar[str] = "test.watched"

        def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
            called_windows.append(window)
            return state, Decision.WAIT

        def next_clock(self, state: Any, window: Window) -> int:
            return 50 if window.start == 10 else INFINITY

    feed = Feed(query(TENS, Total(), emit=early(Watched()), lifetimes="points"), "general")
    feed.batch(*(at(start) for start in range(0, 50, 10)))
    called_windows.clear()
    feed.batch(at(31), clock=49)
    assert called_windows == [Window(30, 40)], "it has a new member"
    called_windows.clear()
    feed.batch(clock=50)
    assert called_windows == [Window(10, 20)], "its clock is due"


@dataclass(frozen=True)
class Broken(Trigger):
    """Returns `answer`, which is not what a trigger returns; without one it raises KeyError."""

    name: ClassVar[str] = "test.broken"

    answer: Any = None

    def step(self, state: Any, window: Window, view: TriggerView) -> Any:
        return self.answer or dict[str, Any]()["price"]


def feed_of_early_results(trigger: Trigger, refinement: Any = "accumulate") -> Feed:
    emit = early(trigger, refinement=refinement)
    return Feed(query(TENS, Total(), emit=emit, lifetimes="points"), "general")


def test_a_trigger_that_fails_is_named_with_its_key_and_window() -> None:
    with pytest.raises(ModuleFailedError, match=r"test\.broken 1 failed in step: KeyError: 'price'") as failed:
        feed_of_early_results(Broken()).batch(at(1))
    assert failed.value.key == ("k",)
    assert failed.value.window == Window(0, 10)


def test_a_trigger_that_returns_no_state_and_decision_is_refused() -> None:
    with pytest.raises(ModuleContractError, match=r"answered True .*\n  expected: a pair of its state and a Decision"):
        feed_of_early_results(Broken(True)).batch(at(1))


def test_a_refinement_that_fails_is_named_with_its_key_and_window() -> None:
    with pytest.raises(ModuleFailedError, match=r"test\.fails 1 failed in refine: ZeroDivisionError: at all") as failed:
        feed_of_early_results(every_count(1), Fails()).batch(at(1))
    assert failed.value.key == ("k",)
    assert failed.value.window == Window(0, 10)


def test_a_refinement_that_returns_no_state_and_result_is_refused() -> None:
    with pytest.raises(ModuleContractError, match=r"the refinement test\.renames 1 answered .*\n  expected: a pair"):
        feed_of_early_results(every_count(1), Renames()).batch(at(1))


def test_a_window_that_lost_all_members_is_refined_as_a_new_one() -> None:
    """
          0    5    10
    1     [--------)            is revised to [0, 3), so that [5, 10) is empty until the second comes
    2          [--)
    """
    feed = Feed(query(hopping(5, 5), Total(), emit=early(every_count(1), refinement=Change())), "general")
    assert feed.batch(row(1, start=0, end=9, value=7)).changes == ["+[0,5) early 0 7", "+[5,10) early 0 7"]
    assert feed.batch(revision(1, start=0, end=9, new_end=3)).changes == []
    assert feed.batch(row(2, start=5, end=8, value=2)).changes == ["+[5,10) early 0 2"]
