"""Disorder changes how a stream arrives and not what it means; when results come, and how wrong they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import INFINITY, hopping, session, tumbling
from muntin.changes import Punctuation
from muntin.errors import QueryError, StreamError
from muntin.testing import Computation, KeyedChange, Script, WindowedQuery
from muntin_engine.testing import (
    band_disorder,
    block_disorder,
    disordered,
    mean_error,
    measure,
    random_stream,
    source_skew,
    wrong_share,
)
from muntin_stats import Count

SEEDS = range(20)


def points(seed: int) -> Script:
    """Return a closed stream of points of two keys in order of time, at the most one in each of sixty ticks."""
    change_by_start = {start_of(step): step for step in random_stream(seed, events=60, starts=range(60)).changes()}
    script = Script()
    for start in sorted(change_by_start):
        step = change_by_start[start]
        script = script.point(step.change.id, start, key=step.key)
    return script.close()


def start_of(step: KeyedChange) -> int:
    return step.change.event.start


@settings(max_examples=60)
@given(st.data(), st.integers(0, 500))
def test_a_disordered_stream_is_legal_and_means_the_same(data: st.DataObject, seed: int) -> None:
    script = random_stream(seed, events=10, repeats=0.3)
    shuffled = data.draw(disordered(script))
    assert shuffled.history() == script.history()
    assert shuffled.illegal() == ()
    was_closed = script.last_watermark() == INFINITY
    is_closed = shuffled.last_watermark() == INFINITY
    assert is_closed == was_closed


DISORDERS: dict[str, Callable[[Script], Script]] = {
    "a band of 9 ticks": lambda script: band_disorder(script, width=9, seed=1),
    "blocks of 7 ticks": lambda script: block_disorder(script, length=7, seed=1),
}


@pytest.mark.parametrize("disorder", DISORDERS)
def test_punctuation_is_as_high_as_the_changes_after_it_allow(disorder: str) -> None:
    for seed in SEEDS:
        steps = DISORDERS[disorder](points(seed)).steps
        for place, step in enumerate(steps):
            later_starts = [start_of(later) for later in steps[place:] if isinstance(later, KeyedChange)]
            if isinstance(step, Punctuation) and later_starts:
                assert step.time == min(later_starts)


def test_a_change_comes_before_all_that_are_later_by_more_than_the_band_is_wide() -> None:
    largest_delay = 0
    for seed in SEEDS:
        latest_start = -1
        for step in band_disorder(points(seed), width=9, seed=seed).changes():
            latest_start = max(latest_start, start_of(step))
            largest_delay = max(largest_delay, latest_start - start_of(step))
    assert 5 < largest_delay <= 9


def test_a_band_without_width_puts_a_stream_in_order() -> None:
    starts = [start_of(step) for step in band_disorder(points(1), width=0, seed=1).changes()]
    assert starts == sorted(starts)


def test_punctuation_of_a_band_is_at_least_so_many_ticks_apart() -> None:
    steps = band_disorder(points(3), width=4, seed=3, every=10).steps
    times = [step.time for step in steps if isinstance(step, Punctuation)]
    assert len(times) > 3
    assert all(next_time - time >= 10 for time, next_time in pairwise(times))


def test_blocks_come_one_after_the_other_with_punctuation_between_and_no_order_within() -> None:
    steps = block_disorder(points(2), length=20, seed=2).steps
    blocks: list[list[int]] = [[]]
    for step in steps:
        if isinstance(step, KeyedChange):
            blocks[-1].append(start_of(step))
        else:
            blocks.append([])
    first, second, third = (block for block in blocks if block)  # from 0, from 20 and from 40 on
    assert {time // 20 for time in first} == {0}
    assert {time // 20 for time in second} == {1}
    assert {time // 20 for time in third} == {2}
    for block in (first, second, third):
        assert block != sorted(block), "there is no order within a block"


def test_sources_with_a_skew_are_each_in_order_and_one_comes_so_much_later() -> None:
    arrivals = source_skew(points(4), {"a": 15}).changes()
    for key in ("a", "b"):
        starts_of_key = [start_of(step) for step in arrivals if step.key == key]
        assert starts_of_key == sorted(starts_of_key)
        assert len(starts_of_key) > 5

    # A change of a comes when those of b have come that start up to 15 ticks later, and before all others.
    for place, step in enumerate(arrivals):
        starts_of_b_before = [start_of(earlier) for earlier in arrivals[:place] if earlier.key == "b"]
        starts_of_b_after = [start_of(later) for later in arrivals[place:] if later.key == "b"]
        if step.key == "a" and starts_of_b_before:
            assert max(starts_of_b_before) <= start_of(step) + 15
            assert min(starts_of_b_after, default=INFINITY) >= start_of(step) + 15


@pytest.mark.parametrize(
    ("disorder", "length", "expected"),
    [
        (lambda script: band_disorder(script, width=-1, seed=0), "a width of -1 ticks", "expected 0 or more"),
        (lambda script: block_disorder(script, length=0, seed=0), "a length of 0 ticks", "expected 1 or more"),
        (lambda script: source_skew(script, {"a": -2}), "a delay of -2 ticks", "expected 0 or more"),
    ],
)
def test_a_length_that_makes_no_disorder_is_refused(
    disorder: Callable[[Script], Script], length: str, expected: str
) -> None:
    with pytest.raises(StreamError, match=f"{length} makes no disorder; {expected}"):
        disorder(Script().point("a", 1))


def test_a_stream_with_illegal_steps_is_refused() -> None:
    script = Script(allow_illegal=True).punctuate(9).point("a", 1)
    with pytest.raises(StreamError, match="illegal steps"):
        band_disorder(script, width=1, seed=0)


# What the engine emits, when, and with how much state; and how wrong an answer is.


COUNT = [Computation(Count())]


def dense(count: int = 120) -> Script:
    """Return a closed stream of points of one key, two in each tick."""
    script = Script()
    for number in range(count):
        script = script.point(number, number // 2, float(number % 7), key="a")
    return script.close()


@pytest.mark.parametrize("evaluator", ["general", "sliced", "columnar"])
@pytest.mark.parametrize(
    "script",
    [band_disorder(dense(), width=6, seed=1), block_disorder(dense(), length=20, seed=1)],
    ids=["a band of 6 ticks", "blocks of 20 ticks"],
)
def test_a_final_result_comes_with_the_punctuation_that_covers_its_window(script: Script, evaluator: str) -> None:
    query = WindowedQuery(hopping(12, 3), COUNT)
    measured = measure(script, query, evaluator=evaluator)
    assert measured.evaluator == evaluator
    assert measured.output == script.run(query)
    assert set(measured.latencies) == {0}
    assert len(measured.latencies) == len(measured.output["a"]) > 10


def test_sessions_close_when_the_watermark_has_passed_their_ends() -> None:
    # The session of a ends at 4, as the gap is 3, and that of b at 12.
    script = Script().point("a", 1).punctuate(4).point("b", 9).punctuate(5).punctuate(12).close()
    assert measure(script, WindowedQuery(session(3), COUNT)).latencies == [0, 0]


def test_speculative_results_come_early_and_cost_more() -> None:
    script = band_disorder(dense(), width=6, seed=2, every=10)
    query = WindowedQuery(tumbling(5), COUNT)
    early = measure(script, query, emit="speculative")
    assert early.output == measure(script, query).output
    assert min(early.latencies) < 0
    assert len(early.latencies) > len(early.output["a"])


def test_partial_states_take_less_memory_than_rows() -> None:
    script = band_disorder(dense(400), width=6, seed=3, every=20)
    query = WindowedQuery(hopping(200, 100), COUNT)
    bytes_of_rows = measure(script, query, evaluator="general").memory
    bytes_of_states = measure(script, query, evaluator="sliced").memory
    assert 0 < 1.3 * bytes_of_states < bytes_of_rows


def test_an_evaluator_that_cannot_run_a_query_is_refused() -> None:
    with pytest.raises(QueryError, match=r"'columnar' cannot run .*\n  those that can: 'general'"):
        measure(Script().point(0, 1, 2).revise(0, 9).close(), WindowedQuery(session(5), COUNT), evaluator="columnar")


TRUTH = {"a": 10.0, "b": 0.0, "c": 0.0, "d": 4.0}
RESULTS = {"a": 9.0, "b": 0.0, "c": 1.0, "e": 7.0}


def test_the_mean_error_is_in_percent_of_the_truth_and_100_for_a_window_that_is_missing_or_ought_to_be_zero() -> None:
    assert mean_error(RESULTS, TRUTH) == (10 + 0 + 100 + 100) / 4  # of a, b, c and d
    assert mean_error({}, {}) == 0.0


def test_the_wrong_share_counts_windows_that_are_missing_and_those_that_ought_not_to_be_there() -> None:
    assert wrong_share(RESULTS, TRUTH) == 80.0  # all but b, of five windows
    assert wrong_share({}, {}) == 0.0
