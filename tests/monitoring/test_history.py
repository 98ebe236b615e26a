"""What is kept of many micro-batches."""

from __future__ import annotations

from muntin_engine.monitoring.history import MOST_KEPT, Histories
from tests.monitoring.queries import progress


def test_a_batch_that_is_seen_again_counts_once() -> None:
    batches = [progress(number, muntin={"accepted": 10}) for number in range(5)]
    seen = Histories()
    for upto in (1, 3, 3, 5):
        seen.take(batches[:upto])
    history = seen.by_query["muntin"]
    assert [numbers.batch for numbers in history.batches] == [0, 1, 2, 3, 4]
    assert history.totals["accepted"] == 50


def test_sums_go_on_when_old_batches_are_forgotten() -> None:
    seen = Histories()
    seen.take(progress(0, second=number / 1000, muntin={"results": 2}) for number in range(3 * MOST_KEPT))
    history = seen.by_query["muntin"]
    assert len(history.batches) == MOST_KEPT
    assert history.totals["results"] == 6 * MOST_KEPT
    assert history.seconds["batch"] == 0.5 * 3 * MOST_KEPT


def test_several_queries_in_one_have_a_history_each() -> None:
    seen = Histories()
    seen.take([progress(0, left={"late": 1}, right={"late": 2}), progress(1, left={"late": 3}, right={"late": 4})])
    assert {name: history.totals["late"] for name, history in seen.by_query.items()} == {"left": 4, "right": 6}


def test_seconds_of_stages_and_modules_add_up() -> None:
    metrics = {"evaluate_us": 1_000_000, "module_us:m": 500_000}
    seen = Histories()
    seen.take(progress(number, muntin=metrics) for number in range(4))
    history = seen.by_query["muntin"]
    assert (history.seconds["evaluate"], history.modules["m"]) == (4, 2)


def test_a_level_is_the_last_that_is_known() -> None:
    seen = Histories()
    seen.take([progress(0, muntin={"keys_held": 7}), progress(1, muntin={"keys_held": None})])
    history = seen.by_query["muntin"]
    assert (history.last.keys_held, history.latest("keys_held"), history.latest("events_held")) == (None, 7, None)
