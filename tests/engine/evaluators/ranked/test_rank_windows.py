"""Sums and merges of runs of rows are those of the rows of each window, however long windows and blocks are."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from muntin import Component
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, StretchTable
from muntin_engine.evaluators.ranked import rank_windows
from muntin_engine.evaluators.ranked.rank_windows import RANK, RankRuns, RowsByRank


def rows_of(counts: list[int]) -> StretchTable:
    """Return rows of keys 0, 1 and so on, so many each, a tick apart."""
    keys = np.repeat(np.arange(len(counts)), counts)
    times = np.arange(len(keys))
    return StretchTable(keys, times, times + 1, np.ones(len(keys), np.int64), {})


def ranked_rows(counts: list[int]) -> RowsByRank:
    rows = rows_of(counts)
    return RowsByRank.join(np.flatnonzero(counts), EMPTY, rows)


@pytest.mark.cases(16)
@pytest.mark.parametrize("seed", range(16))
def test_a_window_has_the_values_of_its_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(rank_windows, "LEAST_BLOCK", random.choice((1, 4, 1024)))
    counts = [random.choice((0, 1, 3, 30)) for _ in range(random.randint(1, 5))] + [random.randint(1, 9)]
    windows = RankedWindows(random.randint(1, 12), random.choice((1, 1, 3)), random.random() < 0.3)
    ranked = ranked_rows(counts)
    runs = RankRuns(ranked, windows, ranked.newest_rows(windows))
    values = np.array([random.randint(-50, 50) for _ in range(sum(counts))])
    sums = runs.sums(values)
    vectors = runs.sums(np.stack([values, -values], axis=1))
    largest = runs.merged(Component.max("int64"), values)
    products = runs.merged(Component.product("int64"), values)

    place = 0
    first = 0
    for count in counts:
        for rank in range(1, count + 1):
            if rank % windows.every or (windows.only_full and rank < windows.size):
                continue
            members = values[first + max(0, rank - windows.size) : first + rank]
            assert sums[place] == members.sum()
            assert vectors[place].tolist() == [members.sum(), -members.sum()]
            assert largest[place] == members.max()
            assert products[place] == members.prod()
            place += 1
        first += count
    assert place == len(runs.newest)


def test_no_sum_of_a_block_has_more_values_than_the_engine_cuts_floats_for() -> None:
    ranked = ranked_rows([5_000])
    runs = RankRuns(ranked, RankedWindows(2_000), np.arange(5_000))
    assert runs.most_values == 2_000
    assert runs.sums(np.ones(5_000, np.int64)).max() == 2_000


def test_released_rows_follow_those_that_are_held_and_go_on_with_their_ranks() -> None:
    held = rows_of([2, 0, 1])
    held = StretchTable(held.keys, held.low, held.high, held.weight, {RANK: Dense(COUNTED, np.array([7, 8, 1]))})
    ranked = RowsByRank.join(np.array([0, 1, 2]), held, rows_of([1, 2, 1]))
    assert ranked.rows.keys.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert ranked.ranks.tolist() == [7, 8, 9, 1, 2, 1, 2]
    assert ranked.are_released.tolist() == [False, False, True, True, True, False, True]
    assert ranked.last(2).parts[RANK].array.tolist() == [8, 9, 1, 2, 1, 2]
