"""The entry points by which installed packages, and those on the path, say that they have plugins."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import NamedTuple

from muntin.catalog.hooks import PROJECT
from muntin.errors import MalformedPackageError
from muntin.errors.safe_text import safe_message


class PluginEntries(NamedTuple):
    """The entry points of plugins.

    Attributes:
        entries: Those that could be read.
        unreadable: The packages whose entry points could not be.
    """

    entries: tuple[EntryPoint, ...]
    unreadable: tuple[MalformedPackageError, ...] = ()


def plugin_entries(path: Sequence[str] | None = None) -> PluginEntries:
    """Return the entry points of all plugins, package by package: one that is malformed hides no other.

    `importlib.metadata.entry_points` reads all packages at once, and raises if one cannot be read.

    Args:
        path: Where to look, as `sys.path`, which is the default.
    """
    entries: list[EntryPoint] = []
    unreadable: list[MalformedPackageError] = []
    seen: set[str] = set()
    for package in distributions() if path is None else distributions(path=list(path)):
        try:
            name = str(package.metadata["Name"]).lower().replace("_", "-").replace(".", "-")
        except Exception:  # without a name it hides no other of that name
            name = ""
        if name and name in seen:
            continue  # as Python has it, the first on the path is the one that is imported
        seen.add(name)
        try:
            entries += [entry for entry in package.entry_points if entry.group == PROJECT]
        except Exception as error:
            unreadable.append(MalformedPackageError(spell_distribution(package), safe_message(error)))
    return PluginEntries(tuple(entries), tuple(unreadable))


def spell_distribution(package: Distribution | None) -> str:
    """Return the name and the version of a package; where it does not say them, its folder."""
    if package is None:
        return "an unknown distribution"
    try:
        name, version = str(package.metadata["Name"] or ""), str(package.version or "")
    except Exception:
        name = version = ""
    folder = getattr(package, "_path", None)  # there is no public way to the folder of one that is malformed
    return f"{name} {version}" if name and version else f"a package without a name in {folder}"
