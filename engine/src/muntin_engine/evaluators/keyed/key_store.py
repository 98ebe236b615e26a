"""Store the states of a bucket's keys: in memory as bytes or decoded, and in a log as records.

A key's state is a *whole* record and records of the changes after it. A batch appends a record to each key that it
touches, so it writes as much as changed and not as much as a key holds. A worker caches the store between batches, and
rebuilds it from the log if it was lost. Keys that are due, and the soonest timer, are found without a look at the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from muntin import INFINITY
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.bucket_state import NO_TIMER, BucketState, Due, KeyTimer, soonest
from muntin_engine.state.cells import damaged
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import FULL_ENTRY, Entry, LogEntry

LARGE: Final = 1024
"""The size in bytes of a large key. Changes of a large key are appended, and its decoded state is cached while memory
allows; a smaller key is written whole each time."""

MOST_RECORDS: Final = 8
"""Rows are appended to a key that has fewer records; one that has more is written whole, with a window that closes."""

_HEAD: Final = 16
"""The size of a record besides its data, roughly."""

_OBJECTS: Final = 512
"""The memory of a key besides its data, roughly."""

_RECORD: Final = 128
"""The memory of each further record besides its data, roughly."""

_FIELDS: Final = range(len(KeyTimer._fields))
_DUE_FIELDS: Final = tuple(map(KeyTimer._fields.index, Due._fields))
"""The fields of a timer that make a key due, in the order of those of `Due`."""

_MANY: Final = 2
"""The index of timers is rebuilt with over twice the entries that all keys need at most."""

_NAME: Final = itemgetter(0)
_NUMBER: Final = itemgetter(0)


class DecodedState(Protocol):
    """The decoded state of a key."""

    @property
    def plain_count(self) -> int:
        """Number of events if they dominate the size, else 0."""
        ...

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        ...

    def memory(self, size: int) -> int:
        """Return the memory of the state in bytes, roughly, if its records have `size` bytes."""
        ...

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was saved are recorded."""
        ...

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, or the changes since it was saved."""
        ...


StateT = TypeVar("StateT", bound=DecodedState)
"""The class of a decoded state."""

Decode: TypeAlias = Callable[[list[list[Any]], StateSerializer, object], StateT]
"""Makes a state from records, for a key."""


class Record(NamedTuple):
    """A part of the state of a key.

    Attributes:
        number: The number of the batch that wrote it.
        events: The number of events, if it is whole and replaces all records before it; 0 if that keeps more than
            events. None if it holds changes.
        data: The state, or its changes, as bytes; empty if the key has no state any more.
    """

    number: int
    events: int | None
    data: bytes


@dataclass(slots=True)
class KeyRecords(Generic[StateT]):
    """The state of a key: its records, and of a large key their decoded state.

    Attributes:
        timer: The timer of the key.
        records: The whole record, and the records of changes after it.
        size: The size of the records in bytes.
        state: The decoded state; None if it is not cached.
        decoded: The memory of the decoded state in bytes, roughly.
    """

    timer: KeyTimer
    records: list[Record]
    size: int
    state: StateT | None = None
    decoded: int = 0

    @property
    def has_few_rows(self) -> bool:
        """True if the state is small and keeps events alone, so that rows may be appended as they came."""
        return self.size < LARGE and bool(self.records[0].events)

    def appendable(self, events: int) -> int:
        """Return the bytes of changes that may still be appended, until the state is written whole again.

        Records may take twice what the state would take whole now: as many bytes per event as it took last. So a key
        that only grows is not written whole again, as that would make its records no fewer bytes. No bytes may be
        appended where the last changes would not fit once more, as the next ones are likely to be as many.

        Args:
            events: The number of events now; 0 if the state keeps more than events.
        """
        whole = self.records[0]
        last = self.records[-1]
        whole_size = len(whole.data)
        if whole_size < LARGE:
            return 0
        live_size = whole_size
        if events and whole.events:
            live_size = whole_size * events // whole.events
        appendable = 2 * live_size - self.size
        if last is not whole and len(last.data) > appendable:
            return 0
        return appendable


class TimerIndex:
    """Keys that have timers: for each field of a timer a heap of its values, and the keys by value.

    An entry, a key under a value, is outdated if the key has another value by now; it is dropped when the value is the
    smallest, or when the index is rebuilt.

    Cost: a constant for each key that gets a timer or is due, and logarithmic in the number of distinct values for each
    of these.
    """

    def __init__(self, keys: Mapping[bytes, KeyRecords[Any]]) -> None:
        """Start an index over a mapping of keys, whose timers are looked up there from then on."""
        self._keys = keys
        self._clear()
        self.update(keys)

    def update(self, changed_keys: Collection[bytes]) -> None:
        """Enter the new timers of changed keys, some of which may be gone."""
        keys = self._keys
        most_needed = len(_FIELDS) * (len(keys) + len(changed_keys))
        if self._entry_count > _MANY * most_needed:
            self._clear()
            changed_keys = keys

        # Many keys have equal timers: these are entered together.
        names_by_timer: dict[KeyTimer, list[bytes]] = {}
        for name in changed_keys:
            if name in keys:
                names_by_timer.setdefault(keys[name].timer, []).append(name)
        for timer, names in names_by_timer.items():
            for value, heap, names_by_value in zip(timer, self._heaps, self._names_by_value, strict=True):
                if value == INFINITY:
                    continue
                if value not in names_by_value:
                    heappush(heap, value)
                    names_by_value[value] = []
                names_by_value[value] += names
                self._entry_count += len(names)

    def take_due(self, due: Due) -> set[bytes]:
        """Take out the keys that are due, and return them; the caller gives each of them a new timer by `update`.

        Args:
            due: The progress, below `INFINITY`: there all keys are due, and the index is not asked.
        """
        due_keys: set[bytes] = set()
        for field, limit in zip(_DUE_FIELDS, due, strict=True):
            heap = self._heaps[field]
            names_by_value = self._names_by_value[field]
            while heap and heap[0] <= limit:
                value = heappop(heap)
                names = names_by_value.pop(value)
                self._entry_count -= len(names)
                due_keys.update([name for name in names if self._timer(name)[field] == value])
        return due_keys

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        return KeyTimer(*[self._least(field) for field in _FIELDS])

    def _least(self, field: int) -> int:
        """Return the smallest value of a field that a key has, and drop the outdated entries before it."""
        heap = self._heaps[field]
        while heap:
            value = heap[0]
            names = self._names_by_value[field][value]
            # One key that still has the value is enough: outdated entries are dropped up to it.
            while names and self._timer(names[-1])[field] != value:
                names.pop()
                self._entry_count -= 1
            if names:
                return value
            del self._names_by_value[field][heappop(heap)]
        return INFINITY

    def _clear(self) -> None:
        """Drop all entries."""
        self._entry_count = 0
        self._heaps: list[list[int]] = [[] for _ in _FIELDS]
        self._names_by_value: list[dict[int, list[bytes]]] = [{} for _ in _FIELDS]

    def _timer(self, name: bytes) -> KeyTimer:
        """Return the present timer of a key; `NO_TIMER` if the key is gone."""
        key = self._keys.get(name)
        return NO_TIMER if key is None else key.timer


class MergedRecords(NamedTuple):
    """The records of a key in a log.

    Attributes:
        timer: The last timer of the key.
        records: Its last whole record, and the records of changes after it.
    """

    timer: KeyTimer
    records: list[Record]


class _NamedRecords(NamedTuple):
    """Records of a key to be written.

    Attributes:
        name: The encoded key.
        timer: The timer of the key.
        records: The records, in the order in which they were made.
    """

    name: bytes
    timer: KeyTimer
    records: Sequence[Record]


class KeyStore(Generic[StateT]):
    """The states of one bucket's keys, by the encoded key.

    Cost: a batch looks at the keys that are due, and at those that it writes; see `TimerIndex`.

    Attributes:
        size: The size in bytes of all live records.
        decoded: The memory of decoded states in bytes, roughly.
        timer: The soonest timer of all keys, as of the last `write`.
        number: The number that records of this batch get, larger than that of all earlier ones.
    """

    def __init__(self, codec: Codec) -> None:
        """Open a store without keys; a codec packs their states."""
        self.size = 0
        self.decoded = 0
        self.number = 0
        self.timer = NO_TIMER
        self._codec = codec
        self._keys: dict[bytes, KeyRecords[StateT]] = {}
        self._record_count = 0
        self._timers = TimerIndex(self._keys)
        self._unwritten: dict[bytes, Record] = {}  # the records that the log does not have yet
        self._equal_timers: dict[KeyTimer, KeyTimer] = {}  # keys with equal timers share one object

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> ItemsView[bytes, KeyRecords[StateT]]:
        """Return all encoded keys with their records."""
        return self._keys.items()

    @classmethod
    def of(cls, codec: Codec, entries: Iterable[LogEntry], keys: int) -> KeyStore[StateT]:
        """Rebuild a store from the entries of its log.

        Raises:
            StateError: The log does not have as many keys as the metadata says.
        """
        store = cls(codec)
        equal_timers: dict[KeyTimer, KeyTimer] = {}
        for name, (timer, records) in merge_records(codec, entries).items():
            if not records[-1].data:
                continue  # the key has no state any more
            size = sum(len(record.data) + _HEAD for record in records)
            store._keys[name] = KeyRecords(equal_timers.setdefault(timer, timer), records, size)
        store._timers.update(store._keys)
        store.timer = store._timers.soonest()
        if len(store) != keys:
            raise damaged("metadata", f"it lists {keys:,} keys, and the log has {len(store):,}")
        store.size = sum(key.size for _, key in store.items())
        store._record_count = sum(len(key.records) for _, key in store.items())
        return store

    @property
    def memory(self) -> int:
        """The memory of the records and of decoded states in bytes, roughly."""
        keys = len(self)
        return self.size + _OBJECTS * keys + _RECORD * (self._record_count - keys) + self.decoded

    def take_due(self, due: Due, *, is_signalled: bool) -> AbstractSet[bytes]:
        """Return the encoded keys that have work, each of which is then written or removed.

        Args:
            due: The progress.
            is_signalled: True if every key has work, whatever its timer says.
        """
        if is_signalled or max(due) >= INFINITY:
            return self._keys.keys()
        return self._timers.take_due(due)

    def get(self, name: bytes, decode: Decode[StateT], serializer: StateSerializer, key: object) -> StateT | None:
        """Return the state of a key; None if it has none. The state of a large key tracks its changes."""
        key_records = self._keys.get(name)
        if key_records is None:
            return None
        if key_records.state is not None:
            return key_records.state
        state = decode([self._codec.unpack(record.data) for record in key_records.records], serializer, key)
        if key_records.size >= LARGE:
            state.track()
        return state

    def find(self, name: bytes) -> KeyRecords[StateT] | None:
        """Return the records of a key; None if it has no state."""
        return self._keys.get(name)

    def append(self, name: bytes, timer: KeyTimer, events: int, data: bytes) -> None:
        """Append a record of rows to a key that `has_few_rows`, or begin a key with them.

        Args:
            name: The key, encoded.
            timer: The timer that it would have if it kept these rows alone.
            events: The number of rows.
            data: The rows.
        """
        key_records = self._keys.get(name)
        size = len(data) + _HEAD
        record = Record(self.number, events if key_records is None else None, data)
        if key_records is None:
            self._keys[name] = KeyRecords(self._equal_timers.setdefault(timer, timer), [record], size)
        else:
            if key_records.timer != timer:
                timer = soonest((key_records.timer, timer))
                key_records.timer = self._equal_timers.setdefault(timer, timer)
            key_records.records.append(record)
            key_records.size += size
        self.size += size
        self._record_count += 1
        self._unwritten[name] = record

    def put(self, name: bytes, timer: KeyTimer, state: StateT, serializer: StateSerializer, key: object) -> None:
        """Append changes to a key's records if there is room, or else replace them all. A large key stays decoded.

        Raises:
            StateError: The state holds a value that cannot be stored.
        """
        previous = self._take(name)

        # Changes are appended if they fit in; a state that does not track them has none to append.
        event_count = state.plain_count
        appendable = 0
        if previous is not None and state.tracks:
            appendable = previous.appendable(event_count)
        changes = b""
        if appendable > 0:
            changes = self._codec.pack(state.to_data(serializer, key, is_whole=False))

        if previous is not None and 0 < len(changes) <= appendable:
            record = Record(self.number, None, changes)
            records = previous.records
            size = previous.size
        else:
            record = Record(self.number, event_count, self._codec.pack(state.to_data(serializer, key)))
            records = []
            size = 0
        records.append(record)
        size += len(record.data) + _HEAD

        key_records: KeyRecords[StateT] = KeyRecords(self._equal_timers.setdefault(timer, timer), records, size)
        if size >= LARGE:
            state.track()
            key_records.state = state
            key_records.decoded = state.memory(size)
        self.size += size
        self.decoded += key_records.decoded
        self._record_count += len(records)
        self._keys[name] = key_records
        self._unwritten[name] = record

    def remove(self, name: bytes) -> None:
        """Remove a key, if it has a state."""
        if self._take(name) is not None:
            self._unwritten[name] = Record(self.number, 0, b"")

    def _take(self, name: bytes) -> KeyRecords[StateT] | None:
        """Take the records of a key out, also of the counts of the store; return None if it has none."""
        key_records = self._keys.pop(name, None)
        if key_records is not None:
            self.size -= key_records.size
            self.decoded -= key_records.decoded
            self._record_count -= len(key_records.records)
        return key_records

    def forget_decoded(self) -> None:
        """Drop the decoded states, and keep the bytes alone."""
        for _, key_records in self.items():
            key_records.state = None
            key_records.decoded = 0
        self.decoded = 0

    def write(self) -> list[Entry]:
        """Return the records since the last call as log entries of a few megabytes."""
        if not self._unwritten:
            return []
        records_by_name = self._unwritten
        self._unwritten = {}
        self._equal_timers = {}
        self._timers.update(records_by_name)
        self.timer = self._timers.soonest()
        return self._entries(
            _NamedRecords(name, self._timer_of(name), [record]) for name, record in records_by_name.items()
        )

    def whole(self) -> list[Entry]:
        """Return all live records as log entries."""
        in_order = sorted(self.items(), key=_NAME)
        return self._entries(
            _NamedRecords(name, key_records.timer, key_records.records) for name, key_records in in_order
        )

    def compact(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible."""
        del first_live  # an entry has keys that end at any time
        in_order = sorted(merge_records(self._codec, entries).items(), key=_NAME)
        return self._entries(_NamedRecords(name, *merged) for name, merged in in_order)

    def _timer_of(self, name: bytes) -> KeyTimer:
        """Return the timer of a key; `NO_TIMER` if it was removed."""
        key_records = self._keys.get(name)
        return NO_TIMER if key_records is None else key_records.timer

    def _entries(self, keys: Iterable[_NamedRecords]) -> list[Entry]:
        """Return records as entries of a few megabytes, column by column."""
        entries: list[Entry] = []
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        names, timers, counts, numbers, events, contents = columns
        size = 0
        for name, timer, records in keys:
            names.append(name)
            timers.append(timer.to_data())
            counts.append(len(records))
            for number, event_count, data in records:
                numbers.append(number)
                events.append(event_count)
                contents.append(data)
                size += len(data) + _HEAD
            if size >= FULL_ENTRY:
                entries.append(Entry(0, INFINITY, self._codec.pack(list(columns))))
                size = 0
                for column in columns:
                    column.clear()
        if names:
            entries.append(Entry(0, INFINITY, self._codec.pack(list(columns))))
        return entries


