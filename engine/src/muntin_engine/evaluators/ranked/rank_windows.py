"""Windows as runs of neighbouring rows: rows that are sorted by key and rank, and sums and merges of runs of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from muntin import Component, Window
from muntin.columnar import identities, merge
from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin.rows import RankedWindows
from muntin_engine.evaluators.arrays.stretches.coding import expanded
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.stretch_table import Part, StretchTable, concat

RANK: Final = Part(-1, "rank")
"""The part that is the rank of each row, from 1: its number among the rows of its key in their order."""

LEAST_BLOCK: Final = 1024
"""The least number of rows of which running sums are made in one go."""


@dataclass(frozen=True, slots=True)
class RowsByRank:
    """Rows of some keys by rank: those that the window of a key has already, then those that the batch releases.

    Attributes:
        rows: The rows, key by key.
        keys: The codes of the keys, ascending.
        held_counts: For each key the number of rows that its window has already.
        released_counts: For each key the number of rows that are released.
    """

    rows: StretchTable
    keys: IntArray
    held_counts: IntArray
    released_counts: IntArray

    @classmethod
    def join(cls, keys: IntArray, held: StretchTable, released: StretchTable) -> RowsByRank:
        """Give released rows their ranks, and join them with the rows that the windows of their keys have already.

        Args:
            keys: The codes of the keys that have released rows, ascending.
            held: The rows that the windows of these keys have already, sorted by key and rank.
            released: The released rows, sorted by key and in their order, without ranks.
        """
        held_counts = np.searchsorted(held.keys, keys, "right") - np.searchsorted(held.keys, keys, "left")
        ends = np.searchsorted(released.keys, keys, "right")
        released_counts = np.diff(ends, prepend=0)

        # The ranks of a key go on after the rank of its last held row; those of a new key begin with 1.
        last_ranks = np.zeros(len(keys), np.int64)
        if len(held):
            has_held = held_counts > 0
            last_held = np.cumsum(held_counts)[has_held] - 1
            last_ranks[has_held] = held.parts[RANK].array[last_held]
        owners, within = expanded(released_counts)
        ranks = Dense(COUNTED, last_ranks[owners] + within + 1)
        ranked = replace(released, parts={**released.parts, RANK: ranks})
        if not len(held):
            return cls(ranked, keys, held_counts, released_counts)

        # The rows of a key lie side by side: first those that are held, then the released ones.
        counts = held_counts + released_counts
        starts = np.cumsum(counts) - counts
        released_starts = starts + held_counts
        held_owners, held_within = expanded(held_counts)
        order = np.empty(len(held) + len(released), np.int64)
        order[starts[held_owners] + held_within] = np.arange(len(held))
        order[released_starts[owners] + within] = len(held) + np.arange(len(released))
        return cls(concat([held, ranked]).take(order), keys, held_counts, released_counts)

    @property
    def ranks(self) -> IntArray:
        """The rank of each row."""
        ranks: IntArray = self.rows.parts[RANK].array
        return ranks

    @property
    def are_released(self) -> BoolArray:
        """For each row whether it is a released one."""
        # Each key has two runs of rows: its held ones, then its released ones.
        run_lengths = np.stack([self.held_counts, self.released_counts], axis=1).ravel()
        return np.repeat(np.tile([False, True], len(self.keys)), run_lengths)

    def newest_rows(self, windows: RankedWindows) -> IntArray:
        """Return the places of the released rows that are each the newest row of a window to compute.

        Args:
            windows: The windows, which say after how many rows the next one is computed, and whether only full ones
                are.
        """
        ranks = self.ranks
        has_window = self.are_released
        if windows.every > 1:
            has_window &= ranks % windows.every == 0
        if windows.only_full:
            has_window &= ranks >= windows.size
        return np.flatnonzero(has_window)

    def last(self, count: int) -> StretchTable:
        """Return the last `count` rows of each key, or all rows of a key that has fewer."""
        counts = self.held_counts + self.released_counts
        ends = np.repeat(np.cumsum(counts), counts)  # for each row the place after the last row of its key
        is_among_last = np.arange(len(self.rows)) >= ends - count
        return self.rows.where(is_among_last)

    def window(self, newest: int, windows: RankedWindows) -> Window:
        """Return the extent of the window that is computed at a row, from its oldest row to this newest one.

        Args:
            newest: The place of the row.
            windows: The windows, which say how many rows one has at most.
        """
        oldest = newest + 1 - min(int(self.ranks[newest]), windows.size)
        return Window(int(self.rows.low[oldest]), int(self.rows.low[newest]) + 1)


class RankRuns:
    """Windows as runs of neighbouring rows; sums and merges the values of the rows for each window.

    Attributes:
        most_values: The greatest number of values in a sum.
        firsts: The place of the oldest row of each window.
        newest: The place of the newest row of each window.
        sizes: The number of rows of each window.
    """

    def __init__(self, ranked: RowsByRank, windows: RankedWindows, newest: IntArray) -> None:
        """Find the rows of each window.

        Args:
            ranked: The rows.
            windows: The windows, which say how many rows one has at most.
            newest: The place of the newest row of each window.
        """
        self.newest = newest
        self.sizes = np.minimum(ranked.ranks[newest], windows.size)
        self.firsts = newest + 1 - self.sizes
        self.most_values = max(int(self.sizes.max(initial=0)), LEAST_BLOCK)  # the length of the blocks of `sums`
        self._rows = ranked.rows

    def table(self) -> StretchTable:
        """Return the windows with merged components, from start to end."""
        rows = self._rows
        parts: dict[Part, Any] = {}
        for part, values in rows.parts.items():
            if part.form < 0:  # the columns of rows, and their ranks, which are not merged
                continue
            if values.is_summed:  # a difference of running sums
                parts[part] = values.running(self)
            else:
                parts[part] = values.through(self.merged, self.most_values)
        return replace(self.bare_table(), parts=parts)

    def bare_table(self) -> StretchTable:
        """Return the windows, from start to end in ticks, without components."""
        rows = self._rows
        starts = rows.low[self.firsts]
        ends = rows.low[self.newest] + 1
        return StretchTable(rows.keys[self.newest], starts, ends, self.sizes, {})

    def sums(self, values: Array) -> Array:
        """Return for each window the sum of its values, as a difference of running sums.

        Sums run within blocks of `most_values` rows, which are at least as long as a window. So no sum has more values,
        and a window lies in two blocks at the most. Differences of such sums are exact: the values are whole numbers,
        or floats on a grid.

        Cost: a step for each value and each window, whatever the size of windows.

        Args:
            values: The value of each row.
        """
        length = self.most_values
        block_count = math.ceil(len(values) / length)
        running = np.zeros((block_count * length, *values.shape[1:]), values.dtype)
        running[: len(values)] = values
        blocks = running.reshape(block_count, length, *values.shape[1:])  # a view: the sums go into `running`
        np.cumsum(blocks, axis=1, dtype=values.dtype, out=blocks)

        # First the rows of a window in the block of its newest row: the running sum there, less the sum of the rows
        # before the window, if the window begins within this block and not at its start.
        first_blocks = self.firsts // length
        is_in_two_blocks = first_blocks < self.newest // length
        begins_within_block = self.firsts % length > 0
        sums = running[self.newest]
        is_cut = begins_within_block & ~is_in_two_blocks
        sums[is_cut] -= running[self.firsts[is_cut] - 1]

        # Then its rows in the block before: the sum of that whole block, less the rows before the window. These are
        # subtracted before both sums are added, so that no sum in between has more than `most_values` values.
        earlier_sums = running[(first_blocks[is_in_two_blocks] + 1) * length - 1]
        is_earlier_cut = begins_within_block[is_in_two_blocks]
        earlier_sums[is_earlier_cut] -= running[self.firsts[is_in_two_blocks][is_earlier_cut] - 1]
        sums[is_in_two_blocks] += earlier_sums
        return sums

    def merged(self, component: Component, values: Array) -> Array:
        """Return for each window the merge of its values; nothing is subtracted.

        A window of 13 rows is divided into runs of 1, 4 and 8 rows, as the binary digits of its size say, from its
        newest row backwards. Runs of one length end at every row, and are merged of two runs of half the length.

        Cost: for each binary digit of the size of windows, a merge for each value, and at most one for each window.

        Args:
            component: The component of the values.
            values: The value of each row.
        """
        merged = identities(component, len(self.newest))
        # For each row the merge of the run of `length` rows that ends there. A run that reaches back into the rows of
        # the key before is part of no window.
        run_values = np.array(values)
        sizes = self.sizes
        run_ends = self.newest.copy()
        length = 1
        longest = int(sizes.max(initial=0))
        while length <= longest:
            with_run = np.flatnonzero(sizes & length)  # the windows whose size has this binary digit
            if len(with_run):
                merged[with_run] = merge(component, run_values[run_ends[with_run]], merged[with_run])
                run_ends[with_run] -= length
            if 2 * length <= longest:
                run_values[length:] = merge(component, run_values[:-length], run_values[length:])
            length *= 2
        return merged
