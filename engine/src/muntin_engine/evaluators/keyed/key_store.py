"""Store the states of a bucket's keys: in memory as bytes or decoded, and in a log as records.

A key's state is a *whole* record and records of the changes after it. A batch appends a record to each key that it
touches, so it writes as much as changed and not as much as a key holds. A worker caches the store between batches, and
rebuilds it from the log if it was lost. Keys that are due, and the soonest timer, are found without a look at the
others.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from muntin import INFINITY
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.keyed.timer_index import TimerIndex
from muntin_engine.state.bucket_state import NO_TIMER, BucketState, Due, KeyTimer, soonest
from muntin_engine.state.cells import damaged
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import FULL_ENTRY, Entry, StoredEntry

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

_NAME: Final = itemgetter(0)
_NUMBER: Final = itemgetter(0)


class DecodedState(Protocol):
    """The decoded state of a key."""

    @property
    def plain_count(self) -> int:
        """The number of events, if nothing besides them takes room worth speaking of; otherwise 0."""
        ...

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        ...

    def memory(self, size: int) -> int:
        """Return the memory that it takes in bytes, roughly, if its records have so many bytes."""
        ...

    @property
    def tracks(self) -> bool:
        """True if the changes since it was stored are known."""
        ...

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return all of it as plain data, or the changes since it was stored."""
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
class StoredKey(Generic[StateT]):
    """The state of a key.

    Attributes:
        timer: Its timer.
        records: Its whole record, and the records of changes after it.
        size: The size of its records in bytes.
        state: The decoded state; None if it is not cached.
        decoded: The memory of that in bytes, roughly.
    """

    timer: KeyTimer
    records: list[Record]
    size: int
    state: StateT | None = None
    decoded: int = 0

    @property
    def has_few_rows(self) -> bool:
        """True if it is small and keeps events alone, so that rows may be appended as they came."""
        return self.size < LARGE and bool(self.records[0].events)

    def appendable(self, events: int) -> int:
        """Return the bytes of changes that may still be appended, until the state is written whole again.

        Records may take twice what the state would take whole now: as many bytes per event as it took last. So a key
        that only grows is not written whole again, as that would make its records no fewer bytes. No bytes may be
        appended where the last changes would not fit once more, as the next ones are likely to be as many.

        Args:
            events: The number of events now; 0 if the state keeps more than events.
        """
        whole, last = self.records[0], self.records[-1]
        if (size := len(whole.data)) < LARGE:
            return 0
        live = size * events // whole.events if events and whole.events else size
        appendable = 2 * live - self.size
        return appendable if last is whole or len(last.data) <= appendable else 0


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
        self.size = self.decoded = self.number = self._records = 0
        self.timer = NO_TIMER
        self._codec = codec
        self._keys: dict[bytes, StoredKey[StateT]] = {}
        self._timers = TimerIndex(self._keys)
        self._written: dict[bytes, Record] = {}
        self._alike: dict[KeyTimer, KeyTimer] = {}  # many keys have the same

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> ItemsView[bytes, StoredKey[StateT]]:
        """Return all keys, encoded, with their states."""
        return self._keys.items()

    @classmethod
    def of(cls, codec: Codec, entries: Iterable[StoredEntry], keys: int) -> KeyStore[StateT]:
        """Rebuild a store from the entries of its log.

        Raises:
            StateError: They do not have as many keys as the metadata says.
        """
        store = cls(codec)
        alike = dict[KeyTimer, KeyTimer]()
        for name, (timer, records) in joined(codec, entries).items():
            if records[-1].data:
                size = sum(len(record.data) + _HEAD for record in records)
                store._keys[name] = StoredKey(alike.setdefault(timer, timer), records, size)
        store._timers.update(store._keys)
        store.timer = store._timers.soonest()
        if len(store) != keys:
            raise damaged("metadata", f"it lists {keys:,} keys, and the log has {len(store):,}")
        store.size = sum(key.size for _, key in store.items())
        store._records = sum(len(key.records) for _, key in store.items())
        return store

    @property
    def memory(self) -> int:
        """The memory of the records and of decoded states in bytes, roughly."""
        keys = len(self)
        return self.size + _OBJECTS * keys + _RECORD * (self._records - keys) + self.decoded

    def take_due(self, at: Due, *, is_signalled: bool) -> AbstractSet[bytes]:
        """Return the encoded keys that have work, each of which is then written or removed.

        Args:
            at: The progress.
            is_signalled: True if every key has work, whatever its timer says.
        """
        return self._keys.keys() if is_signalled or max(at) >= INFINITY else self._timers.take_due(at)

    def get(self, name: bytes, decode: Decode[StateT], serializer: StateSerializer, key: object) -> StateT | None:
        """Return the state of a key; None if it has none. That of a large key tracks its changes, and may be cached."""
        stored = self._keys.get(name)
        if stored is None or stored.state is not None:
            return None if stored is None else stored.state
        state = decode([self._codec.unpack(record.data) for record in stored.records], serializer, key)
        if stored.size >= LARGE:
            state.track()
        return state

    def find(self, name: bytes) -> StoredKey[StateT] | None:
        """Return a key as it is stored; None if it has no state."""
        return self._keys.get(name)

    def append(self, name: bytes, timer: KeyTimer, events: int, data: bytes) -> None:
        """Append a record of rows to a key that `has_few_rows`, or begin a key with them.

        Args:
            name: The key, encoded.
            timer: The timer that it would have if it kept these rows alone.
            events: The number of rows.
            data: The rows.
        """
        key, size = self._keys.get(name), len(data) + _HEAD
        record = Record(self.number, events if key is None else None, data)
        if key is None:
            self._keys[name] = StoredKey(self._alike.setdefault(timer, timer), [record], size)
        else:
            if key.timer != timer:
                timer = soonest((key.timer, timer))
                key.timer = self._alike.setdefault(timer, timer)
            key.records.append(record)
            key.size += size
        self.size += size
        self._records += 1
        self._written[name] = record

    def put(self, name: bytes, timer: KeyTimer, state: StateT, serializer: StateSerializer, key: object) -> None:
        """Append changes to a key's records if there is room, or else replace them all. A large key stays decoded.

        Raises:
            StateError: They hold a value that cannot be stored.
        """
        known, events, data = self._take(name), state.plain_count, b""
        appendable = known.appendable(events) if known is not None and state.tracks else 0
        if appendable > 0:
            data = self._codec.pack(state.to_data(serializer, key, is_whole=False))
        if known is not None and 0 < len(data) <= appendable:
            size, records, record = known.size, known.records, Record(self.number, None, data)
        else:
            data = self._codec.pack(state.to_data(serializer, key))
            size, records, record = 0, list[Record](), Record(self.number, events, data)
        records.append(record)
        size += len(data) + _HEAD
        stored: StoredKey[StateT] = StoredKey(self._alike.setdefault(timer, timer), records, size)
        if size >= LARGE:
            state.track()
            stored.state, stored.decoded = state, state.memory(size)
        self.size += size
        self.decoded += stored.decoded
        self._records += len(stored.records)
        self._keys[name], self._written[name] = stored, record

    def remove(self, name: bytes) -> None:
        """Remove a key, if it has a state."""
        if self._take(name) is not None:
            self._written[name] = Record(self.number, 0, b"")

    def _take(self, name: bytes) -> StoredKey[StateT] | None:
        """Take a key out."""
        key = self._keys.pop(name, None)
        if key is not None:
            self.size -= key.size
            self.decoded -= key.decoded
            self._records -= len(key.records)
        return key

    def write(self) -> list[Entry]:
        """Return the records since the last call as log entries of a few megabytes."""
        if not self._written:
            return []
        written, self._written, self._alike = self._written, {}, {}
        self._timers.update(written)
        self.timer = self._timers.soonest()
        known = self._keys
        return self._entries(
            (name, known[name].timer if name in known else NO_TIMER, (record,)) for name, record in written.items()
        )

    def whole(self) -> list[Entry]:
        """Return all live records as log entries."""
        return self._entries((name, key.timer, key.records) for name, key in sorted(self.items(), key=_NAME))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Merge some entries of the log into as few as possible."""
        del first_live  # an entry has keys that end at any time
        whole = sorted(joined(self._codec, entries).items(), key=_NAME)
        return self._entries((name, timer, records) for name, (timer, records) in whole)

    def _entries(self, keys: Iterable[tuple[bytes, KeyTimer, Sequence[Record]]]) -> list[Entry]:
        """Return records as entries of a few megabytes, column by column."""
        entries: list[Entry] = []
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        names, timers, counts, numbers, events, parts = columns
        size = 0
        for name, timer, records in keys:
            names.append(name)
            timers.append(timer.to_data())
            counts.append(len(records))
            for number, held, data in records:
                numbers.append(number)
                events.append(held)
                parts.append(data)
                size += len(data) + _HEAD
            if size >= FULL_ENTRY:
                entries.append(Entry(0, INFINITY, self._codec.pack(list(columns))))
                size = 0
                for column in columns:
                    column.clear()
        return [*entries, Entry(0, INFINITY, self._codec.pack(list(columns)))] if names else entries


def update_keys(state: BucketState, codec: Codec, run: Callable[[KeyStore[StateT]], None]) -> None:
    """Let a micro-batch run over the keys of a bucket, and write what it changed."""
    metadata = state.metadata
    store = state.open(lambda entries: KeyStore[StateT].of(codec, entries, metadata.held.keys))
    store.number = state.log.serial + 1
    run(store)
    state.log.append(store.write())
    metadata.timer = store.timer
    state.log.tidy(store, store.size, store.whole)
    if not state.keep(store, store.memory):
        for _, key in store.items():  # the bytes alone may have room
            key.state, key.decoded = None, 0
        store.decoded = 0
        state.keep(store, store.memory)


def joined(codec: Codec, entries: Iterable[StoredEntry]) -> dict[bytes, tuple[KeyTimer, list[Record]]]:
    """Return the timer and the live records of each key, in order: the last whole record, and those after it."""
    found: dict[bytes, tuple[KeyTimer, list[Record]]] = {}
    for entry in entries:
        names, timers, counts, *columns = codec.unpack(entry.data)
        records = map(Record, *columns)
        for name, timer, count in zip(names, timers, counts, strict=True):
            some = list(islice(records, count))
            known = found.get(name)
            if known is None:
                found[name] = KeyTimer(*timer), some
                continue
            last = KeyTimer(*timer) if some[-1].number > known[1][-1].number else known[0]
            some = sorted([*known[1], *some], key=_NUMBER)
            whole = max((place for place, record in enumerate(some) if record.events is not None), default=0)
            found[name] = last, some[whole:]
    return found
