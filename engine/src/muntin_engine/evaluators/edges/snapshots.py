"""Snapshots as running sums: a partial state is added at the start of its event, and subtracted at its end.

Source: B. Chandramouli et al., Trill: A High-Performance Incremental Query Processor for Diverse Analytics, PVLDB 8
(2014), section 4.2: aggregates of snapshots by start edges and end edges.
"""

from __future__ import annotations

import numpy as np

from muntin import INFINITY
from muntin.columnar import Sums
from muntin.columnar.arrays import Array, BoolArray, FloatArray, IntArray
from muntin_engine.evaluators.columnar.partials import Partials, Values
from muntin_engine.evaluators.fused.fusing import by_key_and_start
from muntin_engine.evaluators.fused.held_sessions import ends_of


def lies_before(ticks: IntArray, watermark: int) -> BoolArray:
    """Return for each tick whether it lies before a watermark; once the stream is closed, all do."""
    if watermark == INFINITY:
        return np.ones(len(ticks), np.bool_)
    is_before: BoolArray = ticks < watermark
    return is_before


class Edges:
    """The starts and ends of events before a watermark, by key and in their order, and the snapshots between them.

    Edges of a key at one tick are one boundary. Sums run over all keys; what they are before the first edge of a key
    is subtracted again, which is exact of integers that wrap around, and of floats on a grid.

    Cost: a sort of the edges, and for each number of a partial state a few passes over them.
    """

    def __init__(self, events: Partials, first: int, last: int) -> None:
        """Find the snapshots that end at the watermark `first` or later, and before the watermark `last`.

        Args:
            events: The events that do not end before `first`; those that begin before it do so at the start of the
                first open snapshot of their key.
            first: A watermark.
            last: A later one.
        """
        starts, ends = events.slices, ends_of(events)
        self._begun = np.flatnonzero(lies_before(starts, last))
        self._ended = np.flatnonzero(lies_before(ends, last))
        keys = np.concatenate([events.keys[self._begun], events.keys[self._ended]])
        ticks = np.concatenate([starts[self._begun], ends[self._ended]])
        self._order = by_key_and_start(keys, ticks)
        keys, ticks = keys[self._order], ticks[self._order]
        is_other_key = np.empty(len(keys), np.bool_)
        is_other_key[:1] = True
        np.not_equal(keys[1:], keys[:-1], out=is_other_key[1:])
        is_boundary = is_other_key.copy()
        is_boundary[1:] |= ticks[1:] != ticks[:-1]
        firsts = np.flatnonzero(is_boundary)
        lasts, opens = firsts[:-1], firsts[1:]
        some = np.flatnonzero(~is_other_key[opens] & (ticks[opens] >= first))
        self._upto = opens[some] - 1
        """The last edge at the start of each snapshot."""
        key_firsts = np.flatnonzero(is_other_key)
        self._base = key_firsts[(np.cumsum(is_other_key) - 1)[self._upto]]
        """The first edge of its key."""
        self.keys: IntArray = keys[self._upto]
        self.starts: IntArray = ticks[lasts[some]]
        self.ends: IntArray = ticks[opens[some]]

    @property
    def most(self) -> int:
        """The greatest number of values in a sum."""
        return max(1, len(self._order))

    def keep(self, places: IntArray) -> None:
        """Keep some of the snapshots."""
        self._upto, self._base = self._upto[places], self._base[places]
        self.keys, self.starts, self.ends = self.keys[places], self.starts[places], self.ends[places]

    def running(self, values: Array) -> Array:
        """Return for each snapshot the sum of its events' values, of type and shape as these."""
        signed = np.concatenate([values[self._begun], np.negative(values[self._ended])])[self._order]
        totals = np.zeros((len(signed) + 1, *signed.shape[1:]), signed.dtype)
        np.cumsum(signed, axis=0, dtype=signed.dtype, out=totals[1:])
        sums: Array = totals[self._upto + 1] - totals[self._base]
        return sums

    def running_odd(self, values: FloatArray) -> FloatArray:
        """Return the sums of values that are infinite, NaN or zero: these cannot be subtracted, but counted."""
        is_nan = np.isnan(values)
        above = self.running((is_nan | (values == np.inf)).astype(np.int64)) > 0
        below = self.running((is_nan | (values == -np.inf)).astype(np.int64)) > 0
        return np.where(above & below, np.nan, np.where(above, np.inf, np.where(below, -np.inf, 0.0)))

    def running_part(self, values: Values) -> Values:
        """Return for each snapshot the merged values of a part that can be subtracted."""
        if isinstance(values, Sums):
            grid = values.on_grid(self.most)
            return grid.each(lambda array, is_lane: self.running(array) if is_lane else self.running_odd(array))
        assert isinstance(values, np.ndarray), "collected values cannot be subtracted"
        return self.running(values)


def snapshots_of(events: Partials, first: int, last: int) -> Partials:
    """Return the snapshots with an event that end at a watermark or later, and before a later one.

    Args:
        events: As for `Edges`.
        first: A watermark.
        last: A later one.

    Returns:
        The snapshots as stretches with their merged partial states, by key and in their order.
    """
    edges = Edges(events, first, last)
    rows = edges.running(events.rows.astype(np.int64))
    places = np.flatnonzero(rows)
    edges.keep(places)
    parts = {part: edges.running_part(values) for part, values in events.parts.items()}
    return Partials(edges.starts, edges.keys, rows[places], parts, edges.ends)
