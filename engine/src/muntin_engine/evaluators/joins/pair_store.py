"""The live events of both sides of a join in one bucket, as arrays: they are searched, and written to its log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.stretch_store import ArrayStore
from muntin_engine.evaluators.arrays.stretches.coding import by_key_and_start, expanded
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ColumnFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, StretchTable, concat
from muntin_engine.state.bucket_state import StateSize
from muntin_engine.state.log import Entry, LogEntry, StateLog
from muntin_engine.time.changes import Key

MOST_CANDIDATES: Final = 4_000_000
"""The most candidates that one step of a search looks at, unless one row alone has more: this bounds its memory."""


class Overlaps(NamedTuple):
    """Pairs of a new and a live event that overlap, by the places of both.

    Attributes:
        new_places: The place of each pair's new event among those that are searched with.
        live_places: The place of its live event among those of the side.
    """

    new_places: IntArray
    live_places: IntArray


class SideStore:
    """The live events of one side.

    Cost: adding rows sorts them, and copies the numbers of all live events. A search costs the logarithm of a key's
    events for each row, and a step for each event of the key that starts before the row ends and less than the longest
    lifetime before it starts.

    Attributes:
        events: The events, from start to end, in the order of keys and starts.
    """

    def __init__(self) -> None:
        """Hold no events."""
        self.events = EMPTY
        self._longest_lifetime = 0

    def __len__(self) -> int:
        return len(self.events)

    def add(self, rows: StretchTable) -> None:
        """Add events, in any order."""
        rows = rows.take(by_key_and_start(rows.keys, rows.low))

        # A new event goes behind the live events of its key that start at its tick: before the first that starts later.
        later_starts = np.minimum(rows.low, INFINITY - 1) + 1
        positions = self._first_starting(rows.keys, later_starts)
        # The places of the live events, and between them those of the new ones, which `concat` puts behind all others.
        order = np.insert(np.arange(len(self)), positions, len(self) + np.arange(len(rows)))
        self.events = concat([self.events, rows]).take(order)
        self._longest_lifetime = max(self._longest_lifetime, longest_lifetime(rows))

    def overlapping(self, rows: StretchTable) -> Iterator[Overlaps]:
        """Yield the pairs of new events and live events of the same key whose lifetimes overlap.

        Args:
            rows: The new events, in any order.
        """
        if not len(rows) or not len(self):
            return
        # The candidates of a new event are neighbours among the live events of its key. They start before the new event
        # ends, and less than the longest lifetime before it starts: earlier ones have ended when it starts.
        candidate_stops = self._first_starting(rows.keys, rows.high)
        first_candidates = np.searchsorted(self.events.keys, rows.keys, "left")
        longest = self._longest_lifetime
        if longest < INFINITY:
            # An event that starts at such a tick or before has ended. The minimum is `EARLIEST`: no tick is before it.
            last_ended_starts = np.where(rows.low < EARLIEST + longest, EARLIEST, rows.low - longest)
            first_candidates = self._first_starting(rows.keys, last_ended_starts + 1)
        counts = np.maximum(candidate_stops - first_candidates, 0)
        totals = np.cumsum(counts)

        # Block by block of new events, so that no block has more than `MOST_CANDIDATES`, unless it is a single event.
        begin = 0
        while begin < len(rows):
            previous_total = totals[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(totals, previous_total + MOST_CANDIDATES, "right")))
            row_places, candidate_numbers = expanded(counts[begin:end])
            row_places += begin
            live_places = first_candidates[row_places] + candidate_numbers
            # All candidates start before the new event ends. Those that end after it starts make a pair with it.
            is_pair = self.events.high[live_places] > rows.low[row_places]
            if is_pair.any():
                yield Overlaps(row_places[is_pair], live_places[is_pair])
            begin = end

    def forget(self, until: int) -> None:
        """Drop the events that end at a tick or before."""
        previous_count = len(self)
        self.events = self.events.where(self.events.high > until)
        if len(self) < previous_count:
            self._longest_lifetime = longest_lifetime(self.events)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`; the order of keys stays the same."""
        self.events = self.events.with_keys(new_codes[self.events.keys])

    def _first_starting(self, codes: IntArray, ticks: IntArray) -> IntArray:
        """Find for each key and tick the place of the key's first event that starts at the tick or later.

        If there is none, it is the place after the key's last event. All are found by one binary search, step by step.

        Args:
            codes: The codes of the keys.
            ticks: The tick for each key.
        """
        low = np.searchsorted(self.events.keys, codes, "left")
        high = np.searchsorted(self.events.keys, codes, "right")
        while (low < high).any():
            is_open = low < high
            middle = (low + high) // 2
            # A finished search may stand behind the last event: what is read for it is masked by `is_open`.
            starts = self.events.low[np.minimum(middle, len(self) - 1)]
            is_earlier = is_open & (starts < ticks)
            low = np.where(is_earlier, middle + 1, low)
            high = np.where(is_open & ~is_earlier, middle, high)
        return low


def longest_lifetime(events: StretchTable) -> int:
    """Return the longest lifetime of events; `INFINITY` if one has no end."""
    if not len(events):
        return 0
    if events.high.max() == INFINITY:
        return INFINITY
    return int((events.high - events.low).max())


