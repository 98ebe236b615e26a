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
"""The step of the generator: it keeps 0 from being mixed to 0."""


def ids_of(column: pa.ChunkedArray) -> Array:
    """Return ids as an array that NumPy can compare: two entries are equal if the ids are equal in Spark.

    Whole numbers stay as they are. Other ids are Python objects that stand for their values.
    """
    if pa.types.is_signed_integer(column.type):
        whole: IntArray = numpy_array(column).astype(np.int64)
        return whole
    return np.fromiter(stand_ins(column), np.object_, len(column))


class Identities(NamedTuple):
    """What tells n events apart.

    Attributes:
        codes: The codes of the events' keys.
        ids: The ids of the events, as `ids_of` returns them.
        starts: The starts that the events were inserted with.
    """

    codes: IntArray
    ids: Array
    starts: IntArray

    def take(self, places: IntArray) -> Identities:
        """Select identities by their places."""
        return Identities(self.codes[places], self.ids[places], self.starts[places])

    def hashes(self) -> HashArray:
        """Return a hash of 64 bits of each identity: its key, its start and its id are mixed in one after the other."""
        id_numbers = self.ids
        if id_numbers.dtype == np.object_:  # ids that are no whole numbers
            id_numbers = np.fromiter(map(hash, self.ids), np.int64, len(self.ids))
        codes = _mixed(self.codes.view(np.uint64))
        starts = _mixed(self.starts.view(np.uint64) + codes)
        return _mixed(id_numbers.view(np.uint64) + starts)

    def are_same(self, compared: Identities) -> BoolArray:
        """Compare two arrays of identities, place by place: return for each place whether the two are the same."""
        have_same_id = (self.ids == compared.ids).astype(np.bool_)
        are_same: BoolArray = (self.starts == compared.starts) & (self.codes == compared.codes) & have_same_id
        return are_same


def _mixed(numbers: HashArray) -> HashArray:
    """Return numbers with their bits mixed, as SplitMix64 does it: the hash of a number."""
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
"""The parts of an event before it is lifted: they describe the event, and are no partial states."""


class LiveEvents:
    """The events of a bucket that a legal change may still be about, as partial states with the columns of their rows.

    They are found by the hashes of their identities, which are sorted.

    Cost: adding events merges their hashes with the others, and a search is logarithmic. Each batch makes a few passes
    over all live events.

    Attributes:
        held: The events.
    """

    def __init__(self) -> None:
        """Hold no events."""
        empty = np.empty(0, np.int64)
        self.held = EMPTY
        self._ids: Array = empty
        """The id of each event, as `ids_of` returns it."""
        self._hashes: HashArray = np.empty(0, np.uint64)
        """The hashes of the identities of all events, ascending."""
        self._order = empty
        """The place of the event of each hash, in the order of the hashes."""

    def __len__(self) -> int:
        return len(self.held)

    @property
    def has_whole_ids(self) -> bool:
        """True if ids are whole numbers."""
        return self._ids.dtype != np.object_

    def members(self, mask: BoolArray | None = None) -> StretchTable:
        """Return the partial states of the events that count in windows, without the columns of their rows.

        An event that the filter of the query leaves out has the weight 0, and does not count.

        Args:
            mask: For each event whether it is asked for; None if all are.
        """
        is_member = self.held.weight > 0
        if mask is not None:
            is_member &= mask
        states = {part: values for part, values in self.held.parts.items() if part not in EVENT}
        return replace(self.held, parts=states).where(is_member)

    def add(self, events: StretchTable) -> None:
        """Add lifted events, none of which is live yet."""
        if not len(events):
            return
        previous_count = len(self)
        ids = ids_of(events.parts[ROWS].table.column("id"))
        hashes = Identities(events.keys, ids, events.parts[START].array).hashes()
        self.held = concat([self.held, events])
        # The first events decide the type of the array of ids.
        self._ids = np.concatenate([self._ids, ids]) if previous_count else ids

        # The new hashes are merged into the sorted ones.
        order = np.argsort(hashes)
        positions = np.searchsorted(self._hashes, hashes[order])
        self._hashes = np.insert(self._hashes, positions, hashes[order])
        self._order = np.insert(self._order, positions, previous_count + order)

    def find(self, identities: Identities, hashes: HashArray) -> IntArray:
        """Find the event of each identity: return its place, or -1 where there is none.

        This is where a revision finds the event that it revises.

        Args:
            identities: The identities.
            hashes: The hash of each.
        """
        if not len(self):
            return np.full(len(hashes), -1)

        # Nearly always only one event has the hash, and is the one searched for.
        low = np.searchsorted(self._hashes, hashes)
        nearest = np.minimum(low, len(self) - 1)
        candidates = self._order[nearest]
        has_hash = (low < len(self)) & (self._hashes[nearest] == hashes)
        is_event = has_hash & self._identities(candidates).are_same(identities)
        places: IntArray = np.where(is_event, candidates, -1)

        # Where the nearest event of the hash is another one, all events of that hash are compared.
        for row in np.flatnonzero(has_hash & ~is_event):
            high = np.searchsorted(self._hashes, hashes[row], "right")
            same_hash = self._order[low[row] : high]
            searched = identities.take(np.full(len(same_hash), row))
            are_same = self._identities(same_hash).are_same(searched)
            places[row] = max(same_hash[are_same], default=-1)  # at most one is the event that is searched for
        return places

    def unlifted(self, places: IntArray) -> StretchTable:
        """Select events by their places, without their partial states."""
        parts = {part: values for part, values in self.held.parts.items() if part in EVENT}
        return replace(self.held, parts=parts).take(places)

    def end_at(self, places: IntArray, ends: IntArray) -> None:
        """Move the ends of the events at places."""
        high = self.held.high.copy()
        high[places] = ends
        self.held = replace(self.held, high=high)

    def keep(self, is_kept: BoolArray) -> None:
        """Drop all events except those of a mask."""
        if is_kept.all():
            return
        kept_places = np.flatnonzero(is_kept)
        self.held = self.held.take(kept_places)
        self._ids = self._ids[kept_places]

        # The index, which is in the order of hashes, loses the same events; the kept events have new places.
        new_places = np.cumsum(is_kept) - 1
        is_kept_in_index = is_kept[self._order]
        self._hashes = self._hashes[is_kept_in_index]
        self._order = new_places[self._order[is_kept_in_index]]

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.held = self.held.with_keys(new_codes[self.held.keys])
        if len(self):  # a hash depends on the code of the key
            hashes = self._identities(np.arange(len(self))).hashes()
            self._order = np.argsort(hashes)
            self._hashes = hashes[self._order]

    def _identities(self, places: IntArray) -> Identities:
        """Return the identities of the events at some places."""
        return Identities(self.held.keys[places], self._ids[places], self.held.parts[START].array[places])


