"""The ledger of a bucket: how far it is, and when which shelf of keys has something to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.codec import Codec
from muntin_engine.core.held import Held
from muntin_engine.errors import StateError, StateMismatchError

LAYOUT: Final = 2
"""Version of the layout of the state in a checkpoint."""


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
        identity: What the state depends on; a query that differs must not read it.
        progress: How far the input is.
        tracked: What the progress policy keeps.
        dues: By the number of a shelf that is not empty, when it must be looked at.
        held: By the number of a shelf that is not empty, what it holds.
        serial: The largest number that a forgotten key gave out. A key that comes back starts above it, so that it
            never names two output events alike.
    """

    def __init__(self, identity: Mapping[str, Any]) -> None:
        self.identity = dict(identity)
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
        return codec.pack([LAYOUT, self.identity, progress, tracked, dues, self.serial, held])

    @classmethod
    def from_bytes(cls, data: bytes | None, identity: Mapping[str, Any], codec: Codec) -> Ledger:
        """Return the ledger that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        ledger = cls(identity)
        if data is None:
            return ledger
        layout, *rest = codec.unpack(data)
        check_layout(layout, LAYOUT)
        stored, progress, ledger.tracked, dues, ledger.serial, held = rest
        check_identity(stored, ledger.identity)
        ledger.progress = Progress(*progress)
        ledger.dues = {shelf: Due(*due) for shelf, *due in dues}
        ledger.held = {shelf: Held(*part) for shelf, *part in held}
        return ledger


def check_layout(stored: object, wanted: object) -> None:
    """Raise unless a state has the layout that is wanted.

    Raises:
        StateError: It has another.
    """
    if stored != wanted:
        raise StateError(
            f"the checkpoint has state layout {stored!r}, this query reads {wanted!r}\n"
            "  use the Muntin and the evaluator that wrote it, or a new checkpoint"
        )


def check_identity(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise unless a state was written by the query that wants it.

    Raises:
        StateMismatchError: The two differ.
    """
    names = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
    if names:
        raise StateMismatchError({name: (stored.get(name), wanted.get(name)) for name in names})