class SideEvents(NamedTuple):
    """Events of one side.

    Attributes:
        side: The place of the side's input.
        events: The events.
    """

    side: int
    events: StretchTable

    @property
    def codes(self) -> IntArray:
        """The code of each event's key."""
        return self.events.keys


class PairStore(ArrayStore):
    """The live events of one bucket: those of each side that a later event of the other side may still overlap.

    Cost: a batch writes its own events, and searches the others; see `SideStore`.

    Attributes:
        sides: The live events of each side.
        unwritten: The events that the present batch added.
    """

    def __init__(self, *, with_late_rows: bool = False) -> None:
        """Make an empty store.

        Args:
            with_late_rows: True if blobs have the rows beside their events, because late rows are kept.
        """
        super().__init__(ColumnFormat(), with_rows=with_late_rows)
        self.sides = (SideStore(), SideStore())
        self.unwritten: list[SideEvents] = []

    def __len__(self) -> int:
        return sum(map(len, self.sides))

    @property
    def sizes(self) -> StateSize:
        """The number of events."""
        return StateSize(events=len(self))

    @property
    def memory(self) -> int:
        """The bytes that the store takes in memory, roughly."""
        return sum(side.events.nbytes for side in self.sides) + self.keys.nbytes

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""
        left, right = self.sides
        return np.union1d(left.events.keys, right.events.keys)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        for side in self.sides:
            side.renumber(new_codes)

    def restore(self, entries: Sequence[LogEntry], watermarks: Sequence[int]) -> None:
        """Read the live events of a log.

        Args:
            entries: The log.
            watermarks: The watermark of each input when the log was written.
        """
        for side, events in self._read_by_side(entries):
            self.sides[side].add(events)
        self.forget(watermarks)

    def add(self, side: int, events: StretchTable) -> None:
        """Add the events that a batch brings of one side."""
        self.sides[side].add(events)
        self.unwritten.append(SideEvents(side, events))

    def forget(self, watermarks: Sequence[int]) -> None:
        """Drop the events of each side that end at the watermark of the other input or before.

        No later event of the other input meets them.

        Args:
            watermarks: The watermark of each input.
        """
        for side, side_store in enumerate(self.sides):
            side_store.forget(watermarks[1 - side])

    def write(self, log: StateLog, watermarks: Sequence[int]) -> None:
        """Write the events of a batch; write the log anew if more than half of it is garbage.

        Args:
            log: The log.
            watermarks: The watermark of each input.
        """
        # The log does not know the side of an entry. If all events of an entry end at the lower watermark or before, it
        # is not needed, whichever side it is of. Before the first watermark, and after the last, no entry is removed.
        least = min(watermarks)
        first_live = least + 1 if EARLIEST < least < INFINITY else EARLIEST
        log.forget(first_live)
        log.append(self._write_sides(self.unwritten, watermarks))
        self.unwritten = []
        live_bytes = self.codec.size_of(len(self))
        log.tidy(self, live_bytes, whole=lambda: self._all_entries(watermarks), first_live=first_live)

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into one per side, dropping events that end before `first_live`."""
        last_past = first_live - 1  # the log asks by ticks alone, so it serves as the watermark of both inputs
        return self._write_sides(self._read_by_side(entries), watermarks=(last_past, last_past))

    def events_by_side(self) -> Iterator[SideEvents]:
        """Yield the events of each side that has any."""
        for side, side_store in enumerate(self.sides):
            if len(side_store):
                yield SideEvents(side, side_store.events)

    def keys_of(self, events: SideEvents) -> list[Key]:
        """Return the key of each event."""
        return keys_in(self.keys.take(events.codes))

    def _read_by_side(self, entries: Sequence[LogEntry]) -> list[SideEvents]:
        """Return the events of log entries, those of each side as one table."""
        tables_by_side: list[list[StretchTable]] = [[], []]
        for entry in entries:
            arrival = self.codec.read(entry)
            tables_by_side[side_of(arrival.packed)].append(arrival.stretches)
        events_by_side: list[SideEvents] = []
        for side, tables in enumerate(tables_by_side):
            if tables:
                events_by_side.append(SideEvents(side, concat(tables)))
        return events_by_side

    def _write_sides(self, sides: Sequence[SideEvents], watermarks: Sequence[int]) -> list[Entry]:
        """Encode events as log entries, without those that end at the watermark of the other input or before.

        Args:
            sides: The events.
            watermarks: The watermark of each input.
        """
        entries: list[Entry] = []
        for side, events in sides:
            live = events.where(events.high > watermarks[1 - side])
            entries += self.codec.write(live, side_mark(side))
        return entries

    def _all_entries(self, watermarks: Sequence[int]) -> list[Entry]:
        """Encode all live events as log entries."""
        return self._write_sides([*self.events_by_side()], watermarks)


def side_mark(side: int) -> list[bytes]:
    """Return the bytes that lie beside the events of a side in a blob, or log entry, and name that side."""
    return [bytes([side])]


def side_of(packed: Sequence[bytes]) -> int:
    """Return the side that `side_mark` wrote beside the events of a blob, or log entry."""
    (mark,) = packed
    return mark[0]
