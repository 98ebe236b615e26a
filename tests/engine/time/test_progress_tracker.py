"""The progress of an input, from what tasks observe: the same as if everything that came were looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from random import Random

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
from tests.engine.time.histories import History, Row, clock_of, observations, punctuations, random_history
from tests.modules.progress_policies import Elapsing, Guarded, Outvoted

NOTHING: TrackerState = ()
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
BY_BATCH = (punctuate_every(rows=1), punctuate_every(rows=5, delay=3), Guarded(3), Elapsing(4))
STEADY = [rule for rule in RULES if rule not in BY_BATCH]
"""Policies that look at the rows alone, and not at when micro-batches ended or clocks were read."""


@pytest.mark.parametrize("policy", [bounded_delay(5), bounded_delay(5).with_idle(15, lag=9)])
def test_a_source_that_is_declared_later_joins_at_the_watermark_and_one_that_left_is_not_waited_for(
    policy: ProgressPolicy,
) -> None:
    progress = Progress()
    tracked_sources = NOTHING

    def watermark_of(sources: str, **newest: int) -> int:
        """Return the watermark after a micro-batch with a row of each of the sources that are named."""
        nonlocal progress, tracked_sources
        tracker = ProgressTracker(policy, tuple(sources))
        rows = [Observation(source, start, 1, (start,)) for source, start in newest.items()]
        progress, tracked_sources = tracker.advance(progress, tracked_sources, Progress(clock=0), rows)
        return progress.watermark

    assert watermark_of("ab", a=40, b=30) == 25
    assert watermark_of("abc", a=90, b=80) == 25, "c joins at the watermark"
    assert watermark_of("abc", c=60) == 55
    assert watermark_of("ab") == 75, "c is not waited for"


def tracked(
    policy: ProgressPolicy, sources: Sequence[str], history: History, random: Random, restarts: float = 0.3
) -> list[int]:
    """Return the watermark after each micro-batch, by a tracker that is restarted now and then."""
    codec = Codec()
    tracker = ProgressTracker(policy, tuple(sources))
    progress = Progress()
    state = NOTHING
    watermarks: list[int] = []
    for batch in history:
        of_all = [row.time for row in batch if row.kind == "punctuate" and (row.source is None or not sources)]
        of_batch = Progress(max(of_all, default=EARLIEST), clock=clock_of([batch]))
        progress, state = tracker.advance(progress, state, of_batch, observations(policy, batch, random))
        if random.random() < restarts:
            state = codec.unpack(codec.pack(list(state)))
        watermarks.append(progress.watermark)
    return watermarks


@pytest.mark.parametrize("sources", [[], ["a"], ["a", "b", "c"]], ids=len)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_the_watermark_is_that_of_a_look_at_the_whole_history(policy: ProgressPolicy, sources: list[str]) -> None:
    random = Random(f"{policy} {policy.idle} {sources}")
    for _ in range(40):
        history = random_history(random, sources or [None])
        assert tracked(policy, sources, history, random) == punctuations(policy, sources or [None], history), history


@pytest.mark.parametrize("policy", STEADY, ids=str)
def test_where_micro_batches_end_makes_no_difference_to_where_the_input_ends_up(policy: ProgressPolicy) -> None:
    random = Random(str(policy))
    for _ in range(60):
        history = random_history(random, ["a", "b"])
        rows = list(chain.from_iterable(history))
        cuts = sorted(random.sample(range(len(rows) + 1), min(3, len(rows))))
        cut_elsewhere = [rows[start:stop] for start, stop in pairwise([0, *cuts, len(rows)])]
        watermark = tracked(policy, ["a", "b"], history, random)[-1]
        assert tracked(policy, ["a", "b"], cut_elsewhere, random)[-1] == watermark


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_a_bounded_disorder_calls_no_row_late_that_keeps_it_and_says_as_much_as_can_be_said(rows: int) -> None:
    random = Random(rows)
    policy = bounded_disorder(rows)
    for _ in range(60):
        starts = disordered(random, rows)
        bounds = [EARLIEST, *punctuations(policy, [None], [[Row("insert", start)] for start in starts])]
        assert all(start >= bound for start, bound in zip(starts, bounds, strict=False))
        for place, bound in enumerate(bounds[1:], 1):
            later = sum(start > bound for start in starts[:place])
            assert bound == EARLIEST or later <= rows, "a row that starts there may still come"


def disordered(random: Random, rows: int) -> list[int]:
    """Return starts such that each has at most some number of larger ones before it, and one as many."""
    waiting = sorted(random.randint(0, 30) for _ in range(20))
    starts: list[int] = []
    while waiting:
        larger = sum(start > waiting[0] for start in starts)
        allowed = [start for start in waiting if larger + (start > waiting[0]) <= rows]
        start = random.choice(allowed or waiting[:1])
        starts.append(start)
        waiting.remove(start)
    return starts


def test_progress_never_goes_back_and_punctuation_is_within_the_horizon() -> None:
    random = Random(5)
    for policy in POLICIES:
        tracker = ProgressTracker(policy, ("a", "b"))
        previous = Progress()
        state = NOTHING
        for batch in random_history(random, ["a", "b"]):
            of_batch = Progress(clock=clock_of([batch]))
            progress, state = tracker.advance(previous, state, of_batch, observations(policy, batch, random))
            assert progress.advance(previous) == progress
            assert progress.watermark == INFINITY or progress.horizon >= progress.watermark
            previous = progress


def test_progress_need_not_be_known_finer_than_output_changes() -> None:
    tracker = ProgressTracker(bounded_delay(0), steps=(tumbling(10),))
    progress, _ = tracker.advance(Progress(), (), Progress(newest=37, horizon=38), [Observation(None, 37, 1)])
    assert progress == Progress(30, 38, 37)


def test_a_declared_source_that_never_spoke_holds_everything() -> None:
    tracker = ProgressTracker(ordered(), ("a", "b"))
    progress, state = tracker.advance(Progress(), NOTHING, Progress(), [Observation("a", 100, 1)])
    assert progress.watermark == EARLIEST
    progress, state = tracker.advance(progress, state, Progress(), [Observation("b", 60, 1)])
    assert progress.watermark == 60


def test_a_source_that_wakes_up_does_not_take_progress_back() -> None:
    #  clock        0         20         40         45
    #  a            5         21                    44
    #  b           -                    idle         9   waited for again: 9 < 21, so nothing moves
    tracker = ProgressTracker(ordered().with_idle(30), ("a", "b"))
    progress, state = tracker.advance(Progress(), NOTHING, Progress(clock=0), [Observation("a", 5, 1)])
    progress, state = tracker.advance(progress, state, Progress(clock=20), [Observation("a", 21, 1)])
    assert progress.watermark == EARLIEST
    progress, state = tracker.advance(progress, state, Progress(clock=40), [])
    assert progress.watermark == 21
    of_both = [Observation("a", 44, 1), Observation("b", 9, 1)]
    progress, state = tracker.advance(progress, state, Progress(clock=45), of_both)
    assert progress.watermark == 21


def test_a_clock_alone_moves_nothing() -> None:
    tracker = ProgressTracker(bounded_delay(5))
    progress, _ = tracker.advance(Progress(), NOTHING, Progress(clock=1000), [])
    assert progress == Progress(clock=1000)


def test_the_state_of_a_source_is_bounded() -> None:
    tracker = ProgressTracker(bounded_disorder(3))
    progress = Progress()
    state = NOTHING
    for tick in range(100):
        progress, state = tracker.advance(progress, state, Progress(), [Observation(None, tick, 1, (tick,))])
    assert len(Codec().pack(list(state))) < 60
    assert progress.watermark == 96


# a policy that follows the middle one of three starts
#   5   9   90                      9 is the middle one: complete to 9
#   12                              12 is:               complete to 12
def test_a_row_from_the_far_future_does_not_move_a_policy_that_outvotes_it() -> None:
    history = [[Row("insert", at) for at in (5, 9, 90)], [Row("insert", 12)]]
    assert tracked(Outvoted(0, of=3), [], history, Random(1)) == [9, 12]


def test_a_policy_that_fails_or_answers_with_no_time_is_named_with_what_it_was_given() -> None:
    class Fails(BoundedDelay):
        def watermark(self, seen: SourceProgress) -> int:
            return seen.newest // self.delay

    class Endless(BoundedDelay):
        def watermark(self, seen: SourceProgress) -> int:
            return INFINITY if self.delay else 1.5  # type: ignore[return-value]  # that is the point

    source_progress = SourceProgress(newest=7, rows=1)
    with pytest.raises(ModuleError, match=r"policy Fails failed in watermark: ZeroDivisionError.*\n.*newest=7, rows=1"):
        watermark_by_policy(Fails(0), source_progress)
    for policy in (Endless(0), Endless(1)):
        with pytest.raises(ModuleContractError, match=r"policy Endless returned (1.5|922\d+) from watermark"):
            watermark_by_policy(policy, source_progress)
