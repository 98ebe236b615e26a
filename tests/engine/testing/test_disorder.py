"""Disorder changes how a stream arrives and not what it means; when results come, and how wrong they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

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
    """Return sixty points of two keys in order of time, about one per tick."""
    script = random_stream(seed, events=60, starts=range(60))
    inserted = sorted({step.change.event.start: step for step in script.changes()}.values(), key=starts)
    return Script(()).close() if not inserted else Script((*map(as_point, inserted), Punctuation(INFINITY)))


def starts(step: KeyedChange) -> int:
    return step.change.event.start


def as_point(step: KeyedChange) -> KeyedChange:
    (added,) = Script().point(step.change.id, starts(step), key=step.key).changes()
    return added


@settings(max_examples=60)
@given(st.data(), st.integers(0, 500))
def test_a_disordered_stream_is_legal_and_means_the_same(data: st.DataObject, seed: int) -> None:
    script = random_stream(seed, events=10, repeats=0.3)
    moved = data.draw(disordered(script))
    assert moved.history() == script.history()
    assert moved.illegal() == ()
    assert (moved.last_watermark() == INFINITY) == (script.last_watermark() == INFINITY)


@pytest.mark.parametrize("make", [lambda s: band_disorder(s, 9, 1), lambda s: block_disorder(s, 7, 1)])
def test_punctuation_is_as_high_as_the_rest_allows(make: Callable[[Script], Script]) -> None:
    for seed in SEEDS:
        steps = make(points(seed)).steps
        for place, step in enumerate(steps):
            later_starts = [starts(later) for later in steps[place:] if isinstance(later, KeyedChange)]
            if isinstance(step, Punctuation) and later_starts:
                assert step.time == min(later_starts)


def test_a_change_comes_before_all_that_are_later_by_more_than_the_band_is_wide() -> None:
    widest = 0
    for seed in SEEDS:
        arriving = list(map(starts, band_disorder(points(seed), 9, seed).changes()))
        widest = max(widest, *(max(arriving[:place]) - at for place, at in enumerate(arriving) if place))
    assert 5 < widest <= 9
    in_order = band_disorder(points(1), 0, 1).changes()
    assert list(map(starts, in_order)) == sorted(map(starts, in_order))


def test_a_grain_spaces_punctuation_out() -> None:
    times = [step.time for step in band_disorder(points(3), 4, 3, every=10).steps if isinstance(step, Punctuation)]
    assert len(times) > 3
    assert all(next_time - time >= 10 for time, next_time in pairwise(times))


def test_blocks_come_one_after_the_other_with_punctuation_between_and_no_order_within() -> None:
    steps = block_disorder(points(2), 20, 2).steps
    blocks: list[list[int]] = [[]]
    for step in steps:
        if isinstance(step, KeyedChange):
            blocks[-1].append(starts(step))
        else:
            blocks.append([])
    first, second, third = (block for block in blocks if block)
    assert {time // 20 for time in first} == {0}
    assert {time // 20 for time in second} == {1}
    assert {time // 20 for time in third} == {2}
    for block in (first, second, third):
        assert block != sorted(block), "there is no order within a block"


def test_a_source_that_is_behind_is_in_order_and_comes_so_much_later() -> None:
    arriving = source_skew(points(4), {"a": 15}).changes()
    for key in ("a", "b"):
        of_key = [starts(step) for step in arriving if step.key == key]
        assert of_key == sorted(of_key)
        assert len(of_key) > 5
    for place, step in enumerate(arriving):
        starts_of_b_before = [starts(earlier) for earlier in arriving[:place] if earlier.key == "b"]
        starts_of_b_after = [starts(later) for later in arriving[place:] if later.key == "b"]
        if step.key == "a" and starts_of_b_before:
            assert max(starts_of_b_before) <= starts(step) + 15
            assert min(starts_of_b_after, default=99) >= starts(step) + 15


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: band_disorder(s, -1, 0), "a width of -1 ticks makes no disorder; expected 0 or more"),
        (lambda s: block_disorder(s, 0, 0), "a length of 0 ticks makes no disorder; expected 1 or more"),
        (lambda s: source_skew(s, {"a": -2}), "a delay of -2 ticks makes no disorder; expected 0 or more"),
    ],
)
def test_a_length_that_makes_no_sense_is_refused(make: Callable[[Script], Any], message: str) -> None:
    with pytest.raises(StreamError, match=message):
        make(Script().point("a", 1))


def test_a_stream_with_illegal_steps_is_refused() -> None:
    script = Script(allow_illegal=True).punctuate(9).point("a", 1)
    with pytest.raises(StreamError, match="illegal steps"):
        band_disorder(script, 1, 0)


# What the engine emits, when, and with how much state; and how wrong an answer is.


COUNT = [Computation(Count())]


def dense(count: int = 120) -> Script:
    """Return two points per tick."""
    script = random_stream(1, keys=("a",), events=0, closed=True)
    points = [Script().point(number, number // 2, float(number % 7), key="a").changes()[0] for number in range(count)]
    return Script((*points, *script.steps))


@pytest.mark.parametrize("evaluator", ["general", "sliced", "columnar"])
@pytest.mark.parametrize("make", [lambda s: band_disorder(s, 6, 1), lambda s: block_disorder(s, 20, 1)])
def test_a_final_result_comes_with_the_punctuation_that_covers_its_window(make, evaluator) -> None:  # type: ignore[no-untyped-def]
    script = make(dense())
    query = WindowedQuery(hopping(12, 3), COUNT)
    measured = measure(script, query, evaluator=evaluator)
    assert measured.evaluator == evaluator
    assert measured.output == script.run(query)
    assert set(measured.latencies) == {0}
    assert len(measured.latencies) == len(measured.output["a"]) > 10


def test_sessions_close_when_the_watermark_has_passed_their_ends() -> None:
    script = Script().point("a", 1).punctuate(4).point("b", 9).punctuate(5).punctuate(12).close()
    assert measure(script, WindowedQuery(session(3), COUNT)).latencies == [0, 0]


def test_speculative_results_come_early_and_cost_more() -> None:
    script = band_disorder(dense(), 6, 2, every=10)
    query = WindowedQuery(tumbling(5), COUNT)
    early = measure(script, query, emit="speculative")
    assert early.output == measure(script, query).output
    assert min(early.latencies) < 0
    assert len(early.latencies) > len(early.output["a"])


def test_partial_states_take_less_memory_than_rows() -> None:
    script = band_disorder(dense(400), 6, 3, every=20)
    query = WindowedQuery(hopping(200, 100), COUNT)
    rows, states = (measure(script, query, evaluator=name).memory for name in ("general", "sliced"))
    assert 0 < 1.3 * states < rows


def test_an_evaluator_that_cannot_run_a_query_is_refused() -> None:
    with pytest.raises(QueryError, match=r"'columnar' cannot run .*\n  those that can: 'general'"):
        measure(Script().point(0, 1, 2).revise(0, 9).close(), WindowedQuery(session(5), COUNT), evaluator="columnar")


def test_errors_count_windows_that_are_missing_and_those_that_are_too_many() -> None:
    truth = {"a": 10.0, "b": 0.0, "c": 0.0, "d": 4.0}
    assert mean_error({"a": 9.0, "b": 0.0, "c": 1.0, "e": 7.0}, truth) == (10 + 0 + 100 + 100) / 4
    assert wrong_share({"a": 9.0, "b": 0.0, "c": 1.0, "e": 7.0}, truth) == 80.0
    assert (mean_error({}, {}), wrong_share({}, {})) == (0.0, 0.0)
