"""Events with ids: those that are live in a bucket, found by their identities, and their records in the log.

Events are stretches from start to end: an event that was deleted ends at its start, and one that a filter leaves out
has the weight 0, because it is kept for its revisions alone. Beside the columns of its row it has the start that it was
inserted with, since a stretch may be cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretch_table import EMPTY, ROWS, Part, StretchTable, concat
from muntin_engine.evaluators.arrays.values import COUNTED, Dense
from muntin_engine.wire.event_ids import stand_ins

HashArray = npt.NDArray[np.uint64]

_ROUNDS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""The rounds of SplitMix64, which mix the bits of a number.

Source: G. Steele et al., Fast Splittable Pseudorandom Number Generators, OOPSLA (2014), section 3.
"""

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def ids_of(column: pa.ChunkedArray) -> Array:
    """Return ids as an array whose values are compared as Python compares them: whole numbers, or their stand-ins.

    Cost: of ids that are no whole numbers, a Python object each.
    """
    if pa.types.is_signed_integer(column.type):
        whole: IntArray = column.to_numpy().astype(np.int64)
        return whole
    return np.fromiter(stand_ins(column), np.object_, len(column))


def hashes_of(codes: IntArray, ids: Array, starts: IntArray) -> HashArray:
    """Return the numbers of identities.

    Args:
        codes: The code of each key.
        ids: As `ids_of` returns them.
        starts: The starts that the events were inserted with.
    """
    whole = ids if ids.dtype != np.object_ else np.fromiter(map(hash, ids), np.int64, len(ids))
    return _mixed(whole.view(np.uint64) + _mixed(starts.view(np.uint64) + _mixed(codes.view(np.uint64))))


def are_same(some: tuple[IntArray, Array, IntArray], others: tuple[IntArray, Array, IntArray]) -> BoolArray:
    """Return for each pair of identities (codes, ids and starts) whether they are the same."""
    (codes, ids, starts), (other_codes, other_ids, other_starts) = some, others
    found: BoolArray = (starts == other_starts) & (codes == other_codes) & (ids == other_ids).astype(np.bool_)
    return found


def _mixed(numbers: HashArray) -> HashArray:
    mixed = numbers + _STEP
    for bits, factor in _ROUNDS:
        mixed ^= mixed >> np.uint64(bits)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


START: Final = Part(-1, "start")
"""The part that is the starts of events, from which their ids are numbered."""

SERIAL: Final = Part(-1, "serial")
"""The part of records that is the number of the batch that wrote each."""

EVENT: Final = (START, ROWS)
"""The parts of an event that is not lifted."""


class LiveEvents:
    """The events of a bucket that a legal change may still be about, as partial states with the columns of their rows.

    They are found by the numbers of their identities, which are sorted.

    Cost: adding events merges their numbers with the others, and a search is logarithmic. Each batch makes a few passes
    over all live events.

    Attributes:
        held: The events.
    """

    def __init__(self) -> None:
        empty = np.empty(0, np.int64)
        self.held = EMPTY
        self._ids: Array = empty
        self._hashes: HashArray = np.empty(0, np.uint64)
        self._order = empty

    def __len__(self) -> int:
        return len(self.held)

    @property
    def has_whole_ids(self) -> bool:
        """True if ids are whole numbers."""
        return self._ids.dtype != np.object_

    def members(self, are_wanted: BoolArray | None = None) -> StretchTable:
        """Return the partial states of those that are members of windows; if wanted, of some of them."""
        is_member = self.held.weight > 0
        states = {part: values for part, values in self.held.parts.items() if part not in EVENT}
        return replace(self.held, parts=states).where(is_member if are_wanted is None else is_member & are_wanted)

    def add(self, events: StretchTable) -> None:
        """Add lifted events, of which none is here."""
        if not len(events):
            return
        before, ids, starts = len(self), ids_of(events.parts[ROWS].table.column("id")), events.parts[START].array
        self.held = concat([self.held, events])
        self._ids = np.concatenate([self._ids, ids]) if before else ids
        fresh = hashes_of(events.keys, ids, starts)
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

    def bare(self, places: IntArray) -> StretchTable:
        """Return some events without their partial states."""
        parts = {part: values for part, values in self.held.parts.items() if part in EVENT}
        return replace(self.held, parts=parts).take(places)

    def end_at(self, places: IntArray, ends: IntArray) -> None:
        """Give some events other ends."""
        high = self.held.high.copy()
        high[places] = ends
        self.held = replace(self.held, high=high)

    def keep(self, is_kept: BoolArray) -> None:
        """Drop all events but some."""
        if is_kept.all():
            return
        remaining, places, is_found = np.flatnonzero(is_kept), np.cumsum(is_kept) - 1, is_kept[self._order]
        self.held, self._ids = self.held.take(remaining), self._ids[remaining]
        self._hashes, self._order = self._hashes[is_found], places[self._order[is_found]]

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self.held = self.held.with_keys(places[self.held.keys])
        if len(self):
            hashes = hashes_of(self.held.keys, self._ids, self.held.parts[START].array)
            self._order = np.argsort(hashes)
            self._hashes = hashes[self._order]

    def _names(self, places: IntArray) -> tuple[IntArray, Array, IntArray]:
        return self.held.keys[places], self._ids[places], self.held.parts[START].array[places]


def recorded(records: StretchTable, serial: int) -> StretchTable:
    """Return records of a batch with its number."""
    return replace(records, parts={**records.parts, SERIAL: Dense(COUNTED, np.full(len(records), serial))})


def latest_events(records: StretchTable) -> StretchTable:
    """Return the last record of each event."""
    return latest(records, ids_of(records.parts[ROWS].table.column("id")), records.parts[START].array)


def latest(records: StretchTable, ids: Array, starts: IntArray) -> StretchTable:
    """Return the last record of each identity.

    Cost: a sort; where different identities have one number, a look at each of their records.
    """
    hashes = hashes_of(records.keys, ids, starts)
    order = np.lexsort((records.parts[SERIAL].array, hashes))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = hashes[order][1:] != hashes[order][:-1]
    kept = order[is_last]
    same: IntArray = np.cumsum(is_last) - is_last
    alike = kept[same]
    is_other = ~are_same(*((records.keys[at], ids[at], starts[at]) for at in (order, alike)))
    if is_other.any():
        clashing = np.isin(same, same[is_other])
        last = {(records.keys[at], ids[at], starts[at]): at for at in order[clashing].tolist()}
        kept = np.concatenate([order[is_last & ~clashing], np.array([*last.values()], np.int64)])
    return records.take(kept)
