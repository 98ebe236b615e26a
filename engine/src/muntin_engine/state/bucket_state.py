"""The state of a bucket: its metadata, its log, and the store of both in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from muntin import EARLIEST, INFINITY
from muntin_engine.errors import StateError
from muntin_engine.state.cells import METADATA, Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.log import LogEntry, StateLog
from muntin_engine.state.schema_versions import SchemaVersion
from muntin_engine.state.store_cache import StoreCache

Store = TypeVar("Store")

LAYOUT: Final = 32
"""Version of the layout of the state in a checkpoint."""


class _MetadataParts(NamedTuple):
    """The metadata of a bucket as its bytes have it, after the layout. The attributes are those of `BucketMetadata`.

    Attributes:
        identity: The identity of the query.
        schema_versions: The data of each schema version.
        progress: The progress of the inputs.
        log: The data of the log.
        version: The name of this very state.
        timer: The data of the timer.
        held: The data of the size.
        serial: The largest serial number of a forgotten key.
        patterns: The patterns of keys.
    """

    identity: QueryIdentity
    schema_versions: list[Any]
    progress: Sequence[Any]
    log: Sequence[Any]
    version: bytes
    timer: list[int]
    held: list[int]
    serial: int
    patterns: list[Any]


class KeyTimer(NamedTuple):
    """The timer of a key, or the soonest of many: the progress at which it has work, and its output watermark.

    Each may be earlier than necessary, never later.

    Attributes:
        closing: The smallest watermark at which a window closes or state can be dropped; of a join, that of the left
            input.
        visibility: The smallest max event time (horizon, for eager output) at which a window becomes visible.
        output_watermark: The tick before which the stored state emits and changes nothing.
        clock: The smallest clock reading at which a trigger is due.
        max_event_time: The smallest max event time at which a trigger is due.
        right_closing: The smallest watermark of the right input at which a join has work.
    """

    closing: int
    visibility: int
    output_watermark: int
    clock: int = INFINITY
    max_event_time: int = INFINITY
    right_closing: int = INFINITY

    def is_reached(self, due: Due) -> bool:
        """Return True if there is work at a progress."""
        return (
            self.closing <= due.closing
            or self.visibility <= due.visibility
            or self.clock <= due.clock
            or self.max_event_time <= due.max_event_time
            or self.right_closing <= due.right_closing
        )

    def to_data(self) -> list[int]:
        """Return the timer as plain data, from which `KeyTimer(*data)` makes it again.

        Most keys have none of the last three fields: their data leaves these out.
        """
        has_defaults = self[3:] == (INFINITY,) * 3
        return list(self[:3] if has_defaults else self)


class Due(NamedTuple):
    """The progress that timers are compared with: a key is due if a field of its timer is at most the field here."""

    closing: int
    visibility: int = EARLIEST
    clock: int = EARLIEST
    max_event_time: int = EARLIEST
    right_closing: int = EARLIEST


NO_TIMER: Final = KeyTimer(INFINITY, INFINITY, INFINITY)
"""The timer of a key that has work only when it gets rows."""


def soonest(timers: Iterable[KeyTimer]) -> KeyTimer:
    """Return a timer that has the smallest value of all timers in each field; `NO_TIMER` of no timers.

    Example:
        >>> soonest([KeyTimer(3, 5, 0), KeyTimer(4, 2, 1)])[:3]
        (3, 2, 0)
    """
    fields = list(zip(*timers, strict=True))
    if not fields:
        return NO_TIMER
    return KeyTimer(*map(min, fields))


class StateSize(NamedTuple):
    """The size of the state of a bucket, or of a part of one.

    Attributes:
        bytes: The bytes of its cells.
        keys: The number of keys with state.
        events: The number of their events.
        windows: The number of windows that have been emitted and may still change; of row windows, of partitions.
    """

    bytes: int = 0
    keys: int = 0
    events: int = 0
    windows: int = 0


@dataclass
class BucketMetadata:
    """The metadata of a bucket; it is read first and written last.

    Attributes:
        compatibility: The identity of the query; another query must not read the state.
        schema_versions: The schema versions of the query's modules that wrote the state, the present one last.
        progress: The data of the progress of the inputs: see `InputsProgress.to_data`.
        log: The data of the bucket's log.
        version: A random name of this very state, written along with it and never used twice. A store in the cache
            equals the state if, and only if, it has the same version.
        timer: The soonest timer of its keys, where keys have timers.
        held: The size of its keys' state, where each key has its own.
        serial: The largest serial number of a forgotten key. A key that comes back starts above it, so that it never
            gives two output events the same id.
        patterns: The patterns of keys that are complete beyond the watermark, each with the time.
    """

    compatibility: Compatibility
    schema_versions: list[SchemaVersion]
    progress: Sequence[Any] = ()
    log: Sequence[Any] = (0, ())
    version: bytes = b""
    timer: KeyTimer = NO_TIMER
    held: StateSize = StateSize()  # noqa: RUF009  # it is a tuple
    serial: int = 0
    patterns: Sequence[Any] = ()

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the metadata as bytes."""
        parts = _MetadataParts(
            identity=dict(self.compatibility.identity),
            schema_versions=[version.to_data() for version in self.schema_versions],
            progress=list(self.progress),
            log=list(self.log),
            version=self.version,
            timer=self.timer.to_data(),
            held=list(self.held),
            serial=self.serial,
            patterns=list(self.patterns),
        )
        return codec.pack([LAYOUT, *parts])

    @classmethod
    def from_bytes(cls, data: bytes | None, compatibility: Compatibility, codec: Codec) -> BucketMetadata:
        """Return the metadata that `to_bytes` wrote, or fresh metadata.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(compatibility, compatibility.schema_versions(()))
        parts = _unpack(data, codec)
        versions = [SchemaVersion(*schema_version) for schema_version in parts.schema_versions]
        is_other_query = parts.identity != compatibility.identity
        if is_other_query:
            compatibility.check(parts.identity)
        # The places of modules in each version are not stored: they are found anew, unless the only version is that of
        # the present query, of which no place is needed.
        if is_other_query or len(versions) > 1:
            versions = compatibility.schema_versions(versions)
        return cls(
            compatibility=compatibility,
            schema_versions=versions,
            progress=parts.progress,
            log=parts.log,
            version=parts.version,
            timer=KeyTimer(*parts.timer),
            held=StateSize(*parts.held),
            serial=parts.serial,
            patterns=parts.patterns,
        )


class BucketQuery(NamedTuple):
    """The query that wrote a bucket, and how far it got.

    Attributes:
        identity: The identity of the query.
        progress: The progress of its inputs, as `InputsProgress.from_data` takes it.
    """

    identity: QueryIdentity
    progress: Sequence[Any]


def query_and_progress(data: bytes, codec: Codec) -> BucketQuery:
    """Return the query that wrote a bucket, with its progress, from the metadata of the bucket.

    Raises:
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    parts = _unpack(data, codec)
    return BucketQuery(parts.identity, parts.progress)


