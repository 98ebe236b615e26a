"""Count windows at every n-th time, against windows listed from all times at once; and trailing windows."""

from __future__ import annotations

from random import Random

import pytest

from muntin import count_by_start, trailing
from muntin.testing import Computation, Script, WindowedQuery
from muntin_engine.testing import crash_everywhere
from muntin_stats import Count


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


def test_an_event_that_lasts_is_a_member_of_the_windows_that_it_lasts_into() -> None:
    """
                 0        10        20
    a            [--------)                it has ended before the window at 16, and lasts into that at 12
    b, c                    !   !
    """
    stream = Script().insert("a", 0, 10).point("b", 12).point("c", 16).close()
    results = stream.run(WindowedQuery(trailing(6), [Computation(Count())]))[None]
    assert [(row.start, row.end, row.value[0]) for row in results] == [(-5, 1, 1), (7, 13, 2), (11, 17, 2)]
