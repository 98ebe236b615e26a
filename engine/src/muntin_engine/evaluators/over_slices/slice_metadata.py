"""The ledger of a bucket that is evaluated over slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin_engine.core.changes import Progress
from muntin_engine.state.bucket_metadata import SLICES, open_ledger
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Lineage
from muntin_engine.state.editions import Edition


@dataclass
class SliceLedger:
    """What such a bucket reads first and writes last.

    Attributes:
        lineage: What the state depends on; a query that differs must not read it.
        editions: The editions of the query's modules that wrote the state, the present one last.
        progress: How far the input is.
        tracked: What the progress policy keeps.
        journal: The journal's own data.
        version: Names this very state: random, written along with it, and never used twice. Decoded state in the memory
            of a worker is the same if, and only if, it has the same version.
    """

    lineage: Lineage
    editions: Sequence[Edition]
    progress: Progress = field(default_factory=Progress)
    tracked: Sequence[Any] = ()
    journal: Sequence[Any] = (0, ())
    version: bytes = b""

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the ledger as bytes."""
        progress, tracked, journal = self.progress.to_data(), list(self.tracked), list(self.journal)
        identity, editions = dict(self.lineage.identity), [edition.to_data() for edition in self.editions]
        return codec.pack([SLICES, identity, editions, progress, tracked, journal, self.version])

    @classmethod
    def from_bytes(cls, data: bytes | None, lineage: Lineage, codec: Codec) -> SliceLedger:
        """Return the ledger that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(lineage, lineage.editions(()))
        editions, progress, tracked, journal, version = open_ledger(codec.unpack(data), SLICES, lineage)
        return cls(lineage, lineage.editions(editions), Progress(*progress), tracked, journal, version)