def _unpack(data: bytes, codec: Codec) -> _MetadataParts:
    """Return the parts of metadata, after checking their layout."""
    layout, *parts = codec.unpack(data)
    if layout != LAYOUT:
        raise _unreadable(layout)
    return _MetadataParts(*parts)


def _unreadable(layout: object) -> StateError:
    """Return the error for a state of another layout."""
    return StateError(
        f"the checkpoint has state layout {layout!r}, this query reads {LAYOUT!r}\n"
        "  use the Muntin that wrote it, or a new checkpoint"
    )


class BucketState:
    """The state of a bucket in one micro-batch.

    What a micro-batch changes is written at its end: a module that fails before has changed nothing.

    Attributes:
        cells: The cells of the state.
        metadata: The metadata of the bucket.
        log: The log of the bucket.
    """

    def __init__(
        self,
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        cache: StoreCache | None = None,
        name: Hashable = None,
    ) -> None:
        """Read the metadata.

        Args:
            cells: The cells of the state.
            codec: The codec of the metadata.
            compatibility: The identity that the state depends on. A query with another identity cannot read the state,
                unless its modules continue from the versions in the state.
            cache: The cache of this process; None to read the log in each batch.
            name: The name of the bucket, unique among all buckets that this process may ever see. If it is a tuple, the
                first part names the query.

        Raises:
            StateMismatchError: Another query wrote the state.
        """
        self.cells = cells
        self._codec = codec
        self._cache = cache
        self._name = name
        self.metadata = BucketMetadata.from_bytes(cells.get(METADATA), compatibility, codec)
        self.log = StateLog(cells, self.metadata.log, self.metadata.schema_versions)

    def open(self, read: Callable[[Sequence[LogEntry]], Store]) -> Store:
        """Return the store of the bucket from the cache; if it is not there, read it from the log.

        Args:
            read: Makes the store of the entries of the log.
        """
        if self._cache is not None:
            store: Store | None = self._cache.take(self._name, self.metadata.version)
            if store is not None:
                return store
        return read(self.log.read())

    @property
    def cache_room(self) -> int | None:
        """The bytes of a store for which the cache has room; None without a cache, where no store is kept."""
        return None if self._cache is None else self._cache.room(self._name)

    def keep(self, store: object, size: int) -> None:
        """Put a store into the cache for the next micro-batch, if there is a cache and it has room.

        The state gets a new version, which nothing but this store has.

        Args:
            store: The store.
            size: The bytes of its data.
        """
        if self._cache is None:
            return
        self.metadata.version = os.urandom(16)
        self._cache.put(self._name, self.metadata.version, store, size)

    def write(self) -> int:
        """Write the metadata, with which the micro-batch takes effect; return the size of the state in bytes."""
        self.metadata.log = self.log.to_data()
        data = self.metadata.to_bytes(self._codec)
        self.cells.put(METADATA, data)
        return self.log.size + len(data)
