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
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from muntin import INFINITY
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.keyed.tick_heap import TickHeap
from muntin_engine.state.bucket_state import NO_TIMER, BucketState, Due, KeyTimer, soonest
from muntin_engine.state.cells import damaged
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import FULL_ENTRY, Entry, LogEntry

LARGE: Final = 1024
"""The size in bytes of a large key. Changes of a large key are appended, and its decoded state is cached while memory
allows; a smaller key is written whole each time."""

FULL_RECORDS: Final = 256 * 2**10
"""The bytes of a log entry from which on it is not merged any more. Merged records take as many bytes as before, unlike
merged partial states: it only makes fewer entries of many small ones."""

MOST_RECORDS: Final = 8
"""Rows are appended to a key that has fewer records; one that has more is written whole, with a window that closes."""

_RECORD_OVERHEAD: Final = 16
"""The bytes of a record besides its data, roughly."""

_MEMORY_PER_KEY: Final = 512
"""The memory of a key with one record besides its data in bytes, roughly."""

_MEMORY_PER_RECORD: Final = 128
"""The memory of each further record besides its data in bytes, roughly."""

_TIMER_FIELDS: Final = range(len(KeyTimer._fields))
_DUE_FIELDS: Final = tuple(map(KeyTimer._fields.index, Due._fields))
"""The fields of a timer that make a key due, in the order of those of `Due`."""

_REBUILD_FACTOR: Final = 2
"""The index of timers is rebuilt once it has over so many times the entries that all keys need at most."""

