"""Count windows at every n-th time, against windows listed from all times at once."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, Refinement, count_by_start
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from muntin_stats import Count
from tests.differential.cases import RANKED, Case
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.kinds import cases_of, check_looking_back, check_samples_and_events_without_ids

EVERY_WINDOW = pytest.mark.parametrize("window", RANKED)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = cases_of(window, emit)
    for case in Random(f"{window} {emit}").sample(cases, 10):
        check(case, case.stream, run)


@EVERY_WINDOW
def test_without_a_contract_output_may_lie_before_its_window_and_is_never_final(window: str) -> None:
    check_looking_back(window)


@EVERY_WINDOW
def test_early_output_is_that_of_the_reference(window: str) -> None:
    for number in range(3):
        case = EarlyCase(Case(window, "time-sensitive aggregate"), Refinement.RETRACT, number)
        check(case, case.stream, run_early)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_samples_and_events_without_ids_have_the_output_of_the_reference(window: str, emit: EmitPolicy) -> None:
    check_samples_and_events_without_ids(window, emit)


def listed(times: list[int], count: int, every: int) -> list[tuple[int, int, int]]:
    """Return the windows by the rank of each time, counted one by one: start, end and number of events."""
    ranked = {sum(other < time for other in set(times)): time for time in times}
    runs = [[ranked[rank + more] for more in range(count) if rank + more in ranked] for rank in sorted(ranked)]
    openings = [run for rank, run in enumerate(runs) if rank % every == 0 and len(run) == count]
    return [(run[0], run[-1] + 1, sum(run[0] <= time <= run[-1] for time in times)) for run in openings]


@pytest.mark.parametrize(("count", "every"), [(1, 1), (2, 2), (3, 2), (1, 3), (2, 5)])
def test_ties_late_rows_and_ids_that_are_used_again_leave_the_windows_of_the_ranks(count: int, every: int) -> None:
    found = 0
    for seed in range(8):
        random, script, times, watermark = Random(seed), Script(), dict[int, int](), 0
        for id in range(10):
            times[id] = watermark + random.randrange(8)
            script = script.point(id, times[id], id)
            if id % 3 == 2:
                script, times[id] = script.retract(id).point(id, times[id] + 1, id), times[id] + 1
            elif random.random() < 0.4:
                watermark += random.randrange(6)
                script = script.punctuate(watermark)
        query = WindowedQuery(count_by_start(count, every=every), [Computation(Count())])
        crash_everywhere(script.close(), query, emit="speculative")
        rows = script.close().run(query).get(None, [])
        expected = listed(list(times.values()), count, every)
        assert [(row.start, row.end, row.value[0]) for row in rows] == expected
        found += len(expected)
    assert found > 8


def test_a_late_row_moves_all_later_windows() -> None:
    script = Script().point("a", 1).point("b", 5).point("c", 9).point("d", 12).punctuate(2).point("late", 3).close()
    query = WindowedQuery(count_by_start(2, every=2), [Computation(Count())])
    assert [(row.start, row.end) for row in script.run(query)[None]] == [(1, 4), (5, 10)]
    crash_everywhere(script, query, emit="eager")


def test_a_key_without_events_is_kept_for_its_rank() -> None:
    script = Script().point("a", 1).punctuate(50).point("b", 60).punctuate(70).point("c", 80).close()
    query = WindowedQuery(count_by_start(1, every=2), [Computation(Count())])
    assert [(row.start, row.end) for row in script.run(query)[None]] == [(1, 2), (80, 81)]
    crash_everywhere(script, query)
