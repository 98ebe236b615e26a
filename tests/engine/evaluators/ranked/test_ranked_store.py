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


def run_batches(feed: Feed, batches: int) -> list[Result]:
    """Feed batches in turn: of one row, of a key a; of two, of a and b; of three, of a, b and c.

    Batches of two and of three rows have a watermark, before which are the rows of all earlier batches.
    """
    results: list[Result] = []
    for tick in range(batches):
        keys = "abc"[: 1 + tick % 3]
        rows = [at(tick, value=tick * 7 % 10, key=key) for key in keys]
        results.append(feed.batch(*rows, watermark=tick if tick % 3 else None))
    return results


@pytest.mark.parametrize("windows", [last(2).trigger(3), last(3), last(4).trigger(2).when_full()], ids=str)
def test_a_log_that_is_written_anew_has_the_ranks_of_the_rows_in_windows(
    windows: LastRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(windows, COLUMNAR["sums"], lifetimes="points", has_order=True)
    expected_results = run_batches(Feed(query, "in_order"), 40)
    largest_rank = 0
    original_read = RankedStore.read

    def read(store: RankedStore, entries: Sequence[LogEntry]) -> tuple[StretchTable, StretchTable]:
        nonlocal largest_rank
        in_windows, came_since = original_read(store, entries)
        if len(in_windows):
            largest_rank = max(largest_rank, int(in_windows.parts[RANK].array.max()))
        return in_windows, came_since

    monkeypatch.setattr(RankedStore, "read", read)
    feed = Feed(query, "ranked")
    feed.restart()
    with with_small_limits(1):  # the log is written anew often
        results = run_batches(feed, 40)

    assert largest_rank > 10, "ranks are read of rows that many others came before"
    for result, expected in zip(results, expected_results, strict=True):
        assert sorted(result.changes) == sorted(expected.changes)
        for metric in ("output_watermark", "events_held", "keys_held"):
            assert result.counts[metric] == expected.counts[metric]


def rows_at(time: int, keys: Sequence[int]) -> StretchTable:
    """Return a row of each key, all at one time."""
    codes: IntArray = np.array(keys)
    times = np.full(len(codes), time)
    return StretchTable(codes, times, times + 1, np.ones(len(codes), np.int64), {})


def test_a_batch_of_few_keys_adds_a_small_piece_and_leaves_the_rows_of_other_keys_where_they_are() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.arange(100), previous_count=0, rows=rows_at(time=1, keys=range(100)))
    rows.replace(np.array([3, 7]), previous_count=2, rows=rows_at(time=2, keys=[3, 3, 7]))
    rows.replace(np.array([7]), previous_count=1, rows=rows_at(time=3, keys=[7]))

    assert rows.count == 101
    assert [len(piece) for piece in rows._pieces] == [100, 3, 1]
    assert rows.of_keys(np.array([2, 3, 7])).low.tolist() == [1, 2, 2, 3]
    assert rows.first_times[[2, 3, 7]].tolist() == [1, 2, 3]


def test_a_table_of_all_rows_joins_the_pieces() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.arange(100), previous_count=0, rows=rows_at(time=1, keys=range(100)))
    rows.replace(np.array([3]), previous_count=1, rows=rows_at(time=2, keys=[3, 3]))

    assert rows.table().keys.tolist() == [0, 1, 2, 3, 3, *range(4, 100)]
    assert [len(piece) for piece in rows._pieces] == [101]


def test_pieces_are_joined_when_most_of_their_rows_were_replaced() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.arange(4), previous_count=0, rows=rows_at(time=1, keys=range(4)))
    for time in range(2, 8):
        rows.replace(np.array([1, 2]), previous_count=2, rows=rows_at(time, keys=[1, 2]))
        assert sum(map(len, rows._pieces)) <= 2 * rows.count
    assert rows.table().low.tolist() == [1, 7, 7, 1]


def test_pieces_are_joined_when_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_store, "MOST_PIECES", 2)
    rows = LastRowsOfKeys()
    for key in (1, 2, 3):
        rows.replace(np.array([key]), previous_count=0, rows=rows_at(time=9, keys=[key]))
    assert len(rows._pieces) == 1
    assert rows.table().keys.tolist() == [1, 2, 3]


def test_keys_get_other_codes_and_keep_their_rows() -> None:
    rows = LastRowsOfKeys()
    rows.replace(np.array([2, 5]), previous_count=0, rows=rows_at(time=1, keys=[2, 5]))
    rows.replace(np.array([5]), previous_count=1, rows=rows_at(time=4, keys=[5]))

    new_code_of_each = np.array([-1, -1, 0, -1, -1, 1])  # key 2 becomes 0, and key 5 becomes 1
    rows.renumber(new_code_of_each)
    assert rows.codes().tolist() == [0, 1]
    assert rows.table().low.tolist() == [1, 4]
    assert rows.first_times.tolist() == [1, 4]
