"""Windows of the last rows of keys: their sums and merges, and the ranks of rows, by which they are cut."""

from __future__ import annotations

from dataclasses import replace
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
    """Return rows that are a tick apart, by key: `counts[0]` rows of key 0, `counts[1]` of key 1, and so on."""
    keys = np.repeat(np.arange(len(counts)), counts)
    times = np.arange(len(keys))
    return StretchTable(keys, times, times + 1, np.ones(len(keys), np.int64), {})


def ranked_rows(counts: list[int]) -> RowsByRank:
    """Return the rows of `rows_of` with their ranks: those of a key are 1, 2 and so on."""
    return RowsByRank.join(np.flatnonzero(counts), EMPTY, rows_of(counts))


def windows_by_definition(counts: list[int], windows: RankedWindows) -> list[range]:
    """Return the places of the rows of each window: of each key, the last rows at each rank that triggers."""
    places: list[range] = []
    first_of_key = 0
    for count in counts:
        for rank in range(1, count + 1):
            is_due = rank % windows.every == 0
            is_full = rank >= windows.size
            if is_due and (is_full or not windows.only_full):
                oldest = max(0, rank - windows.size)
                places.append(range(first_of_key + oldest, first_of_key + rank))
        first_of_key += count
    return places


@pytest.mark.cases(16)
@pytest.mark.parametrize("seed", range(16))
def test_sums_and_merges_of_windows_are_those_of_their_rows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(rank_windows, "LEAST_BLOCK", random.choice((1, 4, 1024)))
    counts = [random.choice((0, 1, 3, 30)) for _ in range(random.randint(1, 5))]
    counts.append(random.randint(1, 9))  # at least one key has rows
    windows = RankedWindows(size=random.randint(1, 12), every=random.choice((1, 1, 3)), only_full=random.random() < 0.3)
    values = np.array([random.randint(-50, 50) for _ in range(sum(counts))])

    ranked = ranked_rows(counts)
    runs = RankRuns(ranked, windows, ranked.newest_rows(windows))
    members = [values[list(places)] for places in windows_by_definition(counts, windows)]

    expected_sums = [window.sum() for window in members]
    assert runs.sums(values).tolist() == expected_sums
    vectors = runs.sums(np.stack([values, -values], axis=1))
    assert vectors.tolist() == [[total, -total] for total in expected_sums]

    largest = runs.merged(Component.max("int64"), values)
    assert largest.tolist() == [window.max() for window in members]
    products = runs.merged(Component.product("int64"), values)
    assert products.tolist() == [window.prod() for window in members]


def test_a_block_of_running_sums_is_as_long_as_a_window_if_that_is_longer_than_the_least_block() -> None:
    ranked = ranked_rows([5_000])
    runs = RankRuns(ranked, RankedWindows(size=2_000), newest=np.arange(5_000))
    assert runs.most_values == 2_000, "so many values floats are cut for, to have exact sums"
    assert runs.sums(np.ones(5_000, np.int64)).max() == 2_000


def test_new_rows_follow_the_rows_in_windows_and_go_on_with_their_ranks() -> None:
    rows_of_keys_0_0_2 = rows_of([2, 0, 1])
    in_windows = replace(rows_of_keys_0_0_2, parts={RANK: Dense(COUNTED, np.array([7, 8, 1]))})
    new_rows = rows_of([1, 2, 1])

    ranked = RowsByRank.join(np.array([0, 1, 2]), in_windows, new_rows)
    new, old = True, False
    assert ranked.rows.keys.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert ranked.ranks.tolist() == [7, 8, 9, 1, 2, 1, 2]
    assert ranked.are_released.tolist() == [old, old, new, new, new, old, new]

    last_two_by_key = ranked.last(2)
    assert last_two_by_key.parts[RANK].array.tolist() == [8, 9, 1, 2, 1, 2]
