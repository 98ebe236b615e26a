"""The ledger of a bucket that is evaluated over slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from muntin_engine.core.changes import Progress
from muntin_engine.core.codec import Codec
from muntin_engine.core.ledger import check_identity, check_layout

LAYOUT: Final = "slices 2"
"""Version of the layout of the state in a checkpoint."""


@dataclass
class SliceLedger:
    """What such a bucket reads first and writes last.

    Attributes:
        identity: What the state depends on; a query that differs must not read it.
        progress: How far the input is.
        tracked: What the progress policy keeps.
        journal: The journal's own data.
        version: Names this very state: random, written along with it, and never used twice. Decoded state in the memory
            of a worker is the same if, and only if, it has the same version.
    """

    identity: Mapping[str, Any]
    progress: Progress = field(default_factory=Progress)
    tracked: Sequence[Any] = ()
    journal: Sequence[Any] = (0, ())
    version: bytes = b""

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the ledger as bytes."""
        progress, tracked, journal = self.progress.to_data(), list(self.tracked), list(self.journal)
        return codec.pack([LAYOUT, dict(self.identity), progress, tracked, journal, self.version])

    @classmethod
    def from_bytes(cls, data: bytes | None, identity: Mapping[str, Any], codec: Codec) -> SliceLedger:
        """Return the ledger that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(identity)
        layout, *rest = codec.unpack(data)
        check_layout(layout, LAYOUT)
        stored, progress, tracked, journal, version = rest
        check_identity(stored, identity)
        return cls(identity, Progress(*progress), tracked, journal, version)
