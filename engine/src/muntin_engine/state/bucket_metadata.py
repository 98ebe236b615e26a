"""The ledger of a bucket: how far it is, and when which shelf of keys has something to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.errors import StateError
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Lineage
from muntin_engine.state.editions import Edition
from muntin_engine.state.held import Held

LAYOUT: Final = 4
"""Version of the layout of the state in a checkpoint."""

SHELVES: Final = 64
"""How many cells the keys of a bucket are spread over, where they have cells of their own. Part of the layout."""

SLICES: Final = "slices 3"
"""Version of the layout of the state over slices."""

LAYOUTS: Final = (LAYOUT, SLICES)
"""The layouts of this version of Muntin."""


class Due(NamedTuple):
    """When a key, or a shelf of keys, must be looked at again, and how far its output is settled.

    A tick may be earlier than need be, never later.

    Attributes:
        closing: The smallest punctuation at which a window closes or something can be forgotten.
        sight: The smallest watermark (horizon, for eager output) at which a window comes into sight.
        bound: The least time of an output that what is stored may still make or change.
        clock: The smallest reading of the clock at which a trigger wants to be asked.
        watermark: The smallest watermark at which one does.
    """

    closing: int
    sight: int
    bound: int
    clock: int = INFINITY
    watermark: int = INFINITY

    def is_at(self, punctuation: int, sight: int, clock: int = EARLIEST, watermark: int = EARLIEST) -> bool:
        """True if there is something to do."""
        return self.closing <= punctuation or self.sight <= sight or self.clock <= clock or self.watermark <= watermark

    def to_data(self) -> list[int]:
        """Return it as plain data, shorter where no trigger waits, from which `Due(*data)` makes it again."""
        return list(self if self[3:] != (INFINITY, INFINITY) else self[:3])


_NEVER: Final = Due(INFINITY, INFINITY, INFINITY)


def soonest(dues: Iterable[Due]) -> Due:
    """Return the smallest of each.

    Example:
        >>> soonest([Due(3, 5, 0), Due(4, 2, 1)])[:3]
        (3, 2, 0)
    """
    found = list(dues)
    return Due(*map(min, zip(*found, strict=True))) if found else _NEVER


class Ledger:
    """What a bucket reads first and writes last.

    Attributes:
        lineage: What the state depends on; a query that differs must not read it.
        editions: The editions of the query's modules that wrote the state, the present one last.
        progress: How far the input is.
        tracked: What the progress policy keeps.
        dues: By the number of a shelf that is not empty, when it must be looked at.
        held: By the number of a shelf that is not empty, what it holds.
        serial: The largest number that a forgotten key gave out. A key that comes back starts above it, so that it
            never names two output events alike.
    """

    def __init__(self, lineage: Lineage, editions: Sequence[Sequence[Any]] = ()) -> None:
        self.lineage = lineage
        self.editions: list[Edition] = lineage.editions(editions)
        self.progress = Progress()
        self.tracked: Sequence[Any] = ()
        self.dues: dict[int, Due] = {}
        self.held: dict[int, Held] = {}
        self.serial = 0

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the ledger as bytes."""
        dues = [[shelf, *due.to_data()] for shelf, due in sorted(self.dues.items())]
        progress, tracked = self.progress.to_data(), list(self.tracked)
        held = [[shelf, *part] for shelf, part in sorted(self.held.items())]
        identity, editions = dict(self.lineage.identity), [edition.to_data() for edition in self.editions]
        return codec.pack([LAYOUT, identity, editions, progress, tracked, dues, self.serial, held])

    @classmethod
    def from_bytes(cls, data: bytes | None, lineage: Lineage, codec: Codec) -> Ledger:
        """Return the ledger that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(lineage)
        editions, *rest = open_ledger(codec.unpack(data), LAYOUT, lineage)
        ledger = cls(lineage, editions)
        progress, ledger.tracked, dues, ledger.serial, held = rest
        ledger.progress = Progress(*progress)
        ledger.dues = {shelf: Due(*due) for shelf, *due in dues}
        ledger.held = {shelf: Held(*part) for shelf, *part in held}
        return ledger


def identity_of(data: bytes, codec: Codec) -> dict[str, Any]:
    """Return what the state of a bucket depends on, from its ledger, of whatever evaluator.

    Raises:
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    layout, identity, *_ = codec.unpack(data)
    if layout not in LAYOUTS:
        raise _unreadable(layout, " or ".join(map(repr, LAYOUTS)))
    found: dict[str, Any] = identity
    return found


def open_ledger(data: Sequence[Any], layout: object, lineage: Lineage) -> list[Any]:
    """Return what a ledger of any evaluator holds behind its layout and what the state depends on.

    Args:
        data: The ledger as plain data.
        layout: The layout that is wanted.
        lineage: Says which states the query can go on with.

    Raises:
        StateMismatchError: Another query wrote it.
        StateError: Another version of Muntin wrote it, in a layout this one cannot read.
    """
    stored, identity, *rest = data
    if stored in LAYOUTS:
        lineage.check(identity)
    if stored != layout:
        raise _unreadable(stored, repr(layout))
    return rest


def _unreadable(stored: object, wanted: str) -> StateError:
    return StateError(
        f"the checkpoint has state layout {stored!r}, this query reads {wanted}\n"
        "  use the Muntin and the evaluator that wrote it, or a new checkpoint"
    )
