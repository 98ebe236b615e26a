"""Events with ids: those that are live in a bucket, found by their identities, and their records in the log.

Events are stretches from start to end: an event that was deleted ends at its start, and one that a filter leaves out
has the weight 0, because it is kept for its revisions alone. Beside the columns of its row it has the start that it was
inserted with, since a stretch may be cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, Part, StretchTable, concat
from muntin_engine.wire.arrow_arrays import numpy_array
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
        whole: IntArray = numpy_array(column).astype(np.int64)
        return whole
    return np.fromiter(stand_ins(column), np.object_, len(column))


class Identities(NamedTuple):
    """What tells n events apart.

    Attributes:
        codes: The codes of their keys.
        ids: Their ids, as `ids_of` returns them.
        starts: The starts that they were inserted with.
    """

    codes: IntArray
    ids: Array
    starts: IntArray

    def take(self, places: IntArray) -> Identities:
        """Select identities by their places."""
        return Identities(self.codes[places], self.ids[places], self.starts[places])

    def hashes(self) -> HashArray:
        """Hash each of them to 64 bits."""
        whole = self.ids
        if whole.dtype == np.object_:
            whole = np.fromiter(map(hash, self.ids), np.int64, len(self.ids))
        codes = _mixed(self.codes.view(np.uint64))
        starts = _mixed(self.starts.view(np.uint64) + codes)
        return _mixed(whole.view(np.uint64) + starts)

    def are_same(self, others: Identities) -> BoolArray:
        """Return for each pair of identities whether they are the same."""
        have_same_id = (self.ids == others.ids).astype(np.bool_)
        are_same: BoolArray = (self.starts == others.starts) & (self.codes == others.codes) & have_same_id
        return are_same


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

    They are found by the hashes of their identities, which are sorted.

    Cost: adding events merges their hashes with the others, and a search is logarithmic. Each batch makes a few passes
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
        """Return the partial states of members of windows, without the columns of rows.

        Args:
            are_wanted: For each event whether it is wanted; None if all are.
        """
        is_member = self.held.weight > 0
        if are_wanted is not None:
            is_member &= are_wanted
        states = {part: values for part, values in self.held.parts.items() if part not in EVENT}
        return replace(self.held, parts=states).where(is_member)

    def add(self, events: StretchTable) -> None:
        """Add lifted events, of which none is here."""
        if not len(events):
            return
        known = len(self)
        ids = ids_of(events.parts[ROWS].table.column("id"))
        hashes = Identities(events.keys, ids, events.parts[START].array).hashes()
        self.held = concat([self.held, events])
        self._ids = np.concatenate([self._ids, ids]) if known else ids
        order = np.argsort(hashes)
        positions = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, positions, hashes[order])
        self._order = np.insert(self._order, positions, known + order)

    def find(self, identities: Identities, hashes: HashArray) -> IntArray:
        """Find the event of each identity: return its place, or -1 where there is none.

        This is where a revision finds the event that it revises.

        Args:
            identities: The identities.
            hashes: The hash of each.
        """
        if not len(self):
            return np.full(len(hashes), -1)
        low = np.searchsorted(self._hashes, hashes)
        nearest = np.minimum(low, len(self) - 1)
        candidates = self._order[nearest]
        has_hash = (low < len(self)) & (self._hashes[nearest] == hashes)
        is_event = has_hash & self._identities(candidates).are_same(identities)
        places: IntArray = np.where(is_event, candidates, -1)
        for row in np.flatnonzero(has_hash & ~is_event):  # another identity with the same hash
            high = np.searchsorted(self._hashes, hashes[row], "right")
            same_hash = self._order[low[row] : high]
            wanted = identities.take(np.full(len(same_hash), row))
            is_event = self._identities(same_hash).are_same(wanted)
            places[row] = max(same_hash[is_event], default=-1)
        return places

    def bare(self, places: IntArray) -> StretchTable:
        """Select events by their places, without their partial states."""
        parts = {part: values for part, values in self.held.parts.items() if part in EVENT}
        return replace(self.held, parts=parts).take(places)

    def end_at(self, places: IntArray, ends: IntArray) -> None:
        """Move the ends of events."""
        high = self.held.high.copy()
        high[places] = ends
        self.held = replace(self.held, high=high)

    def keep(self, are_wanted: BoolArray) -> None:
        """Drop all events but the wanted ones."""
        if are_wanted.all():
            return
        remaining = np.flatnonzero(are_wanted)
        new_places = np.cumsum(are_wanted) - 1
        is_indexed = are_wanted[self._order]
        self.held = self.held.take(remaining)
        self._ids = self._ids[remaining]
        self._hashes = self._hashes[is_indexed]
        self._order = new_places[self._order[is_indexed]]

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.held = self.held.with_keys(codes[self.held.keys])
        if len(self):
            hashes = self._identities(np.arange(len(self))).hashes()
            self._order = np.argsort(hashes)
            self._hashes = hashes[self._order]

    def _identities(self, places: IntArray) -> Identities:
        return Identities(self.held.keys[places], self._ids[places], self.held.parts[START].array[places])


def with_relative_starts(records: StretchTable) -> StretchTable:
    """Count the starts of events back from where their stretches begin, as they lie in the log, or undo that."""
    starts = Dense(COUNTED, records.low - records.parts[START].array)
    return replace(records, parts={**records.parts, START: starts})


def recorded(records: StretchTable, serial: int) -> StretchTable:
    """Number the records of a batch by the batch."""
    return replace(records, parts={**records.parts, SERIAL: Dense(COUNTED, np.full(len(records), serial))})


def latest_events(records: StretchTable) -> StretchTable:
    """Return the last record of each event."""
    return latest(records, ids_of(records.parts[ROWS].table.column("id")), records.parts[START].array)


def latest(records: StretchTable, ids: Array, starts: IntArray) -> StretchTable:
    """Return the last record of each identity.

    Cost: a sort; where different identities have one number, a look at each of their records.
    """
    identities = Identities(records.keys, ids, starts)
    hashes = identities.hashes()
    order = np.lexsort((records.parts[SERIAL].array, hashes))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = hashes[order][1:] != hashes[order][:-1]
    last_places = order[is_last]
    groups: IntArray = np.cumsum(is_last) - is_last
    is_clash = ~identities.take(order).are_same(identities.take(last_places[groups]))
    if is_clash.any():
        has_clash = np.isin(groups, groups[is_clash])
        last_of_identity = {}
        for place in order[has_clash].tolist():
            last_of_identity[records.keys[place], ids[place], starts[place]] = place
        clashing_places = np.array([*last_of_identity.values()], np.int64)
        last_places = np.concatenate([order[is_last & ~has_clash], clashing_places])
    return records.take(last_places)
