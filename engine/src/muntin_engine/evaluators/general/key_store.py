"""The state of the keys of a bucket: in memory as bytes or decoded, and in a log as records.

A key's state is a *whole* record and the changes after it. A batch writes the records of the keys that it touches, so
what it writes grows with what changed and not with what a key holds. A worker keeps the store from batch to batch; it
is made anew from the log where it was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from muntin import INFINITY
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.bucket_state import NEVER, KeyTimer, soonest
from muntin_engine.state.cells import damaged
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import MOST_BYTES, Entry, StoredEntry

KEY_GROUPS: Final = 64
"""The number of groups of keys with a timer each, so that keys without work are not looked at one by one."""

LARGE: Final = 1024
"""A key with a whole record of so many bytes gets records of its changes; a smaller one is written whole, and a larger
one is kept decoded where there is room."""

DECODED: Final = 10
"""A decoded state takes so many times the memory of its records, roughly."""

_HEAD: Final = 16
"""The size of a record besides its data, roughly."""

_OBJECTS: Final = 512
"""Memory that a key takes besides its data, roughly."""

_NAME: Final = itemgetter(0)


class Record(NamedTuple):
    """A part of the state of a key.

    Attributes:
        number: The number of the batch that wrote it.
        is_whole: True if it replaces all records before it.
        data: The state or the changes of it, as bytes; none if the key has no state any more.
    """

    number: int
    is_whole: bool
    data: bytes


@dataclass(slots=True)
class StoredKey:
    """The state of a key.

    Attributes:
        timer: Its timer.
        records: Its whole record, and the changes after it.
        size: The size of its records.
        state: The decoded state, where that is kept.
    """

    timer: KeyTimer
    records: list[Record]
    size: int
    state: KeyState | None = None

    @property
    def room(self) -> int:
        """The size of changes that may be appended before the state is to be written as a whole again."""
        whole = len(self.records[0].data)
        return 2 * whole - self.size if whole >= LARGE else 0


class KeyStore:
    """The keys of one bucket, by the bytes that name them.

    Cost: a batch looks at the timers of all groups of keys, and at the keys of those groups where one is due.

    Attributes:
        size: The size of all records that are not replaced.
        memory: The same, with what decoded states take.
        timer: The soonest timer of all keys, as of the last `write`.
        number: The number of the records of this batch, above that of all before.
    """

    def __init__(self, codec: Codec) -> None:
        self.size = self.memory = 0
        self.number = 0
        self.timer = NEVER
        self._codec = codec
        self._groups: dict[int, dict[bytes, StoredKey]] = {}
        self._timers: dict[int, KeyTimer] = {}
        self._written: dict[bytes, tuple[KeyTimer, Record]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def items(self) -> Iterator[tuple[bytes, StoredKey]]:
        """Yield all keys, by the bytes that name them."""
        for keys in self._groups.values():
            yield from keys.items()

    @classmethod
    def of(cls, codec: Codec, entries: Iterable[StoredEntry], keys: int) -> KeyStore:
        """Return the store that wrote some entries.

        Raises:
            StateError: They are not of so many keys.
        """
        store = cls(codec)
        for name, (timer, records) in _joined(codec, entries).items():
            if records[-1].data:
                size = sum(len(record.data) + _HEAD for record in records)
                store._groups.setdefault(_group(name), {})[name] = StoredKey(timer, records, size)
        store._settle(store._groups)
        if len(store) != keys:
            raise damaged("metadata", f"it lists {keys:,} keys, and the log has {len(store):,}")
        store.size = sum(key.size for _, key in store.items())
        store.memory = store.size + _OBJECTS * len(store)
        return store

    def due(self, at: Sequence[int], *, is_signalled: bool) -> list[bytes]:
        """Return the names of the keys with work.

        Args:
            at: The progress, as `KeyTimer.is_reached` takes it.
            is_signalled: True if every key has work, whatever its timer says.
        """
        found: list[bytes] = []
        for group, timer in self._timers.items():
            if is_signalled or timer.is_reached(*at):
                for name, key in self._groups[group].items():
                    if is_signalled or key.timer.is_reached(*at):
                        found.append(name)
        return found

    def get(self, name: bytes) -> StoredKey | None:
        """Return the state of a key; None if it has none."""
        return self._groups.get(_group(name), {}).get(name)

    def put(self, name: bytes, timer: KeyTimer, data: bytes, state: KeyState, *, is_whole: bool) -> bool:
        """Append changes to a key's records, or replace them all; return True if the decoded state is kept."""
        known = self._take(name)
        record = Record(self.number, is_whole, data)
        size, records = len(data) + _HEAD, [record]
        if known is not None and not is_whole:
            size, records = size + known.size, [*known.records, record]
        key = StoredKey(timer, records, size)
        if size >= LARGE:
            key.state = state
            self.memory += DECODED * size
        self.size += size
        self.memory += size + _OBJECTS
        self._groups.setdefault(_group(name), {})[name] = key
        self._written[name] = timer, record
        return key.state is not None

    def remove(self, name: bytes) -> None:
        """Forget a key, if it is known."""
        if self._take(name) is not None:
            self._written[name] = NEVER, Record(self.number, True, b"")

    def _take(self, name: bytes) -> StoredKey | None:
        """Take a key out of its group."""
        key = self._groups.get(_group(name), {}).pop(name, None)
        if key is not None:
            size = key.size
            self.size -= size
            self.memory -= _OBJECTS + size + (0 if key.state is None else DECODED * size)
        return key

    def forget_decoded(self) -> None:
        """Keep bytes alone."""
        for _, key in self.items():
            key.state = None
        self.memory = self.size + _OBJECTS * len(self)

    def write(self) -> list[Entry]:
        """Return the records since the last call as entries of a few megabytes."""
        if not self._written:
            return []
        self._settle({_group(name) for name in self._written})
        written, self._written = self._written, {}
        return self._entries([(name, timer, (record,)) for name, (timer, record) in written.items()])

    def whole(self) -> list[Entry]:
        """Return all records that are not replaced, as entries."""
        return self._entries((name, key.timer, key.records) for name, key in sorted(self.items(), key=_NAME))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, in as few as possible."""
        del first_live  # keys come to an end one by one
        joined = sorted(_joined(self._codec, entries).items(), key=_NAME)
        return self._entries((name, timer, records) for name, (timer, records) in joined)

    def _settle(self, groups: Iterable[int]) -> None:
        """Bring the timers of some groups, and that of all keys, up to date; forget the groups without keys."""
        for group in groups:
            if self._groups[group]:
                self._timers[group] = soonest([key.timer for key in self._groups[group].values()])
            else:
                del self._groups[group]
                self._timers.pop(group, None)
        self.timer = soonest(self._timers.values())

    def _entries(self, keys: Iterable[tuple[bytes, KeyTimer, Sequence[Record]]]) -> list[Entry]:
        """Return records as entries of a few megabytes, column by column."""
        entries: list[Entry] = []
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        names, timers, counts, numbers, wholes, parts = columns
        size = 0
        for name, timer, records in keys:
            names.append(name)
            timers.append(timer.to_data())
            counts.append(len(records))
            for number, is_whole, data in records:
                numbers.append(number)
                wholes.append(is_whole)
                parts.append(data)
                size += len(data) + _HEAD
            if size >= MOST_BYTES:
                entries.append(Entry(0, INFINITY, self._codec.pack(list(columns))))
                size = 0
                for column in columns:
                    column.clear()
        return [*entries, Entry(0, INFINITY, self._codec.pack(list(columns)))] if names else entries


def _group(name: bytes) -> int:
    return hash(name) % KEY_GROUPS


def _joined(codec: Codec, entries: Iterable[StoredEntry]) -> dict[bytes, tuple[KeyTimer, list[Record]]]:
    """Return the timer of each key and its records in order, without those that a whole one among them replaces."""
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
            last = KeyTimer(*timer) if some[-1] > known[1][-1] else known[0]
            some = sorted([*known[1], *some])
            whole = max((place for place, record in enumerate(some) if record.is_whole), default=0)
            found[name] = last, some[whole:]
    return found
