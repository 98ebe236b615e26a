"""Windows as runs of neighbouring rows: rows that are sorted by key and rank, and sums and merges of runs of them."""

from __future__ import annotations

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
    """Rows of some keys by rank: those that the windows of a key have already, then those that are released.

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
        """Join rows that are sorted by key.

        Args:
            keys: The codes of the keys that have released rows, ascending.
            held: The rows that their windows have already, with ranks.
            released: The released rows, without ranks.
        """
        held_counts = np.searchsorted(held.keys, keys, "right") - np.searchsorted(held.keys, keys, "left")
        ends = np.searchsorted(released.keys, keys, "right")
        released_counts = np.diff(ends, prepend=0)
        last_ranks = np.zeros(len(keys), np.int64)
        if len(held):
            with_held = held_counts > 0
            last_held = np.cumsum(held_counts)[with_held] - 1
            last_ranks[with_held] = held.parts[RANK].array[last_held]
        owners, within = expanded(released_counts)
        ranks = Dense(COUNTED, last_ranks[owners] + within + 1)
        ranked = StretchTable(
            released.keys, released.low, released.high, released.weight, {**released.parts, RANK: ranks}
        )
        if not len(held):
            return cls(ranked, keys, held_counts, released_counts)

        # The rows of a key lie side by side: those that are held begin where its rows do.
        starts = np.cumsum(held_counts + released_counts) - held_counts - released_counts
        held_owners, held_within = expanded(held_counts)
        order = np.empty(len(held) + len(released), np.int64)
        order[starts[held_owners] + held_within] = np.arange(len(held))
        order[(starts + held_counts)[owners] + within] = len(held) + np.arange(len(released))
        return cls(concat([held, ranked]).take(order), keys, held_counts, released_counts)

    @property
    def ranks(self) -> IntArray:
        """The rank of each row."""
        ranks: IntArray = self.rows.parts[RANK].array
        return ranks

    @property
    def are_released(self) -> BoolArray:
        """True for the rows that are released."""
        counts = np.stack([self.held_counts, self.released_counts], axis=1).ravel()
        return np.repeat(np.tile([False, True], len(self.keys)), counts)

    def newest_rows(self, windows: RankedWindows) -> IntArray:
        """Return the places of the released rows at which a window is computed."""
        ranks = self.ranks
        is_newest = self.are_released
        if windows.every > 1:
            is_newest &= ranks % windows.every == 0
        if windows.only_full:
            is_newest &= ranks >= windows.size
        return np.flatnonzero(is_newest)

    def last(self, count: int) -> StretchTable:
        """Return the last so many rows of each key."""
        counts = self.held_counts + self.released_counts
        ends = np.repeat(np.cumsum(counts), counts)
        is_wanted = np.arange(len(self.rows)) >= ends - count
        return self.rows.where(is_wanted)

    def window(self, newest: int, windows: RankedWindows) -> Window:
        """Return the extent of the window that is computed at a row."""
        oldest = newest + 1 - min(int(self.ranks[newest]), windows.size)
        return Window(int(self.rows.low[oldest]), int(self.rows.low[newest]) + 1)


class RankRuns:
    """Runs of neighbouring rows, which are windows; computes what these have of values of the rows.

    Attributes:
        most: The greatest number of values in a sum.
        firsts: The place of the oldest row of each window.
        newest: The place of its newest row.
        sizes: The number of its rows.
    """

    def __init__(self, ranked: RowsByRank, windows: RankedWindows, newest: IntArray) -> None:
        """Take the windows that are computed at some rows.

        Args:
            ranked: The rows.
            windows: The windows.
            newest: The places of the rows.
        """
        self.newest = newest
        self.sizes = np.minimum(ranked.ranks[newest], windows.size)
        self.firsts = newest + 1 - self.sizes
        self.most = max(int(self.sizes.max(initial=0)), LEAST_BLOCK)
        self._rows = ranked.rows

    def table(self) -> StretchTable:
        """Return the windows with merged components, from start to end."""
        rows = self._rows
        parts: dict[Part, Any] = {}
        for part, values in rows.parts.items():
            if part.form < 0:  # what belongs to no form: the columns of rows, and their ranks
                continue
            parts[part] = values.running(self) if values.is_summed else values.through(self.merged, self.most)
        return replace(self.bare_table(), parts=parts)

    def bare_table(self) -> StretchTable:
        """Return the windows, from start to end in ticks, without components."""
        rows = self._rows
        starts = rows.low[self.firsts]
        ends = rows.low[self.newest] + 1
        return StretchTable(rows.keys[self.newest], starts, ends, self.sizes, {})

    def sums(self, values: Array) -> Array:
        """Return for each window the sum of its values.

        Sums run within blocks at least as long as a window, so that no sum has more than `most` values, and a window
        lies in two blocks at the most. Differences of such sums are exact, as those of whole numbers and of floats on a
        grid are.

        Cost: a step for each value and each window, whatever the size of windows.
        """
        length = self.most
        blocks = -(-len(values) // length)
        padded = np.zeros((blocks * length, *values.shape[1:]), values.dtype)
        padded[: len(values)] = values
        table = padded.reshape(blocks, length, *values.shape[1:])
        np.cumsum(table, axis=1, dtype=values.dtype, out=table)
        running = padded

        # The rows of a window in the block of its newest row, without those before the window.
        blocks_of_firsts = self.firsts // length
        is_across = blocks_of_firsts < self.newest // length
        has_before = self.firsts % length > 0
        sums = running[self.newest]
        is_within = has_before & ~is_across
        sums[is_within] -= running[self.firsts[is_within] - 1]

        # Its rows in the block before that one; subtracted first, so that no sum in between has more values.
        earlier = running[(blocks_of_firsts[is_across] + 1) * length - 1]
        is_cut = has_before[is_across]
        earlier[is_cut] -= running[self.firsts[is_across][is_cut] - 1]
        sums[is_across] += earlier
        return sums

    def merged(self, component: Component, values: Array) -> Array:
        """Return for each window the merge of its values; nothing is subtracted.

        A window is divided into runs of 1, 2, 4 and so on rows, each at most once: a run of the next length is merged
        of two neighbours. Runs that reach back beyond the first row of a key belong to no window.

        Cost: a merge for each value, and at most one for each window, by the binary digits of the size of windows.
        """
        merged = identities(component, len(self.newest))
        level = np.array(values)
        sizes = self.sizes
        ends = self.newest.copy()
        length = 1
        longest = int(sizes.max(initial=0))
        while length <= longest:
            chosen = np.flatnonzero(sizes & length)
            if len(chosen):
                merged[chosen] = merge(component, level[ends[chosen]], merged[chosen])
                ends[chosen] -= length
            if 2 * length <= longest:
                level[length:] = merge(component, level[:-length], level[length:])
            length *= 2
        return merged
