"""Entry points of plugins, in installed packages and in those on the path."""

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
    from importlib.metadata import distributions  # a query that names no module of a plugin does without

    entries: list[EntryPoint] = []
    unreadable: list[MalformedPackageError] = []
    names: set[str] = set()
    for package in distributions() if path is None else distributions(path=list(path)):
        try:
            name = str(package.metadata["Name"]).lower().replace("_", "-").replace(".", "-")
        except Exception:  # a package without a name hides no other
            name = ""
        if name and name in names:
            continue  # Python imports the first one on the path
        # A package without a name is never taken for another one: the empty name is not looked up.
        names.add(name)
        try:
            entries += [entry for entry in package.entry_points if entry.group == PROJECT]
        except Exception as error:
            unreadable.append(MalformedPackageError(spell_distribution(package), safe_message(error)))
    return PluginEntries(tuple(entries), tuple(unreadable))


def spell_distribution(package: Distribution | None) -> str:
    """Return the name and the version of a package; where its metadata lack them, its folder."""
    if package is None:
        return "an unknown distribution"
    try:
        name = str(package.metadata["Name"] or "")
        version = str(package.version or "")
    except Exception:
        name = version = ""
    if name and version:
        return f"{name} {version}"
    folder = getattr(package, "_path", None)  # a malformed package has no public way to its folder
    return f"a package without a name in {folder}"
