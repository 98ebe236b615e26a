"""Events with ids as columns: those that are live in a bucket, found by their identities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat
from muntin_engine.evaluators.revised.identities import HashArray, are_same, hashes_of, ids_of


@dataclass(frozen=True, slots=True)
class Events:
    """n events.

    Attributes:
        codes: The codes of their keys.
        starts: Their starts.
        since: For each the start of the first snapshot that it may still be a member of.
        ends: Their ends; an event that was deleted ends at its start.
        rows: The columns `id` and `i0`, `i1` and so on.
    """

    codes: IntArray
    starts: IntArray
    since: IntArray
    ends: IntArray
    rows: pa.Table

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, places: IntArray) -> Events:
        """Return some of them."""
        codes, starts, since, ends = (some[places] for some in (self.codes, self.starts, self.since, self.ends))
        return Events(codes, starts, since, ends, self.rows.take(pa.array(places)))


def joined(parts: Sequence[Events]) -> Events:
    """Return events of several parts as one."""
    if len(parts) == 1:
        return parts[0]
    return Events(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.since for part in parts]),
        np.concatenate([part.ends for part in parts]),
        pa.concat_tables([part.rows for part in parts]),
    )


class LiveEvents:
    """The events of a bucket that a legal change may still be about, as partial states from start to end.

    An event that a filter leaves out is kept for its revisions, as a partial state of no row.

    They are found by the numbers of their identities, which are sorted.

    Cost: adding events merges their numbers with the others, and a search is logarithmic. Each batch makes a few passes
    over all live events.
    """

    def __init__(self) -> None:
        self._partials: StretchTable | None = None
        self._starts = self._places = self._order = np.empty(0, np.int64)
        self._ids: Array = self._starts
        self._hashes: HashArray = np.empty(0, np.uint64)
        self._rows: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def members(self) -> StretchTable | None:
        """The partial states of those that are members of windows; None if there are none."""
        if self._partials is None or self._partials.weight.all():
            return self._partials
        places = np.flatnonzero(self._partials.weight)
        return self._partials.take(places) if len(places) else None

    @property
    def codes(self) -> IntArray:
        """The codes of their keys."""
        return np.empty(0, np.int64) if self._partials is None else self._partials.keys

    @property
    def are_members(self) -> BoolArray:
        """For each whether it is a member of windows."""
        return np.zeros(0, np.bool_) if self._partials is None else self._partials.weight > 0

    @property
    def since(self) -> IntArray:
        """The starts of their partial states."""
        return np.empty(0, np.int64) if self._partials is None else self._partials.low

    @property
    def ends(self) -> IntArray:
        """Their ends."""
        return np.empty(0, np.int64) if self._partials is None else self._partials.high

    @property
    def id_type(self) -> np.dtype[Any]:
        """The type of ids in arrays."""
        return self._ids.dtype

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        rows: int = sum(table.nbytes for table in self._rows)
        return rows + (0 if self._partials is None else self._partials.nbytes + 32 * len(self))

    def add(self, events: Events, partials: StretchTable) -> None:
        """Add events, of which none is here, with their partial states."""
        before, ids = len(self), ids_of(events.rows.column("id"))
        rows = sum(map(len, self._rows))
        self._partials = partials if self._partials is None else concat([self._partials, partials])
        self._starts = np.concatenate([self._starts, events.starts])
        self._ids = np.concatenate([self._ids, ids]) if before else ids
        self._places = np.concatenate([self._places, rows + np.arange(len(events))])
        self._rows.append(events.rows)
        fresh = hashes_of(events.codes, ids, events.starts)
        order = np.argsort(fresh)
        at = np.searchsorted(self._hashes, fresh[order])
        self._hashes = np.insert(self._hashes, at, fresh[order])
        self._order = np.insert(self._order, at, before + order)

    def find(self, codes: IntArray, ids: Array, starts: IntArray, hashes: HashArray) -> IntArray:
        """Return the place of each identity's event; -1 where there is none."""
        if not len(self):
            return np.full(len(codes), -1)
        low = np.searchsorted(self._hashes, hashes)
        at = np.minimum(low, len(self) - 1)
        places, is_known = self._order[at], (low < len(self)) & (self._hashes[at] == hashes)
        is_it = is_known & are_same(self._names(places), (codes, ids, starts))
        found: IntArray = np.where(is_it, places, -1)
        for row in np.flatnonzero(is_known & ~is_it):  # another identity with the same number
            high = np.searchsorted(self._hashes, hashes[row], "right")
            some, wanted = self._order[low[row] : high], np.full(high - low[row], row)
            is_it = are_same(self._names(some), (codes[wanted], ids[wanted], starts[wanted]))
            found[row] = max(some[is_it], default=-1)
        return found

    def take(self, places: IntArray) -> Events:
        """Return some events."""
        rows = self._table().take(pa.array(self._places[places]))
        return Events(self.codes[places], self._starts[places], self.since[places], self.ends[places], rows)

    def end_at(self, places: IntArray, ends: IntArray) -> None:
        """Give some events other ends."""
        assert self._partials is not None, "there are events"
        changed = self.ends.copy()
        changed[places] = ends
        self._partials = replace(self._partials, high=changed)

    def partials(self, places: IntArray) -> StretchTable:
        """Return the partial states of some events; there are events."""
        assert self._partials is not None, "there are events"
        return self._partials.take(places)

    def begin_at(self, since: IntArray) -> None:
        """Let their partial states start elsewhere; there are events."""
        assert self._partials is not None, "there are events"
        self._partials = replace(self._partials, low=since)

    def keep(self, is_kept: BoolArray) -> None:
        """Drop all events but some."""
        if self._partials is None or is_kept.all():
            return
        remaining, places = np.flatnonzero(is_kept), np.cumsum(is_kept) - 1
        self._partials = self._partials.take(remaining) if len(remaining) else None
        self._starts, self._ids, self._places = (some[remaining] for some in (self._starts, self._ids, self._places))
        is_found = is_kept[self._order]
        self._hashes, self._order = self._hashes[is_found], places[self._order[is_found]]
        if 2 * len(self) < sum(map(len, self._rows)):
            self._rows = [self._table().take(pa.array(self._places)).combine_chunks()] if len(self) else []
            self._places = np.arange(len(self))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        if self._partials is not None:
            self._partials = self._partials.with_keys(places[self._partials.keys])
            hashes = hashes_of(self._partials.keys, self._ids, self._starts)
            self._order = np.argsort(hashes)
            self._hashes = hashes[self._order]

    def _names(self, places: IntArray) -> tuple[IntArray, Array, IntArray]:
        return self.codes[places], self._ids[places], self._starts[places]

    def _table(self) -> pa.Table:
        if len(self._rows) > 1:
            self._rows = [pa.concat_tables(self._rows).combine_chunks()]
        return self._rows[0]
