"""The kept events of both sides of a join in one bucket, as arrays, and as entries of its log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.pairing.kept_rows import KeptRows
from muntin_engine.evaluators.pairing.row_blobs import SideRows, from_blob, joined_rows, to_blob
from muntin_engine.exchange.intake import tuples_of
from muntin_engine.plan.join_plan import Condition
from muntin_engine.state.log import Entry, StoredEntry


class Joined(NamedTuple):
    """Pairs that a batch brought.

    Attributes:
        keys: The key of each pair.
        starts: Where each starts.
        ends: Where each ends.
        sides: The columns of the left events, and of the right ones.
    """

    keys: pa.Table
    starts: IntArray
    ends: IntArray
    sides: tuple[pa.Table, pa.Table]

    def where(self, meet: Condition) -> Joined:
        """Return the pairs whose payloads meet a condition."""
        left, right = (tuples_of(side, side.column_names) for side in self.sides)
        is_met = np.fromiter(map(meet, left, right), np.bool_, len(left))
        sides = (self.sides[0].filter(pa.array(is_met)), self.sides[1].filter(pa.array(is_met)))
        return Joined(self.keys.filter(pa.array(is_met)), self.starts[is_met], self.ends[is_met], sides)


class Met(NamedTuple):
    """The outcome of a batch.

    Attributes:
        pairs: The pairs that have an event of it.
        entries: Its events, for the log.
        accepted: The number of its events.
        late: The number of late rows.
        keys: The number of its keys.
    """

    pairs: Sequence[Joined]
    entries: Sequence[Entry]
    accepted: int
    late: int
    keys: int


class PairStore:
    """The events of one bucket."""

    def __init__(self) -> None:
        self._keys = KeyTable()
        self._sides = (KeptRows(), KeptRows())
        self._written = self._rows = 0

    def __len__(self) -> int:
        return sum(map(len, self._sides))

    @property
    def size(self) -> int:
        """The bytes of all kept events in the log, roughly."""
        return len(self) * self._written // max(self._rows, 1)

    @classmethod
    def of(cls, entries: Iterable[StoredEntry], watermarks: Sequence[int]) -> PairStore:
        """Return the store that wrote some entries, without what the watermarks of the two sides have passed."""
        store = cls()
        for entry in entries:
            for side, rows in store._decoded([entry.data]):
                store._sides[side].add(rows)
                store._rows += len(rows)
            store._written += len(entry.data)
        store.forget(watermarks)
        return store

    def take(self, blobs: Sequence[bytes], before: Sequence[int], now: Sequence[int]) -> Met:
        """Take the rows of a batch in, and return the pairs that they make.

        Args:
            blobs: The rows.
            before: The watermark of each side before the batch, by which they are late.
            now: The watermarks after it: what they have passed is not written.
        """
        self._keys.forget_others(self)
        brought: list[list[SideRows]] = [[], []]
        accepted = late = 0
        codes: list[IntArray] = []
        for side, rows in self._decoded(blobs):
            legal = rows.where(rows.starts >= before[side])
            codes.append(np.unique(rows.codes))
            accepted, late = accepted + len(legal), late + len(rows) - len(legal)
            if len(legal):
                brought[side].append(legal)
        left, right = (joined_rows(some) if some else None for some in brought)
        pairs: list[Joined] = []
        if right is not None:
            pairs += self._met(1, right)
            self._sides[1].add(right)
        if left is not None:
            pairs += self._met(0, left)
            self._sides[0].add(left)
        news = [(side, rows) for side, rows in ((0, left), (1, right)) if rows is not None]
        return Met(pairs, self._entries(news, now), accepted, late, self._keys.count(codes))

    def forget(self, watermarks: Sequence[int]) -> None:
        """Drop the events of each side that end where the watermark of the other one is, or before."""
        for side, kept in enumerate(self._sides):
            kept.forget(watermarks[1 - side])

    def whole(self, watermarks: Sequence[int]) -> list[Entry]:
        """Return all events as entries."""
        return self._entries([(side, kept.rows()) for side, kept in enumerate(self._sides) if len(kept)], watermarks)

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say as one, without events that end before a tick."""
        brought: list[list[SideRows]] = [[], []]
        for side, rows in self._decoded([entry.data for entry in entries]):
            brought[side].append(rows)
        found = [(side, joined_rows(some)) for side, some in enumerate(brought) if some]
        return self._entries(found, (first_live - 1, first_live - 1))

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return np.union1d(*(kept.codes for kept in self._sides))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        for kept in self._sides:
            kept.renumber(places)

    def _decoded(self, blobs: Iterable[bytes]) -> Iterable[tuple[int, SideRows]]:
        for blob in blobs:
            for side, keys, rows in from_blob(blob):
                yield side, replace(rows, codes=self._keys.codes(keys)[rows.codes])

    def _met(self, side: int, rows: SideRows) -> Iterable[Joined]:
        """Yield the pairs of new rows of a side with the kept events of the other one."""
        kept = self._sides[1 - side]
        for probes, found in kept.overlapping(rows):
            codes, starts, ends = kept.times(found)
            own, other = rows.payload.take(pa.array(probes)), kept.payload(found)
            starts, ends = np.maximum(starts, rows.starts[probes]), np.minimum(ends, rows.ends[probes])
            yield Joined(self._keys.take(codes), starts, ends, (other, own) if side else (own, other))

    def _entries(self, parts: Sequence[tuple[int, SideRows]], watermarks: Sequence[int]) -> list[Entry]:
        """Return events as an entry, without those that the watermark of the other side has passed."""
        packed, ends = [], []
        for side, rows in parts:
            alive = rows.where(rows.ends > watermarks[1 - side])
            if len(alive):
                codes, numbers = np.unique(alive.codes, return_inverse=True)
                packed.append((side, self._keys.take(codes), replace(alive, codes=numbers)))
                ends.append(alive.ends)
        if not packed:
            return []
        every = np.concatenate(ends)
        data = to_blob(packed)
        self._written, self._rows = self._written + len(data), self._rows + len(every)
        return [Entry(int(every.min()), min(int(every.max()), INFINITY - 1), data)]
