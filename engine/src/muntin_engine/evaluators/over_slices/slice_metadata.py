"""The metadata of a bucket that is evaluated over slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin import INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.state.bucket_metadata import SLICES, open_metadata
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility, SchemaVersion


@dataclass
class SliceMetadata:
    """The metadata of a bucket over slices; it is read first and written last.

    Attributes:
        compatibility: The identity of the query; another query must not read the state.
        schema_versions: The schema versions of the query's modules that wrote the state, the present one last.
        progress: The progress of the input.
        tracked: The state of the progress policy.
        log: The log's own data.
        version: A random name of this very state, written along with it and never used twice. Decoded state in the
            memory of a worker is the same if, and only if, it has the same version.
        since: The least start of an open window, where windows are those of single keys; `INFINITY` if there is none.
    """

    compatibility: Compatibility
    schema_versions: Sequence[SchemaVersion]
    progress: Progress = field(default_factory=Progress)
    tracked: Sequence[Any] = ()
    log: Sequence[Any] = (0, ())
    version: bytes = b""
    since: int = INFINITY

    def to_bytes(self, codec: Codec) -> bytes:
        """Return the metadata as bytes."""
        progress, tracked, log = self.progress.to_data(), list(self.tracked), list(self.log)
        identity, schema_versions = (
            dict(self.compatibility.identity),
            [schema_version.to_data() for schema_version in self.schema_versions],
        )
        since = [] if self.since == INFINITY else [self.since]
        return codec.pack([SLICES, identity, schema_versions, progress, tracked, log, self.version, *since])

    @classmethod
    def from_bytes(cls, data: bytes | None, compatibility: Compatibility, codec: Codec) -> SliceMetadata:
        """Return the metadata that `to_bytes` wrote, or a fresh one.

        Raises:
            StateMismatchError: Another query wrote it.
            StateError: Another version of Muntin wrote it, in a layout this one cannot read.
        """
        if data is None:
            return cls(compatibility, compatibility.schema_versions(()))
        schema_versions, progress, tracked, log, *rest = open_metadata(codec.unpack(data), SLICES, compatibility)
        versions = compatibility.schema_versions(schema_versions)
        return cls(compatibility, versions, Progress(*progress), tracked, log, *rest)