def with_relative_starts(records: StretchTable) -> StretchTable:
    """Replace the start of each event by its distance from where the stretch of the event begins, for the log.

    The two differ only for a cut event: most distances are 0, and take no room.
    """
    starts = Dense(COUNTED, records.low - records.parts[START].array)
    return replace(records, parts={**records.parts, START: starts})


def with_absolute_starts(records: StretchTable) -> StretchTable:
    """Return records of the log with the ticks at which their events start: the same subtraction once more."""
    return with_relative_starts(records)


def recorded(records: StretchTable, serial: int) -> StretchTable:
    """Number the records of a batch by the batch."""
    return replace(records, parts={**records.parts, SERIAL: Dense(COUNTED, np.full(len(records), serial))})


def latest_events(records: StretchTable) -> StretchTable:
    """Return the last record of each event."""
    return latest(records, ids_of(records.parts[ROWS].table.column("id")), records.parts[START].array)


def latest(records: StretchTable, ids: Array, starts: IntArray) -> StretchTable:
    """Return the last record of each identity.

    Cost: a sort; where different identities have one hash, a look at each of their records.

    Args:
        records: The records, each with the number of its batch.
        ids: The id of each record.
        starts: The start of each record's event, or of its window.
    """
    identities = Identities(records.keys, ids, starts)
    hashes = identities.hashes()

    # Sorted by hash and batch, the records of a hash are a group, and the last record of an identity ends it.
    order = np.lexsort((records.parts[SERIAL].array, hashes))
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = hashes[order][1:] != hashes[order][:-1]
    last_places = order[is_last]
    groups: IntArray = np.cumsum(is_last) - is_last  # for each sorted record, how many groups have ended before it

    # Different identities may have one hash. In such a group, the last record of each is found one by one.
    is_other_identity = ~identities.take(order).are_same(identities.take(last_places[groups]))
    if is_other_identity.any():
        is_in_mixed_group = np.isin(groups, groups[is_other_identity])
        last_of_identity = {}
        for place in order[is_in_mixed_group].tolist():
            last_of_identity[records.keys[place], ids[place], starts[place]] = place
        mixed_places = np.array([*last_of_identity.values()], np.int64)
        last_places = np.concatenate([order[is_last & ~is_in_mixed_group], mixed_places])
    return records.take(last_places)
