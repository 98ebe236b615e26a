"""Schema versions: the versions of the modules that wrote the parts of a query's state.

Each bucket numbers the schema versions that it has seen, and each part of its state has the number of the one that
wrote it. So a state may be read several versions later, and nothing is rewritten because a module is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from muntin import Module
from muntin.versions import is_same_version
from muntin_engine.state.query_identity import QueryIdentity


class SchemaVersion(NamedTuple):
    """The modules of a query as they were when a part of its state was written.

    Attributes:
        versions: The version of each module.
        components: What the columnar form of each kept, as plain data; none where they have no part in the state.
    """

    versions: Sequence[str] = ()
    components: Sequence[Any] = ()

    @classmethod
    def of(cls, identity: QueryIdentity) -> SchemaVersion:
        """Return the schema version of a query."""
        return cls([version for _, version, *_ in identity.get("modules", ())], list(identity.get("components", ())))

    def to_data(self) -> list[object]:
        """Return it as plain data."""
        return [list(self.versions), list(self.components)]


def is_outdated(module: Module, version: str) -> bool:
    """Return True if states that a version of a module wrote are to be upgraded, and not read as they are."""
    return hasattr(module, "upgrade_state") and not is_same_version(module.version, version)