def open_store(state: BucketState, codec: Codec) -> KeyStore[Any]:
    """Return the store of a bucket for a micro-batch, from the cache or from its log."""
    held_keys = state.metadata.held.keys
    store = state.open(lambda entries: KeyStore[Any].of(codec, entries, held_keys))
    store.number = state.log.serial + 1
    return store


def write_store(state: BucketState, store: KeyStore[Any]) -> None:
    """Write what a micro-batch changed to the log, and put the store into the cache."""
    state.log.append(store.write())
    state.metadata.timer = store.timer
    state.log.tidy(store, store.size, store.whole)
    if not state.keep(store, store.memory):
        store.forget_decoded()  # the bytes alone may have room
        state.keep(store, store.memory)


def merge_records(codec: Codec, entries: Iterable[LogEntry]) -> dict[bytes, MergedRecords]:
    """Merge log entries; return the records of each key by its encoded name."""
    merged: dict[bytes, MergedRecords] = {}
    for entry in entries:
        names, timers, counts, *columns = codec.unpack(entry.data)
        all_records = map(Record, *columns)
        for name, timer_data, count in zip(names, timers, counts, strict=True):
            records = list(islice(all_records, count))
            timer = KeyTimer(*timer_data)
            earlier = merged.get(name)
            if earlier is None:
                merged[name] = MergedRecords(timer, records)
                continue
            # Batch numbers say the order: a compacted entry may have records from before and from after another one.
            last_timer = timer if records[-1].number > earlier.records[-1].number else earlier.timer
            in_order = sorted([*earlier.records, *records], key=_NUMBER)
            last_whole = 0
            for place, record in enumerate(in_order):
                if record.events is not None:
                    last_whole = place
            merged[name] = MergedRecords(last_timer, in_order[last_whole:])
    return merged
