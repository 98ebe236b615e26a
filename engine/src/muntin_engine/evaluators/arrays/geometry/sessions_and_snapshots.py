"""Windows that follow from stretches between ticks: sessions are fused, snapshots are running sums from edge to edge.

Source of snapshots: B. Chandramouli et al., Trill: A High-Performance Incremental Query Processor for Diverse
Analytics, PVLDB 8 (2014), section 4.2: aggregates of snapshots by start edges and end edges.
"""

from __future__ import annotations

import numpy as np

from muntin import EARLIEST
from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretches.coding import LARGEST_CODE, by_key_and_start, expanded
from muntin_engine.evaluators.arrays.stretches.row_values import Shares
from muntin_engine.evaluators.arrays.stretches.stretch_table import Groups, StretchTable, ends_before


def sessions_of(stretches: StretchTable) -> Groups:
    """Group stretches of a key that overlap or touch, in the order of keys and then of starts.

    This is where a session is joined with its neighbours.

    Cost: a sort by key and start, a running maximum, and a few passes.
    """
    order = by_key_and_start(stretches.keys, stretches.low)
    keys = stretches.keys[order]
    starts = stretches.low[order]
    ends = stretches.high[order]
    is_other_key = _are_first(keys)

    # For each stretch the latest end of its key so far. Often ends are in the order of starts, as of points: then the
    # latest end is that of the stretch itself.
    latest_ends = ends
    are_in_order = (is_other_key[1:] | (ends[1:] >= ends[:-1])).all()
    if not are_in_order:
        latest_ends = _running_maximum(ends, groups=np.cumsum(is_other_key) - 1)

    # A session begins with a key, and where a stretch starts after all earlier ones of its key have ended.
    is_first = is_other_key
    is_first[1:] |= starts[1:] > latest_ends[:-1]
    firsts = np.flatnonzero(is_first)
    stops = np.append(firsts[1:], len(order))[: len(firsts)]  # without stretches there is no session, and no stop
    lasts = stops - 1
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(is_first) - 1
    return Groups(codes, keys[firsts], starts[firsts], latest_ends[lasts])


def _are_first(keys: IntArray) -> BoolArray:
    """Return for each of sorted keys whether it differs from the one before it."""
    are_first = np.empty(len(keys), np.bool_)
    are_first[:1] = True
    np.not_equal(keys[1:], keys[:-1], out=are_first[1:])
    return are_first


def _running_maximum(values: IntArray, groups: IntArray) -> IntArray:
    """Return for each value the largest value of its group from the first one up to it.

    Args:
        values: The values, group by group.
        groups: The group of each, numbered from 0 and ascending.
    """
    if not len(values):
        return values
    # One running maximum over all groups is enough if each group is shifted above the one before.
    least = int(values.min())
    span = int(values.max()) - least + 1
    if span * (int(groups[-1]) + 1) < LARGEST_CODE:
        shift = groups * span  # values of a later group are larger than all of an earlier one
        maxima: IntArray = np.maximum.accumulate(values - least + shift) - shift + least
        return maxima

    # Where the shifted values would not fit into 64 bits, their ranks do.
    distinct, ranks = np.unique(values, return_inverse=True)
    shift = groups * len(distinct)
    return distinct[np.maximum.accumulate(ranks + shift) - shift]


