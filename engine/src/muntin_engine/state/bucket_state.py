"""The state of a bucket: its metadata, its log, and the store that a worker keeps of them between micro-batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from muntin import EARLIEST, INFINITY
from muntin_engine.errors import StateError
from muntin_engine.state.cells import METADATA, Cells, HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.state.log import StateLog, StoredEntry
from muntin_engine.state.schema_versions import SchemaVersion

Store = TypeVar("Store")

LAYOUT: Final = 30
"""Version of the layout of the state in a checkpoint."""


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

    def is_reached(self, at: Due) -> bool:
        """True if there is work at some progress."""
        return (
            self.closing <= at.closing
            or self.visibility <= at.visibility
            or self.clock <= at.clock
            or self.max_event_time <= at.max_event_time
            or self.right_closing <= at.right_closing
        )

    def to_data(self) -> list[int]:
        """Return it as plain data, shorter for most keys, from which `KeyTimer(*data)` makes it again."""
        return list(self if self[3:] != (INFINITY,) * 3 else self[:3])


class Due(NamedTuple):
    """The progress by which timers are due: each field of a timer that is no larger than that of its name here."""

    closing: int
    visibility: int = EARLIEST
    clock: int = EARLIEST
    max_event_time: int = EARLIEST
    right_closing: int = EARLIEST


NO_TIMER: Final = KeyTimer(INFINITY, INFINITY, INFINITY)
"""The timer of a key that has work only when it gets rows."""


def soonest(timers: Iterable[KeyTimer]) -> KeyTimer:
    """Return the smallest value of each field.

    Example:
        >>> soonest([KeyTimer(3, 5, 0), KeyTimer(4, 2, 1)])[:3]
        (3, 2, 0)
    """
    found = list(timers)
    return KeyTimer(*map(min, zip(*found, strict=True))) if found else NO_TIMER


@dataclass
class BucketMetadata:
    """The metadata of a bucket; it is read first and written last.

    Attributes:
        compatibility: The identity of the query; another query must not read the state.
        schema_versions: The schema versions of the query's modules that wrote the state, the present one last.
        tracked: The progress of each input, with the state of its progress policy.
        log: The data of the bucket's log.
        version: A random name of this very state, written along with it and never used twice. Decoded state in the
            memory of a worker is the same if, and only if, it has the same version.
        timer: The soonest timer of its keys, where keys have timers.
        held: The sizes of its keys' state, where each key has its own.
        serial: The largest serial number of a forgotten key. A key that comes back starts above it, so that it never
            gives two output events the same id.
        patterns: The patterns of keys that are complete beyond the watermark, each with the time.
    """

    compatibility: Compatibility
    schema_versions: list[SchemaVersion]
    tracked: Sequence[Any] = ()
    log: Sequence[Any] = (0, ())
    version: bytes = b""
    timer: KeyTimer = NO_TIMER
    held: HeldState = HeldState()  # noqa: RUF009  # it is a tuple
    serial: int = 0
    patterns: Sequence[Any] = ()

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the metadata as bytes."""
        identity = dict(self.compatibility.identity)
        schema_versions = [version.to_data() for version in self.schema_versions]
        keys = [self.timer.to_data(), list(self.held), self.serial, list(self.patterns)]
        tracked, log = list(self.tracked), list(self.log)
        return codec.pack([LAYOUT, identity, schema_versions, tracked, log, self.version, keys])

    @classmethod
    def from_bytes(cls, data: bytes | None, compatibility: Compatibility, codec: Codec) -> BucketMetadata:
        """Return the metadata that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(compatibility, compatibility.schema_versions(()))
        layout, identity, *rest = codec.unpack(data)
        if layout != LAYOUT:
            raise _unreadable(layout)
        stored, tracked, log, version, (timer, held, serial, patterns) = rest
        schema_versions = [SchemaVersion(*schema_version) for schema_version in stored]
        if identity != compatibility.identity:
            compatibility.check(identity)
        if identity != compatibility.identity or len(schema_versions) > 1:
            schema_versions = compatibility.schema_versions(schema_versions)
        soon, sizes = KeyTimer(*timer), HeldState(*held)
        return cls(compatibility, schema_versions, tracked, log, version, soon, sizes, serial, patterns)


def query_of(data: bytes, codec: Codec) -> tuple[QueryIdentity, Sequence[Any]]:
    """Return the identity of the query that wrote a bucket, and the data of its progress, from its metadata.

    Raises:
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    found: Sequence[Any] = codec.unpack(data)
    if found[0] != LAYOUT:
        raise _unreadable(found[0])
    return found[1], found[3]


def _unreadable(layout: object) -> StateError:
    return StateError(
        f"the checkpoint has state layout {layout!r}, this query reads {LAYOUT!r}\n"
        "  use the Muntin that wrote it, or a new checkpoint"
    )


class BucketState:
    """The state of a bucket in one micro-batch.

    What a micro-batch changes is written at its end: a module that fails before has changed nothing.

    Attributes:
        cells: Where it lies.
        metadata: Its metadata.
        log: Its log.
    """

    def __init__(  # what a state is made of
        self,
        cells: Cells,
        codec: Codec,
        compatibility: Compatibility,
        kept: KeptStores | None = None,
        name: Hashable = None,
    ) -> None:
        """Read the metadata.

        Args:
            cells: Where the state lies.
            codec: How the metadata is written.
            compatibility: What the state depends on; a query that differs in it cannot read the state, but for
                versions that its modules go on from.
            kept: Where this process keeps stores between batches; None to keep none.
            name: Names the bucket among all that this process may ever see; of a tuple, the first part names the query.

        Raises:
            StateMismatchError: Another query wrote the state.
        """
        self.cells = cells
        self._codec = codec
        self._kept = kept
        self._name = name
        self.metadata = BucketMetadata.from_bytes(cells.get(METADATA), compatibility, codec)
        self.log = StateLog(cells, self.metadata.log, self.metadata.schema_versions)

    def open(self, read: Callable[[Sequence[StoredEntry]], Store]) -> Store:
        """Return the store that this process kept, or the one that a function makes of the entries of the log."""
        kept: Store | None = None if self._kept is None else self._kept.take(self._name, self.metadata.version)
        return read(self.log.read()) if kept is None else kept

    def keep(self, store: object, size: int) -> bool:
        """Keep a store of some bytes for the next micro-batch; return False if there is no room for it.

        The state gets a new version, which nothing but this store has.
        """
        if self._kept is None:
            return True
        self.metadata.version = os.urandom(16)
        return self._kept.put(self._name, self.metadata.version, store, size)

    def write(self) -> int:
        """Write the metadata, which tell the micro-batch that was last; return the bytes of the state."""
        self.metadata.log, size = self.log.to_data(), self.log.size
        data = self.metadata.to_bytes(self._codec)
        self.cells.put(METADATA, data)
        return size + len(data)
