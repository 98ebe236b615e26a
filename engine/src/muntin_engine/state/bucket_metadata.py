"""The metadata of a bucket: its progress, and the timer of each key group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.errors import StateError
from muntin_engine.state.cells import HeldState
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility, SchemaVersion
from muntin_engine.state.query_identity import QueryIdentity

LAYOUT: Final = 4
"""Version of the layout of the state in a checkpoint."""

KEY_GROUPS: Final = 64
"""How many cells the keys of a bucket are spread over, where they have cells of their own. Part of the layout."""

SLICES: Final = "slices 3"
"""Version of the layout of the state over slices."""

LAYOUTS: Final = (LAYOUT, SLICES)
"""The layouts of this version of Muntin."""


class KeyTimer(NamedTuple):
    """The timer of a key, or of a key group: the progress at which it has work, and its output watermark.

    A tick may be earlier than necessary, never later.

    Attributes:
        closing: The smallest watermark at which a window closes or something can be forgotten.
        visibility: The smallest max event time (horizon, for eager output) at which a window becomes visible.
        output_watermark: The least time of an output that the stored state may still make or change.
        clock: The smallest reading of the clock at which a trigger wakes up.
        max_event_time: The smallest max event time at which a trigger wakes up.
    """

    closing: int
    visibility: int
    output_watermark: int
    clock: int = INFINITY
    max_event_time: int = INFINITY

    def is_reached(
        self, watermark: int, visibility: int, clock: int = EARLIEST, max_event_time: int = EARLIEST
    ) -> bool:
        """True if there is work at some progress."""
        return (
            self.closing <= watermark
            or self.visibility <= visibility
            or self.clock <= clock
            or self.max_event_time <= max_event_time
        )

    def to_data(self) -> list[int]:
        """Return it as plain data, shorter where no trigger waits, from which `KeyTimer(*data)` makes it again."""
        return list(self if self[3:] != (INFINITY, INFINITY) else self[:3])


_NEVER: Final = KeyTimer(INFINITY, INFINITY, INFINITY)


def soonest(timers: Iterable[KeyTimer]) -> KeyTimer:
    """Return the smallest of each.

    Example:
        >>> soonest([KeyTimer(3, 5, 0), KeyTimer(4, 2, 1)])[:3]
        (3, 2, 0)
    """
    found = list(timers)
    return KeyTimer(*map(min, zip(*found, strict=True))) if found else _NEVER


class BucketMetadata:
    """The metadata of a bucket; it is read first and written last.

    Attributes:
        compatibility: The identity of the query; another query must not read the state.
        schema_versions: The schema versions of the query's modules that wrote the state, the present one last.
        progress: The progress of the input.
        tracked: The state of the progress policy.
        timers: The timer of each key group that is not empty, by its number.
        held: The sizes of each key group that is not empty, by its number.
        serial: The largest serial number of a forgotten key. A key that comes back starts above it, so that it never
            gives two output events the same id.
    """

    def __init__(self, compatibility: Compatibility, schema_versions: Sequence[Sequence[Any]] = ()) -> None:
        self.compatibility = compatibility
        self.schema_versions: list[SchemaVersion] = compatibility.schema_versions(schema_versions)
        self.progress = Progress()
        self.tracked: Sequence[Any] = ()
        self.timers: dict[int, KeyTimer] = {}
        self.held: dict[int, HeldState] = {}
        self.serial = 0

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the metadata as bytes."""
        timers = [[key_group, *timer.to_data()] for key_group, timer in sorted(self.timers.items())]
        progress, tracked = self.progress.to_data(), list(self.tracked)
        held = [[key_group, *part] for key_group, part in sorted(self.held.items())]
        identity, schema_versions = (
            dict(self.compatibility.identity),
            [schema_version.to_data() for schema_version in self.schema_versions],
        )
        return codec.pack([LAYOUT, identity, schema_versions, progress, tracked, timers, self.serial, held])

    @classmethod
    def from_bytes(cls, data: bytes | None, compatibility: Compatibility, codec: Codec) -> BucketMetadata:
        """Return the metadata that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(compatibility)
        schema_versions, *rest = open_metadata(codec.unpack(data), LAYOUT, compatibility)
        metadata = cls(compatibility, schema_versions)
        progress, metadata.tracked, timers, metadata.serial, held = rest
        metadata.progress = Progress(*progress)
        metadata.timers = {key_group: KeyTimer(*timer) for key_group, *timer in timers}
        metadata.held = {key_group: HeldState(*part) for key_group, *part in held}
        return metadata


def identity_of(data: bytes, codec: Codec) -> QueryIdentity:
    """Return the identity of the query that wrote a bucket, from its metadata, for any evaluator.

    Raises:
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    layout, identity, *_ = codec.unpack(data)
    if layout not in LAYOUTS:
        raise _unreadable(layout, " or ".join(map(repr, LAYOUTS)))
    found: QueryIdentity = identity
    return found


def open_metadata(data: Sequence[Any], layout: object, compatibility: Compatibility) -> list[Any]:
    """Check the layout and the identity in metadata of any evaluator, and return the rest.

    Args:
        data: The metadata as plain data.
        layout: The layout that is wanted.
        compatibility: Decides which states the query can continue from.

    Raises:
        StateMismatchError: Another query wrote it.
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    stored, identity, *rest = data
    if stored in LAYOUTS:
        compatibility.check(identity)
    if stored != layout:
        raise _unreadable(stored, repr(layout))
    return rest


def _unreadable(stored: object, wanted: str) -> StateError:
    return StateError(
        f"the checkpoint has state layout {stored!r}, this query reads {wanted}\n"
        "  use the Muntin and the evaluator that wrote it, or a new checkpoint"
    )