class Edges:
    """The starts and ends of events before a watermark, by key and in their order, and the snapshots between them.

    Edges of a key at one tick are one boundary. Totals run over all keys; for each key, the total before its first edge
    is subtracted again, which is exact of integers that wrap around, and of floats on a grid.

    Cost: a sort of the edges, and for each number of a partial state a few passes over them.

    Attributes:
        most_values: The greatest number of values in a sum.
        keys: The key of each snapshot.
        starts: The start of each snapshot.
        ends: The end of each snapshot.
    """

    def __init__(self, events: StretchTable, previous_watermark: int, watermark: int) -> None:
        """Find the snapshots that end at the previous watermark or later, and before the present one.

        Args:
            events: The events that do not end before the previous watermark. An event that began before it was cut by
                `cut_starts`: it begins with the first open snapshot of its key.
            previous_watermark: The watermark before the micro-batch.
            watermark: The watermark after it, which is later.
        """
        # Each event has an edge at its start, and one at its end if it has ended: first all starts, then all ends.
        self._begun = np.flatnonzero(ends_before(events.low, watermark))
        self._ended = np.flatnonzero(ends_before(events.high, watermark))
        keys = np.concatenate([events.keys[self._begun], events.keys[self._ended]])
        ticks = np.concatenate([events.low[self._begun], events.high[self._ended]])
        self._order = by_key_and_start(keys, ticks)
        self.most_values = max(1, len(keys))  # the most values that `sums` adds up: its totals run over all edges
        keys = keys[self._order]
        ticks = ticks[self._order]

        # Edges of a key at one tick are one boundary. Between two neighbouring boundaries of a key lies a snapshot.
        is_other_key = _are_first(keys)
        is_boundary = is_other_key.copy()
        is_boundary[1:] |= ticks[1:] != ticks[:-1]
        boundaries = np.flatnonzero(is_boundary)
        starts = boundaries[:-1]
        ends = boundaries[1:]
        is_of_one_key = ~is_other_key[ends]
        snapshots = np.flatnonzero(is_of_one_key & (ticks[ends] >= previous_watermark))

        self._last_start_edges = ends[snapshots] - 1
        """For each snapshot the place of the last edge at its start."""
        self._key_firsts = np.flatnonzero(is_other_key)
        """For each key the place of its first edge."""
        key_of_edge = np.cumsum(is_other_key) - 1
        self._first_key_edges = self._key_firsts[key_of_edge[self._last_start_edges]]
        """For each snapshot the place of the first edge of its key."""
        self.keys: IntArray = keys[self._last_start_edges]
        self.starts: IntArray = ticks[starts[snapshots]]
        self.ends: IntArray = ticks[ends[snapshots]]

    def keep(self, places: IntArray) -> None:
        """Drop all snapshots except those at the places given."""
        self._last_start_edges = self._last_start_edges[places]
        self._first_key_edges = self._first_key_edges[places]
        self.keys = self.keys[places]
        self.starts = self.starts[places]
        self.ends = self.ends[places]

    def sums(self, values: Array) -> Array:
        """Return for each snapshot the sum of its events' values.

        Args:
            values: The value of each event, a number or an array of them.
        """
        # An event is added at its start edge and subtracted at its end edge. Totals run over the edges of all keys. So
        # a snapshot has the total up to the last edge at its start, less the total before the first edge of its key.
        signed = np.concatenate([values[self._begun], np.negative(values[self._ended])])[self._order]
        totals = np.zeros((len(signed) + 1, *signed.shape[1:]), signed.dtype)
        np.cumsum(signed, axis=0, dtype=signed.dtype, out=totals[1:])
        sums: Array = totals[self._last_start_edges + 1] - totals[self._first_key_edges]
        return sums

    def shares(self) -> Shares:
        """Pair each event with the snapshots that it covers, event by event.

        Cost: linear in the pairs.
        """
        # The place of each edge among the sorted ones: first of all start edges, then of all end edges.
        edge_count = len(self._order)
        edge_places = np.empty(edge_count, np.int64)
        edge_places[self._order] = np.arange(edge_count)
        start_edges = edge_places[: len(self._begun)]

        # An event without an end edge covers all snapshots up to the last edge of its key.
        key_ends = np.append(self._key_firsts[1:], edge_count)
        key_places = np.searchsorted(self._key_firsts, start_edges, "right") - 1
        end_edges = key_ends[key_places]
        # Events that have ended have begun, too: each is found by its place among those that have begun.
        ended_places = np.searchsorted(self._begun, self._ended)
        end_edges[ended_places] = edge_places[len(self._begun) :]

        # An event covers the snapshots that start from its start edge up to its end edge.
        first_snapshots = np.searchsorted(self._last_start_edges, start_edges)
        snapshot_stops = np.searchsorted(self._last_start_edges, end_edges)
        owners, within = expanded(snapshot_stops - first_snapshots)
        return Shares(
            stretches=self._begun[owners],
            places=first_snapshots[owners] + within,
            place_count=len(self._last_start_edges),
        )


def snapshots_of(events: StretchTable, previous_watermark: int, watermark: int) -> StretchTable:
    """Return the snapshots that end at the previous watermark or later, and before the present one.

    Snapshots without an event, between two events of a key, are left out.

    Args:
        events: The events that do not end before the previous watermark, cut there by `cut_starts`.
        previous_watermark: The watermark before the micro-batch.
        watermark: The watermark after it.

    Returns:
        The snapshots as stretches with their merged partial states, by key and in their order.
    """
    edges = Edges(events, previous_watermark, watermark)
    event_counts = edges.sums(events.weight.astype(np.int64))
    places = np.flatnonzero(event_counts)
    edges.keep(places)  # from here on, `edges` has the snapshots with an event alone
    parts = {part: values.running(edges) for part, values in events.parts.items()}
    return StretchTable(edges.keys, edges.starts, edges.ends, event_counts[places], parts)


def are_past(events: StretchTable, live: StretchTable, watermark: int) -> BoolArray:
    """Return for each event whether it has ended, and no open snapshot starts where it ended.

    An event at whose end an open snapshot starts is still needed: when a log is read, events are cut anew, and the cut
    is found by that end.

    Args:
        events: The events.
        live: The live events, cut at the watermark.
        watermark: The watermark.
    """
    # Live events that began before the watermark are cut at the start of the first open snapshot of their key: so one
    # of them tells where it starts.
    largest_key = int(max(events.keys.max(initial=-1), live.keys.max(initial=-1)))
    snapshot_starts = np.full(largest_key + 1, EARLIEST)
    is_begun = ends_before(live.low, watermark)
    snapshot_starts[live.keys[is_begun]] = live.low[is_begun]
    are_past: BoolArray = ends_before(events.high, watermark) & (events.high != snapshot_starts[events.keys])
    return are_past


def cut_starts(events: StretchTable, watermark: int) -> IntArray:
    """Return where events start once they are cut at a watermark.

    An event that begins before the watermark is cut at the last edge of its key before the watermark: there the first
    open snapshot of the key starts. Other events stay as they are.

    Args:
        events: All events that begin or end at such an edge.
        watermark: The watermark.
    """
    starts = events.low
    ends = events.high
    is_begun = ends_before(starts, watermark)
    is_over = ends_before(ends, watermark)
    if not is_begun.any():
        return starts
    last_edges = np.full(int(events.keys.max()) + 1, EARLIEST)
    np.maximum.at(last_edges, events.keys[is_begun], starts[is_begun])
    np.maximum.at(last_edges, events.keys[is_over], ends[is_over])
    cut: IntArray = np.where(is_begun, last_edges[events.keys], starts)
    return cut
