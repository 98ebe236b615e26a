"""What the engine emits, when, and with how much state; and how wrong an answer is."""

from __future__ import annotations

import pytest

from muntin import hopping, session, tumbling
from muntin.errors import QueryError
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import band_disorder, block_disorder, mean_error, measure, random_stream, wrong_share
from muntin_stats import Count

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
    script, query = band_disorder(dense(400), 6, 3, every=20), WindowedQuery(hopping(200, 100), COUNT)
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
