"""The last rows of keys: a log that is written anew goes on with their ranks, and a batch touches its keys alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from muntin.columnar.arrays import IntArray
from muntin.rows import LastRows, last
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.evaluators.ranked import ranked_store
from muntin_engine.evaluators.ranked.rank_windows import RANK
from muntin_engine.evaluators.ranked.ranked_store import LastRowsOfKeys, RankedStore
from muntin_engine.state.log import LogEntry
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.feed import Feed, Result, at
from tests.scenarios.query import Query
from tests.scenarios.small import with_small_limits


def fed(feed: Feed, batches: int) -> list[Result]:
    """Feed batches of a row of each of three keys, in two of which the watermark passes the rows before."""
    results: list[Result] = []
    for tick in range(batches):
        rows = [at(tick, tick * 7 % 10, key) for key in "abc"[: 1 + tick % 3]]
        results.append(feed.batch(*rows, watermark=tick if tick % 3 else None))
    return results


@pytest.mark.parametrize("windows", [last(2).trigger(3), last(3), last(4).trigger(2).when_full()], ids=str)
def test_a_log_that_is_written_anew_has_the_ranks_of_the_rows_in_windows(
    windows: LastRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(windows, COLUMNAR["sums"], lifetimes="points", has_order=True)
    expected = fed(Feed(query, "in_order"), 40)
    largest_rank = 0
    read = RankedStore.read

    def noted(store: RankedStore, entries: Sequence[LogEntry]) -> tuple[StretchTable, StretchTable]:
        nonlocal largest_rank
        in_windows, came_since = read(store, entries)
        if len(in_windows):
            largest_rank = max(largest_rank, int(in_windows.parts[RANK].array.max()))
        return in_windows, came_since

    monkeypatch.setattr(RankedStore, "read", noted)
    feed = Feed(query, "ranked")
    feed.restart()
    with with_small_limits(1):
        results = fed(feed, 40)
    assert largest_rank > 10, "ranks are read of rows that many others came before"
    for result, expected_result in zip(results, expected, strict=True):
        assert sorted(result.changes) == sorted(expected_result.changes)
        assert result.counts["output_watermark"] == expected_result.counts["output_watermark"]
        assert result.counts["events_held"] == expected_result.counts["events_held"]
        assert result.counts["keys_held"] == expected_result.counts["keys_held"]


def rows_at(keys: Sequence[int], time: int) -> StretchTable:
    codes: IntArray = np.array(keys)
    times = np.full(len(codes), time)
    return StretchTable(codes, times, times + 1, np.ones(len(codes), np.int64), {})


def test_a_batch_of_few_keys_leaves_the_rows_of_others_where_they_are() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.arange(100), 0, rows_at(range(100), 1))
    rows.replace(np.array([3, 7]), 2, rows_at([3, 3, 7], 2))
    rows.replace(np.array([7]), 1, rows_at([7], 3))
    assert rows.count == 101
    assert [len(piece) for piece in rows._pieces] == [100, 3, 1]
    assert rows.of_keys(np.array([2, 3, 7])).low.tolist() == [1, 2, 2, 3]
    assert rows.first_times[[2, 3, 7]].tolist() == [1, 2, 3]
    assert rows.table().keys.tolist() == [0, 1, 2, 3, 3, *range(4, 100)]
    assert [len(piece) for piece in rows._pieces] == [101]


def test_rows_in_many_pieces_or_mostly_dead_ones_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.arange(4), 0, rows_at(range(4), 1))
    for time in range(2, 8):
        rows.replace(np.array([1, 2]), 2, rows_at([1, 2], time))
        assert sum(map(len, rows._pieces)) <= 2 * rows.count
    monkeypatch.setattr(ranked_store, "MOST_PIECES", 2)
    rows.replace(np.array([9]), 0, rows_at([9], 9))
    rows.replace(np.array([12]), 0, rows_at([12], 9))
    assert len(rows._pieces) == 1
    assert rows.table().low.tolist() == [1, 7, 7, 1, 9, 9]


def test_keys_get_other_codes_and_keep_their_rows() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.array([2, 5]), 0, rows_at([2, 5], 1))
    rows.replace(np.array([5]), 1, rows_at([5], 4))
    rows.renumber(np.array([-1, -1, 0, -1, -1, 1]))
    assert rows.codes().tolist() == [0, 1]
    assert rows.table().low.tolist() == [1, 4]
    assert rows.first_times.tolist() == [1, 4]
