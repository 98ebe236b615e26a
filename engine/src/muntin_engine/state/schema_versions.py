"""Schema versions: the modules of a query as they were when a part of its state was written.

A bucket numbers the schema versions that it has seen, and each part of its state has the number of the one that wrote
it. So a state may be read several versions later, and nothing is rewritten because a module is new, or gone. States of
modules that define `upgrade_state` are upgraded as they are read: see `is_outdated`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from muntin import Module
from muntin.definitions.versions import is_same_version
from muntin.modules.columnar_aggregate import Form
from muntin_engine.state.differences import ModuleIdentity, QueryIdentity

_MATCHED: Final = object()
"""Stands for an item that was matched: it equals none."""


class SchemaVersion(NamedTuple):
    """The modules of a query as they were when a part of its state was written.

    Attributes:
        versions: The version of each module.
        components: The components that the columnar form of each kept, as plain data; none where they have no part in
            the state.
        modules: Each module as `bound_modules` describes it.
        inputs: The name and the type of each input column.
        places: For each module of the query as it is now, its place in `modules`; None for one that was added since.
            Not stored.
        columns: For each input column as it is now, its place in `inputs`; None for one that was added since. Not
            stored.
    """

    versions: Sequence[str] = ()
    components: Sequence[Any] = ()
    modules: Sequence[Any] = ()
    inputs: Sequence[Any] = ()
    places: Sequence[int | None] = ()
    columns: Sequence[int | None] = ()

    @classmethod
    def of(cls, identity: QueryIdentity) -> SchemaVersion:
        """Return the schema version of a query."""
        versions = [ModuleIdentity.of(data).version for data in identity.get("modules", ())]
        inputs = [list(column) for column in identity.get("inputs", ())]
        return cls(versions, list(identity.get("components", ())), bound_modules(identity), inputs)

    @classmethod
    def present(cls, identity: QueryIdentity) -> SchemaVersion:
        """Return the schema version of a query as it is now, each module at its own place."""
        version = cls.of(identity)
        return version._replace(places=range(len(version.modules)), columns=range(len(version.inputs)))

    def is_written_as(self, other: SchemaVersion) -> bool:
        """Return True if another schema version is stored as the same data; the places of both are not stored."""
        return self.to_data() == other.to_data()

    def before(self, later: SchemaVersion) -> SchemaVersion:
        """Return this version with its places: where it has the modules and the columns of the query as it is now.

        A module that was gone in between has no place here: when it comes back, it begins anew.

        Args:
            later: The next schema version, whose places are known.
        """
        modules = stored_positions(self.modules, later.modules)
        inputs = stored_positions(self.inputs, later.inputs)
        return self._replace(places=_composed(modules, later.places), columns=_composed(inputs, later.columns))

    def to_data(self) -> list[Any]:
        """Return the schema version as plain data, from which `SchemaVersion(*data)` makes it again."""
        return [list(self.versions), list(self.components), list(self.modules), list(self.inputs)]


def _composed(positions: Sequence[int | None], later_places: Sequence[int | None]) -> list[int | None]:
    """Return the places of the query's modules or columns in an earlier version, by their places in a later one.

    Args:
        positions: For each item of the later version its position in the earlier one; None if it is not there.
        later_places: For each item of the query its place in the later version; None if it is not there.
    """
    return [None if place is None else positions[place] for place in later_places]


def bound_modules(identity: QueryIdentity) -> list[Any]:
    """Return the modules of a query as plain data: without their versions, and with the columns that they read.

    Two modules, of one query or of two versions of it, are the same module if this data is equal.
    """
    modules: list[Any] = []
    for data in identity.get("modules", ()):
        module = ModuleIdentity.of(data)
        modules.append([module.name, module.parameters, columns_read(module, identity), *module.extras])
    return modules


def columns_read(module: ModuleIdentity, identity: QueryIdentity) -> list[Any]:
    """Return the name and the type of each column that a module of a query reads.

    A column that is not one of `identity["inputs"]` stays a place: where there are several inputs, a place is a pair.
    """
    inputs: Sequence[Any] = identity.get("inputs", ())
    columns: list[Any] = []
    for place in module.places:
        is_column = isinstance(place, int) and place < len(inputs)
        columns.append(list(inputs[place]) if is_column else place)
    return columns


def stored_positions(stored: Sequence[Any], items: Sequence[Any]) -> list[int | None]:
    """Return for each item the position of its equal among the stored ones, or None if it is new.

    Equal items are matched in order, each stored one once.

    Example:
        >>> stored_positions(["sum", "max", "sum"], ["sum", "min", "sum", "sum"])
        [0, None, 2, None]
    """
    unmatched = list(stored)
    positions: list[int | None] = []
    for item in items:
        if item not in unmatched:
            positions.append(None)
            continue
        position = unmatched.index(item)
        unmatched[position] = _MATCHED
        positions.append(position)
    return positions


def is_outdated(code: Module | Form, present_version: str, version: str) -> bool:
    """Return True if states that a version wrote are to be upgraded, and not read as they are.

    Args:
        code: The module, or its columnar form, which may define `upgrade_state`.
        present_version: The version of the module that reads them.
        version: The version that wrote them.
    """
    return hasattr(code, "upgrade_state") and not is_same_version(present_version, version)
