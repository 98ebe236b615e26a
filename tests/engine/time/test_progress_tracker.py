"""The progress of an input, from what tasks observe: the same as if all rows that ever came were read again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, tumbling
from muntin.errors import ModuleContractError, ModuleError
from muntin.progress import (
    BoundedDelay,
    ProgressPolicy,
    SourceProgress,
    bounded_delay,
    bounded_disorder,
    ordered,
    punctuate_every,
    punctuated,
)
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation, ProgressTracker, TrackerState, watermark_by_policy
from tests.engine.time.histories import History, Row, clock_of, observations, random_history, reference_watermarks
from tests.modules.progress_policies import Elapsing, Guarded, Outvoted

NO_STATE: TrackerState = ()
"""The state of a tracker before the first micro-batch."""

RULES = [
    punctuated(),
    ordered(),
    bounded_delay(7),
    bounded_disorder(0),
    bounded_disorder(1),
    bounded_disorder(4),
    punctuate_every(rows=1),
    punctuate_every(rows=5, delay=3),
    punctuate_every(span=10, delay=3),
    Guarded(3),
    Elapsing(4),
    Outvoted(2),
]
POLICIES = [*RULES, *(rule.with_idle(15) for rule in RULES), *(rule.with_idle(15, lag=9) for rule in RULES)]

RULES_THAT_SEE_BATCHES = (punctuate_every(rows=1), punctuate_every(rows=5, delay=3), Guarded(3), Elapsing(4))
RULES_OF_ROWS = [rule for rule in RULES if rule not in RULES_THAT_SEE_BATCHES]
"""Policies that look at the rows alone, and not at when micro-batches ended or clocks were read."""


@pytest.mark.parametrize("policy", [bounded_delay(5), bounded_delay(5).with_idle(15, lag=9)])
def test_a_source_that_is_declared_later_joins_at_the_watermark_and_one_that_left_is_not_waited_for(
    policy: ProgressPolicy,
) -> None:
    progress = Progress()
    state = NO_STATE

    def watermark_after(sources: str, **newest: int) -> int:
        """Return the watermark after a micro-batch with one row of each source in `newest`, which starts there.

        Args:
            sources: The declared sources, a letter each.
            newest: The start of the row, by its source.
        """
        nonlocal progress, state
        tracker = ProgressTracker(policy, tuple(sources))
        rows = [Observation(source, start, 1, (start,)) for source, start in newest.items()]
        progress, state = tracker.advance(progress, state, Progress(clock=0), rows)
        return progress.watermark

    assert watermark_after("ab", a=40, b=30) == 25, "5 ticks behind b"
    assert watermark_after("abc", a=90, b=80) == 25, "c joins at the watermark"
    assert watermark_after("abc", c=60) == 55
    assert watermark_after("ab") == 75, "c is not waited for"


def tracked_watermarks(
    policy: ProgressPolicy, sources: Sequence[str], history: History, random: Random, restarts: float = 0.3
) -> list[int]:
    """Return the watermark after each micro-batch, by a tracker.

    Args:
        policy: The policy.
        sources: The declared sources; empty if the input has none.
        history: The micro-batches.
        random: The chances by which rows are spread over tasks, and the tracker is restarted.
        restarts: The share of micro-batches after which the state is written and read again.
    """
    codec = Codec()
    tracker = ProgressTracker(policy, tuple(sources))
    progress = Progress()
    state = NO_STATE
    watermarks: list[int] = []
    for batch in history:
        # A watermark of all sources is no observation of a source: it is part of the progress of the micro-batch.
        punctuations = [row.time for row in batch if row.kind == "punctuate" and (row.source is None or not sources)]
        batch_progress = Progress(max(punctuations, default=EARLIEST), clock=clock_of([batch]))
        progress, state = tracker.advance(progress, state, batch_progress, observations(policy, batch, random))
        watermarks.append(progress.watermark)
        if random.random() < restarts:
            state = codec.unpack(codec.pack(list(state)))
    return watermarks


@pytest.mark.parametrize("sources", [[], ["a"], ["a", "b", "c"]], ids=len)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_watermark_is_that_of_reading_the_whole_history_again(policy: ProgressPolicy, sources: list[str]) -> None:
    random = Random(f"{policy} {policy.idle} {sources}")
    sources_or_none: Sequence[str | None] = sources or [None]
    for _ in range(40):
        history = random_history(random, sources_or_none)
        watermarks = tracked_watermarks(policy, sources, history, random)
        assert watermarks == reference_watermarks(policy, sources_or_none, history), history


@pytest.mark.parametrize("policy", RULES_OF_ROWS, ids=str)
def test_the_last_watermark_does_not_depend_on_where_micro_batches_end(policy: ProgressPolicy) -> None:
    random = Random(str(policy))
    for _ in range(60):
        history = random_history(random, ["a", "b"])
        rows = list(chain.from_iterable(history))
        cuts = sorted(random.sample(range(len(rows) + 1), min(3, len(rows))))
        history_cut_elsewhere = [rows[start:stop] for start, stop in pairwise([0, *cuts, len(rows)])]

        watermarks = tracked_watermarks(policy, ["a", "b"], history, random)
        watermarks_cut_elsewhere = tracked_watermarks(policy, ["a", "b"], history_cut_elsewhere, random)
        assert watermarks[-1] == watermarks_cut_elsewhere[-1]


@pytest.mark.parametrize("most_overtaking", [0, 1, 2, 5])
def test_the_watermark_of_a_bounded_disorder_is_the_latest_that_makes_no_allowed_row_late(most_overtaking: int) -> None:
    random = Random(most_overtaking)
    policy = bounded_disorder(most_overtaking)
    for _ in range(60):
        starts = disordered_starts(random, most_overtaking)
        history = [[Row("insert", start)] for start in starts]
        watermarks = reference_watermarks(policy, [None], history)

        for start, watermark_before in zip(starts, [EARLIEST, *watermarks], strict=False):
            assert start >= watermark_before, "the row is not late"

        for row_count, watermark in enumerate(watermarks, 1):
            if watermark > EARLIEST:
                later_rows = sum(start > watermark for start in starts[:row_count])
                assert later_rows <= most_overtaking, "a row that starts at the watermark may still come"


def disordered_starts(random: Random, most_overtaking: int) -> list[int]:
    """Draw starts, each of which has at most so many larger ones before it."""
    waiting = sorted(random.randint(0, 30) for _ in range(20))
    starts: list[int] = []
    while waiting:
        # The least start has been overtaken most often: it must come next if it can be overtaken no more.
        least = waiting[0]
        overtaking = sum(start > least for start in starts)
        allowed = [start for start in waiting if overtaking + (start > least) <= most_overtaking]
        start = random.choice(allowed or [least])
        starts.append(start)
        waiting.remove(start)
    return starts


def test_progress_never_goes_back_and_the_watermark_is_within_the_horizon() -> None:
    random = Random(5)
    for policy in POLICIES:
        tracker = ProgressTracker(policy, ("a", "b"))
        previous = Progress()
        state = NO_STATE
        for batch in random_history(random, ["a", "b"]):
            batch_progress = Progress(clock=clock_of([batch]))
            progress, state = tracker.advance(previous, state, batch_progress, observations(policy, batch, random))
            assert progress.advance(previous) == progress, "no part of it was further before"
            assert progress.watermark == INFINITY or progress.horizon >= progress.watermark
            previous = progress


def test_the_watermark_moves_from_end_to_end_of_windows() -> None:
    tracker = ProgressTracker(bounded_delay(0), steps=(tumbling(10),))
    batch_progress = Progress(newest=37, horizon=38)
    progress, _ = tracker.advance(Progress(), NO_STATE, batch_progress, [Observation(None, 37, 1)])
    assert progress == Progress(watermark=30, horizon=38, newest=37)


def test_nothing_is_complete_before_each_declared_source_has_sent_a_row() -> None:
    tracker = ProgressTracker(ordered(), ("a", "b"))
    progress, state = tracker.advance(Progress(), NO_STATE, Progress(), [Observation("a", 100, 1)])
    assert progress.watermark == EARLIEST
    progress, state = tracker.advance(progress, state, Progress(), [Observation("b", 60, 1)])
    assert progress.watermark == 60


def test_a_source_that_wakes_up_does_not_take_progress_back() -> None:
    #  clock        0         20         40         45
    #  a            5         21                    44
    #  b           -                    idle         9   waited for again: 9 < 21, so nothing moves
    tracker = ProgressTracker(ordered().with_idle(30), ("a", "b"))
    progress, state = tracker.advance(Progress(), NO_STATE, Progress(clock=0), [Observation("a", 5, 1)])
    progress, state = tracker.advance(progress, state, Progress(clock=20), [Observation("a", 21, 1)])
    assert progress.watermark == EARLIEST
    progress, state = tracker.advance(progress, state, Progress(clock=40), [])
    assert progress.watermark == 21
    rows_of_both = [Observation("a", 44, 1), Observation("b", 9, 1)]
    progress, state = tracker.advance(progress, state, Progress(clock=45), rows_of_both)
    assert progress.watermark == 21


def test_a_clock_without_rows_moves_no_watermark() -> None:
    tracker = ProgressTracker(bounded_delay(5))
    progress, _ = tracker.advance(Progress(), NO_STATE, Progress(clock=1000), [])
    assert progress == Progress(clock=1000)


def test_the_state_of_a_bounded_disorder_does_not_grow_with_the_rows() -> None:
    tracker = ProgressTracker(bounded_disorder(3))
    progress = Progress()
    state = NO_STATE
    for tick in range(100):
        progress, state = tracker.advance(progress, state, Progress(), [Observation(None, tick, 1, (tick,))])
    assert len(Codec().pack(list(state))) < 60
    assert progress.watermark == 96


def test_a_row_from_the_far_future_does_not_move_a_policy_that_outvotes_it() -> None:
    """The policy follows the middle one of the three newest starts.

    5   9   90    the middle one is 9: complete to 9
    12            the middle one of 9, 12 and 90 is 12
    """
    history = [[Row("insert", start) for start in (5, 9, 90)], [Row("insert", 12)]]
    assert tracked_watermarks(Outvoted(0, of=3), [], history, Random(1)) == [9, 12]


def test_an_error_names_the_policy_that_fails_and_the_progress_that_it_was_given() -> None:
    class Fails(BoundedDelay):
        def watermark(self, seen: SourceProgress) -> int:
            return seen.newest // self.delay

    with pytest.raises(ModuleError, match=r"policy Fails failed in watermark: ZeroDivisionError.*\n.*newest=7, rows=1"):
        watermark_by_policy(Fails(delay=0), SourceProgress(newest=7, rows=1))


@pytest.mark.parametrize(
    ("watermark", "written"), [(1.5, r"1\.5"), (INFINITY, r"922\d+")], ids=["fraction", "infinity"]
)
def test_a_policy_that_returns_no_finite_tick_is_refused(watermark: Any, written: str) -> None:
    class Returns(BoundedDelay):
        def watermark(self, seen: SourceProgress) -> int:
            tick: int = watermark
            return tick

    with pytest.raises(ModuleContractError, match=rf"policy Returns returned {written} from watermark"):
        watermark_by_policy(Returns(delay=0), SourceProgress(newest=7, rows=1))
