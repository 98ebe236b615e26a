"""The ledger of a bucket: how far it is, and when which shelf of keys has something to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from muntin import INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.codec import Codec
from muntin_engine.errors import StateError, StateMismatchError

LAYOUT: Final = 1
"""Version of the layout of the state in a checkpoint."""


class Due(NamedTuple):
    """When a key, or a shelf of keys, must be looked at again, and how far its output is settled.

    Attributes:
        closing: The smallest punctuation at which a window closes or something can be forgotten.
        output: The smallest watermark (horizon, for eager output) at which a window comes into sight.
        bound: A tick below which the output does not change any more.
    """

    closing: int
    output: int
    bound: int

    def is_at(self, progress: Progress) -> bool:
        """True if there is something to do."""
        return self.closing <= progress.punctuation or self.output <= max(progress.watermark, progress.horizon)


NEVER: Final = Due(INFINITY, INFINITY, INFINITY)
"""Nothing to do, and nothing to say about the output."""


def earliest(dues: Iterable[Due]) -> Due:
    """Return the smallest of each."""
    closing, output, bound = NEVER
    for due in dues:
        closing, output, bound = min(closing, due.closing), min(output, due.output), min(bound, due.bound)
    return Due(closing, output, bound)


class Ledger:
    """What a bucket reads first and writes last.

    Attributes:
        identity: What the state depends on; a query that differs must not read it.
        progress: How far the input is.
        dues: By the number of a shelf that is not empty, when it must be looked at.
    """

    def __init__(self, identity: Mapping[str, Any]) -> None:
        self.identity = dict(identity)
        self.progress = Progress()
        self.dues: dict[int, Due] = {}

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the ledger as bytes."""
        progress = [self.progress.punctuation, self.progress.horizon, self.progress.newest]
        return codec.pack([LAYOUT, self.identity, progress, {shelf: list(due) for shelf, due in self.dues.items()}])

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
        if layout != LAYOUT:
            raise StateError(f"the checkpoint has state layout {layout}, this Muntin reads {LAYOUT}; use the Muntin that wrote it")
        stored, progress, dues = rest
        _check_identity(stored, ledger.identity)
        ledger.progress = Progress(*progress)
        ledger.dues = {shelf: Due(*due) for shelf, due in dues.items()}
        return ledger


def _check_identity(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    names = [name for name in {**stored, **wanted} if stored.get(name) != wanted.get(name)]
    if names:
        raise StateMismatchError({name: (stored.get(name), wanted.get(name)) for name in names})
