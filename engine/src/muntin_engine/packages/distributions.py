"""Installed distributions: their lookup by any of their names, the modules imported from them, their requirements."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distributions, packages_distributions
from importlib.metadata import distribution as named_distribution
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from muntin.catalog.hooks import PROJECT
from muntin.catalog.plugin_entries import plugin_entries
from muntin_engine.errors import NotShippableError

_SITE: Final = ("site-packages", "dist-packages")
"""The names of the folders of installed packages."""


def find_distribution(name: str) -> Distribution:
    """Find the installed distribution that a user means by a name.

    Args:
        name: The name of the distribution, of a plugin in it, or of a module that is imported from it.

    Raises:
        NotShippableError: No distribution has the name, or several have.
    """
    distributions_by_name = {canonicalize_name(str(dist.name)): dist for dist in _distributions_called(name)}
    if not distributions_by_name:
        raise NotShippableError(name, f"no installed distribution, plugin or package has this name{_close_to(name)}")
    if len(distributions_by_name) > 1:
        names = ", ".join(sorted(distributions_by_name))
        raise NotShippableError(name, f"it may be any of {names}; name one of these")
    (dist,) = distributions_by_name.values()
    return dist


def distribution_of(module: str) -> Distribution | None:
    """Return the installed distribution that a module is imported from; None if it is of no distribution."""
    name = _distribution_name(module.partition(".")[0], tuple(sys.path))
    return None if name is None else named_distribution(name)


def imports_of(dist: Distribution) -> tuple[str, ...]:
    """Return the top-level names that are imported from a distribution."""
    # Setuptools lists the names. Otherwise they follow from the files. A package that is installed in place has no
    # files of code, but a `.pth` file that names the folder of its code.
    listed_names = (dist.read_text("top_level.txt") or "").split()
    names = listed_names or _names_of_files(dist) or _names_in(_paths_added(dist))
    names_of_plugins = [entry.module.partition(".")[0] for entry in dist.entry_points if entry.group == PROJECT]
    return tuple(dict.fromkeys([*names, *names_of_plugins]))


def owners_of(import_names: Collection[str]) -> dict[str, frozenset[str]]:
    """Find the installed distributions that top-level names are imported from.

    Returns:
        The normalized names of the distributions, by the top-level name.
    """
    if not import_names:  # reading the files of all distributions takes a while
        return {}
    owners: dict[str, set[str]] = {import_name: set() for import_name in import_names}
    for dist in distributions():
        for import_name in imports_of(dist):
            if import_name in owners:
                owners[import_name].add(canonicalize_name(str(dist.name)))
    return {import_name: frozenset(names) for import_name, names in owners.items()}


def is_editable(dist: Distribution) -> bool:
    """Say whether a distribution is installed in place, so that its list of files does not have its code."""
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "{}")
    except ValueError:  # the file is damaged: like pip, take the distribution for an ordinary one
        return False
    return bool(origin.get("dir_info", {}).get("editable"))


def requirements_of(dist: Distribution) -> list[Distribution]:
    """Return the installed distributions that a distribution requires, directly or through others."""
    requirements: dict[str, Distribution] = {}
    unvisited = [dist]
    while unvisited:
        for requirement in _direct_requirements(unvisited.pop()):
            name = canonicalize_name(requirement.name)
            if name not in requirements:
                requirements[name] = requirement
                unvisited.append(requirement)
    return list(requirements.values())


@lru_cache
def names_outside_site(path: tuple[str, ...]) -> frozenset[str]:
    """Return the top-level names that are imported from distributions whose code is outside of site-packages.

    Args:
        path: The folders to search, as `sys.path`.
    """
    names: set[str] = set()
    for dist in _distributions_outside_site(path):
        names.update(imports_of(dist))
    return frozenset(names)


def _distributions_outside_site(path: tuple[str, ...]) -> Iterator[Distribution]:
    """Yield the distributions that are installed in place, or into a folder of their own that is on the path."""
    for dist in distributions(path=list(path)):
        if is_editable(dist) or not _is_in_site(dist):
            yield dist


def _distributions_called(name: str) -> Iterator[Distribution]:
    """Yield the distributions that a user may mean by a name: of a distribution, a plugin in it, or an import from it.

    A distribution without code, as `muntin` is, is meant only if no other one has an import of that name.
    """
    for entry in plugin_entries().entries:
        if entry.name == name and entry.dist is not None:
            yield entry.dist
    namesake = _distribution_named(name)
    if namesake is not None and imports_of(namesake):
        yield namesake
        return
    # No distribution of this name has code: it may be the name of an import.
    dist_of_import = distribution_of(name) if name.isidentifier() else None
    dist = dist_of_import or namesake
    if dist is not None:
        yield dist


@lru_cache
def _distribution_name(import_name: str, path: tuple[str, ...]) -> str | None:
    """Return the name of the distribution that a top-level name is imported from; None if there is none.

    The cheap ways are tried first: reading the files of all distributions takes a while.

    Args:
        import_name: The top-level name.
        path: The folders to search, as `sys.path`.
    """
    namesake = _distribution_named(import_name)  # most packages are imported by the name of their distribution
    if namesake is not None and import_name in imports_of(namesake):
        return namesake.name
    for dist in _distributions_outside_site(path):
        if import_name in imports_of(dist):
            return dist.name
    names = packages_distributions().get(import_name, ())
    if names:
        return names[0]
    # No list of files has the import: a distribution of the same name is the best guess.
    return None if namesake is None else namesake.name


def _distribution_named(name: str) -> Distribution | None:
    """Return the installed distribution of a name; None if there is none."""
    try:
        return named_distribution(name)
    except (PackageNotFoundError, ValueError):  # an empty name is refused
        return None


def _direct_requirements(dist: Distribution) -> Iterator[Distribution]:
    """Yield the installed distributions that a distribution requires itself, without its extras."""
    for text in dist.requires or ():
        try:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                yield named_distribution(requirement.name)
        except (InvalidRequirement, PackageNotFoundError):  # the metadata are old, or the package is missing here, too
            continue


def _names_of_files(dist: Distribution) -> list[str]:
    """Return the top-level names of the modules among the files of a distribution."""
    names: dict[str, None] = {}  # a set that keeps the order of the files
    for file in dist.files or ():
        if file.suffix not in {".py", ".so", ".pyd"}:
            continue
        top = file.parts[0]
        name = top.partition(".")[0]
        if name.isidentifier() and not top.startswith(("__editable__", "__pycache__")):
            names[name] = None
    return list(names)


def _paths_added(dist: Distribution) -> Iterator[Path]:
    """Yield the folders that the `.pth` files of a distribution add to `sys.path`."""
    for file in dist.files or ():
        if file.suffix != ".pth":
            continue
        lines = Path(str(dist.locate_file(file))).read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line and not line.startswith(("#", "import ", "import\t")):  # Python runs lines that import
                yield Path(line)


def _names_in(folders: Iterable[Path]) -> list[str]:
    """Return the names of the modules and packages that lie in folders."""
    names: list[str] = []
    for folder in folders:
        if not folder.is_dir():
            continue
        for path in sorted(folder.iterdir()):
            is_importable = path.is_dir() or path.suffix == ".py"
            if is_importable and path.stem.isidentifier():
                names.append(path.stem)
    return names


def _is_in_site(dist: Distribution) -> bool:
    """Say whether a distribution is installed in a folder of installed packages."""
    return Path(str(dist.locate_file(""))).name in _SITE


def _close_to(name: str) -> str:
    """Return a line of an error that suggests a similar name; empty if there is none."""
    names = {str(dist.name) for dist in distributions()} | {entry.name for entry in plugin_entries().entries}
    close = get_close_matches(name, names, n=1)
    return f"\n  did you mean {close[0]!r}?" if close else ""
