"""The entry points of plugins in all packages on Python's path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from muntin.catalog.hooks import PROJECT
from muntin.errors import MalformedPackageError
from muntin.errors.safe_text import safe_message

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint


class PluginEntries(NamedTuple):
    """The entry points of plugins.

    Attributes:
        entries: The entry points that could be read.
        unreadable: The errors of packages whose entry points could not be read.
    """

    entries: tuple[EntryPoint, ...]
    unreadable: tuple[MalformedPackageError, ...] = ()


def plugin_entries(path: Sequence[str] | None = None) -> PluginEntries:
    """Return the entry points of all plugins, package by package: one that is malformed hides no other.

    `importlib.metadata.entry_points` reads all packages at once, and raises if one cannot be read.

    Args:
        path: The folders to look into, as `sys.path`, which is the default.
    """
    # Imported here, as it is slow and a query that names no module of a plugin does without.
    from importlib.metadata import distributions

    packages = distributions() if path is None else distributions(path=list(path))
    entries: list[EntryPoint] = []
    unreadable: list[MalformedPackageError] = []
    names: set[str] = set()
    for package in packages:
        try:
            name = str(package.metadata["Name"]).lower().replace("_", "-").replace(".", "-")
        except Exception:
            name = ""  # two packages without a readable name are not taken for the same one
        if name and name in names:
            continue  # of two packages of one name, Python imports the first one on the path
        names.add(name)
        try:
            entries += [entry for entry in package.entry_points if entry.group == PROJECT]
        except Exception as error:
            unreadable.append(MalformedPackageError(spell_distribution(package), safe_message(error)))
    return PluginEntries(tuple(entries), tuple(unreadable))


def spell_distribution(package: Distribution | None) -> str:
    """Return the name and the version of a package; if its metadata lacks them, its folder."""
    if package is None:
        return "an unknown distribution"
    try:
        name = str(package.metadata["Name"] or "")
        version = str(package.version or "")
    except Exception:  # the metadata cannot be read
        name = ""
        version = ""
    if name and version:
        return f"{name} {version}"
    folder = getattr(package, "_path", None)  # a malformed package has no public way to its folder
    return f"a package without a name in {folder}"