_by_name: Final = itemgetter(0)
_by_batch: Final = attrgetter("batch")


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
        batch: The number of the batch that wrote the record.
        event_count: None if the record holds changes. A whole record, which replaces all records before it, has the
            number of events, or 0 if the state keeps more than events.
        data: The state, or its changes, as bytes; empty if the key has no state any more.
    """

    batch: int
    event_count: int | None
    data: bytes

    @property
    def is_whole(self) -> bool:
        """True if the record holds a whole state, and not changes of one."""
        return self.event_count is not None


@dataclass(slots=True)
class KeyRecords(Generic[StateT]):
    """The state of a key: its records, and of a large key their decoded state.

    Attributes:
        timer: The timer of the key.
        records: The whole record, and the records of changes after it.
        size: The size of the records in bytes.
        state: The decoded state; None if it is not cached.
        decoded_size: The memory of the decoded state in bytes, roughly; 0 if it is not cached.
    """

    timer: KeyTimer
    records: list[Record]
    size: int
    state: StateT | None = None
    decoded_size: int = 0

    @property
    def has_few_rows(self) -> bool:
        """True if the state is small and keeps events alone, so that rows may be appended as they came."""
        return self.size < LARGE and bool(self.records[0].event_count)

    def appendable(self, event_count: int) -> int:
        """Return the bytes of changes that may still be appended; 0 or less if the state is to be written whole again.

        All records together may take twice the bytes that the state would take if it were written whole now. These are
        estimated from the last whole record, by its bytes per event. So a key that only gains events is not written
        whole again: its records would not become smaller.

        Args:
            event_count: The number of events now; 0 if the state keeps more than events.
        """
        whole = self.records[0]
        last = self.records[-1]
        whole_size = len(whole.data)
        if whole_size < LARGE:
            return 0  # a small state is written whole each time
        estimated_size = whole_size
        if event_count and whole.event_count:
            estimated_size = whole_size * event_count // whole.event_count
        appendable = 2 * estimated_size - self.size
        # The next changes are likely to be as large as the last ones: they are encoded only if they are likely to fit.
        if last is not whole and len(last.data) > appendable:
            return 0
        return appendable


class TimerIndex:
    """Keys that have timers: for each field of a timer the keys by its value.

    Cost: a constant for each key that gets a timer or is due, and logarithmic in the number of distinct values for each
    of these.
    """

    def __init__(self, keys: Mapping[bytes, KeyRecords[Any]]) -> None:
        """Index the timers of keys.

        Args:
            keys: The records of each key by its encoded name. The index keeps this mapping, and reads the present
                timers of keys from it.
        """
        self._keys = keys
        self._heaps = self._new_heaps()
        self.update(keys)

    def update(self, changed_keys: Collection[bytes]) -> None:
        """Enter the new timers of changed keys, some of which may be gone."""
        keys = self._keys
        # Most entries are outdated if there are over twice as many as all keys need: then all are entered anew.
        most_needed = len(_TIMER_FIELDS) * (len(keys) + len(changed_keys))
        if sum(map(len, self._heaps)) > _REBUILD_FACTOR * most_needed:
            self._heaps = self._new_heaps()
            changed_keys = keys

        # Many keys have equal timers: these are entered together.
        names_by_timer: dict[KeyTimer, list[bytes]] = {}
        for name in changed_keys:
            if name in keys:
                names_by_timer.setdefault(keys[name].timer, []).append(name)
        for timer, names in names_by_timer.items():
            for value, heap in zip(timer, self._heaps, strict=True):
                if value != INFINITY:  # at infinity, the field never makes the key due
                    heap.enter(value, names)

    def take_due(self, due: Due) -> set[bytes]:
        """Remove the keys that are due from the index, and return them; `update` enters them again.

        Args:
            due: The progress that timers are compared with. It is not yet that of the end of the input: values of
                `INFINITY`, which only the end reaches, are not in the index.
        """
        due_keys: set[bytes] = set()
        for field, limit in zip(_DUE_FIELDS, due, strict=True):
            due_keys.update(self._heaps[field].take_until(limit))
        return due_keys

    def soonest(self) -> KeyTimer:
        """Return a timer that has the smallest value of any key in each field."""
        values: list[int] = []
        for heap in self._heaps:
            least = heap.least()
            values.append(INFINITY if least is None else least)
        return KeyTimer(*values)

    def _new_heaps(self) -> list[TickHeap[bytes]]:
        """Return a heap without entries for each field of a timer."""
        return [TickHeap(_field_reader(self._keys, field)) for field in _TIMER_FIELDS]


def _field_reader(keys: Mapping[bytes, KeyRecords[Any]], field: int) -> Callable[[bytes], int]:
    """Return a function that returns the present value of a field of a key's timer; `INFINITY` if the key is gone."""

    def value_of(name: bytes) -> int:
        """Return the present value of the field."""
        key_records = keys.get(name)
        return INFINITY if key_records is None else key_records.timer[field]

    return value_of


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
        decoded_size: The memory of decoded states in bytes, roughly.
        timer: The soonest timer of all keys, as of the last `write`.
        batch: The number of this batch, which its records get. It is larger than those of all earlier batches.
    """

    def __init__(self, codec: Codec) -> None:
        """Open a store without keys, whose states a codec will encode."""
        self.size = 0
        self.decoded_size = 0
        self.batch = 0  # until `open_store` sets it, in each batch
        self.timer = NO_TIMER
        self._codec = codec
        self._keys: dict[bytes, KeyRecords[StateT]] = {}
        self._record_count = 0
        self._timers = TimerIndex(self._keys)
        self._unwritten: dict[bytes, Record] = {}  # the records that the log does not have yet
        self._decoded_keys: dict[bytes, None] = {}  # the keys whose state is decoded, in the order of their last write
        self._equal_timers: dict[KeyTimer, KeyTimer] = {}  # keys with equal timers share one object

    def __len__(self) -> int:
        return len(self._keys)

    def items(self) -> ItemsView[bytes, KeyRecords[StateT]]:
        """Return all encoded keys with their records."""
        return self._keys.items()

    @classmethod
    def of(cls, codec: Codec, entries: Iterable[LogEntry], key_count: int) -> KeyStore[StateT]:
        """Rebuild a store from the entries of its log.

        Args:
            codec: Decodes the entries.
            entries: All entries of the log.
            key_count: The number of keys, as the metadata of the bucket has it.

        Raises:
            StateError: The log does not have as many keys as the metadata says.
        """
        store = cls(codec)
        equal_timers: dict[KeyTimer, KeyTimer] = {}  # as in `_equal_timers`, which a write empties
        for name, (timer, records) in merge_records(codec, entries).items():
            if not records[-1].data:
                continue  # the key has no state any more
            size = sum(len(record.data) + _RECORD_OVERHEAD for record in records)
            shared_timer = equal_timers.setdefault(timer, timer)
            store._keys[name] = KeyRecords(shared_timer, records, size)
        store._timers.update(store._keys)  # enters the timers of these keys
        store.timer = store._timers.soonest()
        if len(store) != key_count:
            raise damaged("metadata", f"it lists {key_count:,} keys, and the log has {len(store):,}")
        store.size = sum(key.size for _, key in store.items())
        store._record_count = sum(len(key.records) for _, key in store.items())
        return store

    @property
    def memory(self) -> int:
        """The memory of the records and of decoded states in bytes, roughly."""
        key_count = len(self)
        further_records = self._record_count - key_count
        return self.size + _MEMORY_PER_KEY * key_count + _MEMORY_PER_RECORD * further_records + self.decoded_size

    def take_due(self, due: Due, *, is_signalled: bool) -> AbstractSet[bytes]:
        """Return the encoded keys whose timers are due; the caller has to `put` or `remove` each of them in this batch.

        Args:
            due: The progress that timers are compared with.
            is_signalled: True to return all keys, whatever their timers say.
        """
        if is_signalled or max(due) >= INFINITY:  # the end of the input makes all keys due
            return self._keys.keys()
        return self._timers.take_due(due)

    def get(self, name: bytes, decode: Decode[StateT], serializer: StateSerializer, key: object) -> StateT | None:
        """Return the state of a key, decoded; None if the key has none.

        Args:
            name: The key, encoded.
            decode: Makes a state from records, if it is not cached.
            serializer: Decodes the states of modules.
            key: The key itself, for errors.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        key_records = self._keys.get(name)
        if key_records is None:
            return None
        if key_records.state is not None:
            return key_records.state
        state = decode([self._codec.unpack(record.data) for record in key_records.records], serializer, key)
        if key_records.size >= LARGE:
            state.track()  # so that `put` can append its changes
        return state

    def find(self, name: bytes) -> KeyRecords[StateT] | None:
        """Return the records of a key; None if it has no state."""
        return self._keys.get(name)

    def append(self, name: bytes, timer: KeyTimer, row_count: int, data: bytes) -> None:
        """Append a record of rows to a key that `has_few_rows`, or begin a key with them.

        Args:
            name: The key, encoded.
            timer: The timer that the key would have if it kept these rows alone.
            row_count: The number of rows.
            data: The rows, encoded.
        """
        key_records = self._keys.get(name)
        size = len(data) + _RECORD_OVERHEAD
        if key_records is None:
            record = Record(self.batch, event_count=row_count, data=data)  # the first rows are a whole state
            shared_timer = self._equal_timers.setdefault(timer, timer)
            self._keys[name] = KeyRecords(shared_timer, [record], size)
        else:
            record = Record(self.batch, event_count=None, data=data)
            if key_records.timer != timer:
                timer = soonest((key_records.timer, timer))
                key_records.timer = self._equal_timers.setdefault(timer, timer)
            key_records.records.append(record)
            key_records.size += size
        self.size += size
        self._record_count += 1
        self._unwritten[name] = record

    def put(self, name: bytes, timer: KeyTimer, state: StateT, serializer: StateSerializer, key: object) -> None:
        """Write the state of a key: append its changes if there is room for them, or else write it whole.

        The state of a large key stays in memory, decoded.

        Args:
            name: The key, encoded.
            timer: The timer of the key.
            state: The state of the key.
            serializer: Encodes the states of modules.
            key: The key itself, for errors.

        Raises:
            StateError: The state holds a value that cannot be stored.
        """
        previous = self._take_out(name)

        # A state that does not track its changes has none to append. `plain_count` is 0 if a state keeps more than
        # events, as their number then says nothing about its size.
        event_count = state.plain_count
        appendable = 0
        if previous is not None and state.tracks:
            appendable = previous.appendable(event_count)
        changes = b""
        if appendable > 0:
            changes = self._codec.pack(state.to_data(serializer, key, is_whole=False))

        if previous is not None and 0 < len(changes) <= appendable:
            record = Record(self.batch, event_count=None, data=changes)
            records = previous.records
            size = previous.size
        else:
            whole_state = self._codec.pack(state.to_data(serializer, key))
            record = Record(self.batch, event_count, whole_state)
            records = []
            size = 0
        records.append(record)
        size += len(record.data) + _RECORD_OVERHEAD

        shared_timer = self._equal_timers.setdefault(timer, timer)
        key_records: KeyRecords[StateT] = KeyRecords(shared_timer, records, size)
        if size >= LARGE:
            state.track()
            key_records.state = state
            key_records.decoded_size = state.memory(size)
            self._decoded_keys[name] = None
        self.size += size
        self.decoded_size += key_records.decoded_size
        self._record_count += len(records)
        self._keys[name] = key_records
        self._unwritten[name] = record

    def remove(self, name: bytes) -> None:
        """Remove a key, if it has a state; the log gets an empty record, which replaces those before it."""
        if self._take_out(name) is not None:
            self._unwritten[name] = Record(self.batch, event_count=0, data=b"")

    def _take_out(self, name: bytes) -> KeyRecords[StateT] | None:
        """Remove the records of a key from the store and from its totals, and return them; None if it has none."""
        key_records = self._keys.pop(name, None)
        if key_records is not None:
            self.size -= key_records.size
            self.decoded_size -= key_records.decoded_size
            self._record_count -= len(key_records.records)
            self._decoded_keys.pop(name, None)
        return key_records

    def forget_decoded(self, to_free: int) -> int:
        """Drop decoded states until so many bytes are free, or no decoded state is left; the records of keys stay.

        The states that were written longest ago are dropped first. So where each batch changes all keys, a batch has to
        decode only the keys for which there was no room.

        Args:
            to_free: The number of bytes; if it is 0 or less, no state is dropped.

        Returns:
            The number of bytes that are free now.
        """
        freed = 0
        if to_free <= 0:
            return freed
        for name in list(self._decoded_keys):
            if freed >= to_free:
                break
            key_records = self._keys[name]
            freed += key_records.decoded_size
            key_records.state = None
            key_records.decoded_size = 0
            del self._decoded_keys[name]
        self.decoded_size -= freed
        return freed

    def write(self) -> list[Entry]:
        """Return the records since the last call as log entries of a few megabytes, and update the soonest timer."""
        if not self._unwritten:
            return []
        records_by_name = self._unwritten
        self._unwritten = {}
        self._equal_timers = {}  # it would otherwise grow with the timers of all batches
        self._timers.update(records_by_name)
        self.timer = self._timers.soonest()
        return self._entries(
            _NamedRecords(name, self._timer_of(name), [record]) for name, record in records_by_name.items()
        )

    def whole(self) -> list[Entry]:
        """Return all live records as log entries."""
        in_order = sorted(self.items(), key=_by_name)
        return self._entries(
            _NamedRecords(name, key_records.timer, key_records.records) for name, key_records in in_order
        )

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible."""
        del first_live  # no part of an entry dies with time: the records of a key are live until later ones replace it
        in_order = sorted(merge_records(self._codec, entries).items(), key=_by_name)
        return self._entries(_NamedRecords(name, merged.timer, merged.records) for name, merged in in_order)

    def _timer_of(self, name: bytes) -> KeyTimer:
        """Return the timer of a key; `NO_TIMER` if it was removed."""
        key_records = self._keys.get(name)
        return NO_TIMER if key_records is None else key_records.timer

    def _entries(self, keys: Iterable[_NamedRecords]) -> list[Entry]:
        """Encode the records of keys as log entries of a few megabytes; `merge_records` reads them.

        An entry has three columns with a value for each key, and three with a value for each record.
        """
        entries: list[Entry] = []
        # Each of the six columns has a name too. They are filled for one entry, written, and emptied for the next.
        columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
        names, timers, record_counts, batches, event_counts, contents = columns
        size = 0
        for name, timer, records in keys:
            names.append(name)
            timers.append(timer.to_data())
            record_counts.append(len(records))
            for batch, event_count, data in records:
                batches.append(batch)
                event_counts.append(event_count)
                contents.append(data)
                size += len(data) + _RECORD_OVERHEAD
            if size >= FULL_ENTRY:
                entries.append(self._entry(columns))
                size = 0
                for column in columns:
                    column.clear()
        if names:
            entries.append(self._entry(columns))
        return entries

    def _entry(self, columns: Sequence[list[Any]]) -> Entry:
        """Encode columns as a log entry, which is live at every position: records of keys do not die with time."""
        return Entry(last=INFINITY, data=self._codec.pack(list(columns)))


def open_store(state: BucketState, codec: Codec) -> KeyStore[Any]:
    """Return the store of a bucket for a micro-batch, from the cache or from its log."""
    key_count = state.metadata.held.keys
    store = state.open(lambda entries: KeyStore[Any].of(codec, entries, key_count))
    # Every batch that changes a key appends an entry to the log, so this number grows from batch to batch.
    store.batch = state.log.serial + 1
    return store


def write_store(state: BucketState, store: KeyStore[Any]) -> None:
    """Write the records of a micro-batch to the log, and put the store into the cache."""
    state.log.append(store.write())
    state.metadata.timer = store.timer
    state.log.tidy(store, live_bytes=store.size, whole=store.whole, full_entry=FULL_RECORDS)
    cache_room = state.cache_room
    if cache_room is not None:
        store.forget_decoded(store.memory - cache_room)
    state.keep(store, store.memory)


def merge_records(codec: Codec, entries: Iterable[LogEntry]) -> dict[bytes, MergedRecords]:
    """Merge the records of log entries by key.

    Returns:
        The records of each key, by the encoded key: its last whole record, and the changes after that.
    """
    merged: dict[bytes, MergedRecords] = {}
    for entry in entries:
        names, timers, record_counts, *record_columns = codec.unpack(entry.data)
        entry_records = map(Record, *record_columns)  # of all keys of the entry, key by key
        for name, timer_data, record_count in zip(names, timers, record_counts, strict=True):
            records = list(islice(entry_records, record_count))
            timer = KeyTimer(*timer_data)
            other_records = merged.get(name)
            if other_records is None:
                merged[name] = MergedRecords(timer, records)
                continue

            # The numbers of batches say the order: a compacted entry may have records from before and from after those
            # of another entry.
            is_newer = records[-1].batch > other_records.records[-1].batch
            last_timer = timer if is_newer else other_records.timer
            in_order = sorted([*other_records.records, *records], key=_by_batch)

            # A whole record replaces all records before it.
            last_whole = 0
            for place, record in enumerate(in_order):
                if record.is_whole:
                    last_whole = place
            merged[name] = MergedRecords(last_timer, in_order[last_whole:])
    return merged
