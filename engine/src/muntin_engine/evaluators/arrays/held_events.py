"""The events of a bucket that snapshots are made of, as partial states from their starts to their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.held_sessions import HeldSessions
from muntin_engine.evaluators.arrays.snapshots import snapshots_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat, ends_before


class HeldEvents(HeldSessions):
    """The events that do not end before the watermark; each is a partial state.

    Those that began before it are cut: they begin at the last edge of their key before the watermark, where its first
    open snapshot starts. So an event that ended there need not be held.

    Cost: a few passes over the live events for each batch, and a sort of the edges that the watermark passes.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        super().__init__(concat)
        self._cut_at: int | None = None

    def ended(self, first: int, last: int) -> StretchTable | None:
        """Return the snapshots that end at the watermark `first` or later, and before the watermark `last`."""
        whole = self.whole()
        return None if whole is None or first == last else snapshots_of(whole, first, last)

    def forget(self, first_live: int) -> None:
        """Drop the events that end before a watermark, and cut those that begin before it."""
        whole = self.whole()
        if whole is not None:
            alive = _cut(whole, first_live)
            self._pieces = [alive] if len(alive) else []
        self._cut_at = first_live

    def hold(self, piece: StretchTable) -> BoolArray:
        """Return for each event, as it came, whether it is held, or ended where an open snapshot starts."""
        whole, cut_at = self.whole(), self._cut_at
        assert cut_at is not None, "a store that is read forgets what has ended"
        if whole is None:
            return np.zeros(len(piece), np.bool_)
        opened = np.full(int(max(whole.keys.max(), piece.keys.max(initial=0))) + 1, INFINITY)
        is_begun = ends_before(whole.low, cut_at)
        opened[whole.keys[is_begun]] = whole.low[is_begun]
        ends = piece.high
        is_held: BoolArray = (ends >= cut_at) | (ends == opened[piece.keys])
        return is_held


def _cut(events: StretchTable, watermark: int) -> StretchTable:
    """Return the events that do not end before a watermark; those that begin before it do so at their key's last edge.

    It makes no difference whether they were cut before, at an earlier watermark or at the same one.
    """
    is_over = ends_before(events.high, watermark)
    cut = replace(events, low=opened_since(events, watermark))
    return cut.take(np.flatnonzero(~is_over)) if is_over.any() else cut


def opened_since(events: StretchTable, watermark: int) -> IntArray:
    """Return the starts of events; of those that begin before a watermark, the last edge of their key before it.

    Args:
        events: All events that begin or end at such an edge.
        watermark: The watermark.
    """
    starts, ends = events.low, events.high
    is_begun, is_over = ends_before(starts, watermark), ends_before(ends, watermark)
    if not is_begun.any():
        return starts
    last_edges = np.full(int(events.keys.max()) + 1, EARLIEST)
    np.maximum.at(last_edges, events.keys[is_begun], starts[is_begun])
    np.maximum.at(last_edges, events.keys[is_over], ends[is_over])
    since: IntArray = np.where(is_begun, last_edges[events.keys], starts)
    return since
