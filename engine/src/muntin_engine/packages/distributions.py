"""Installed distributions: found by any of their names, and what belongs to them."""

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


def find_distribution(name: str) -> Distribution:
    """Return the installed distribution that is meant by a name.

    Args:
        name: That of the distribution, of a plugin in it, or of what is imported from it.

    Raises:
        NotShippableError: None has it, or several have.
    """
    found = {canonicalize_name(str(dist.name)): dist for dist in _called(name)}
    if not found:
        raise NotShippableError(name, f"no installed distribution, plugin or package has this name{_close_to(name)}")
    if len(found) > 1:
        raise NotShippableError(name, f"it may be any of {', '.join(sorted(found))}; name one of these")
    return next(iter(found.values()))


def distribution_of(module: str) -> Distribution | None:
    """Return the installed distribution that a module is imported from; None if it is of none."""
    name = _distribution_name(module.partition(".")[0], tuple(sys.path))
    return None if name is None else named_distribution(name)


def imports_of(dist: Distribution) -> tuple[str, ...]:
    """Return the top-level names that are imported from a distribution."""
    told = (dist.read_text("top_level.txt") or "").split()
    names = told or _names_of_files(dist) or _names_in(_paths_added(dist))
    offered = [entry.module.partition(".")[0] for entry in dist.entry_points if entry.group == PROJECT]
    return tuple(dict.fromkeys([*names, *offered]))


def owners_of(tops: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the normalized names of the installed distributions that each of some top-level names is imported from."""
    if not tops:  # reading the files of all distributions takes a while
        return {}
    names = [(canonicalize_name(str(dist.name)), frozenset(imports_of(dist))) for dist in distributions()]
    return {top: frozenset(name for name, imports in names if top in imports) for top in tops}


def is_editable(dist: Distribution) -> bool:
    """True if a distribution is installed in place, so that its files are not among its own list."""
    try:
        origin = json.loads(dist.read_text("direct_url.json") or "{}")
    except ValueError:  # cut or overwritten: pip, too, takes such a one for an ordinary installation
        return False
    return bool(origin.get("dir_info", {}).get("editable"))


def requirements_of(dist: Distribution) -> list[Distribution]:
    """Return the distributions that are installed here because a distribution requires them, directly or not."""
    found: dict[str, Distribution] = {}
    waiting = [dist]
    while waiting:
        for required in _required(waiting.pop()):
            if canonicalize_name(required.name) not in found:
                found[canonicalize_name(required.name)] = required
                waiting.append(required)
    return list(found.values())


@lru_cache
def names_outside_site(path: tuple[str, ...]) -> frozenset[str]:
    """Return the top-level names of installed distributions whose code lies outside of site-packages.

    Those are installed in place, or into a folder of their own that is on the path.

    Args:
        path: Where to look, as `sys.path`.
    """
    apart = [dist for dist in distributions(path=list(path)) if is_editable(dist) or not _is_in_site(dist)]
    return frozenset(name for dist in apart for name in imports_of(dist))


def _called(name: str) -> Iterator[Distribution]:
    """Yield the distributions of a name; one without code, as `muntin` is, stands behind one that is imported by it."""
    yield from (entry.dist for entry in plugin_entries().entries if entry.name == name and entry.dist is not None)
    named = _named(name)
    if named is not None and imports_of(named):
        yield named
        return
    meant = (distribution_of(name) if name.isidentifier() else None) or named
    if meant is not None:
        yield meant


@lru_cache
def _distribution_name(top: str, path: tuple[str, ...]) -> str | None:
    """Look at the names first: reading the files of all distributions takes a while."""
    named = _named(top)
    if named is not None and top in imports_of(named):
        return named.name
    apart = (dist for dist in distributions(path=list(path)) if is_editable(dist) or not _is_in_site(dist))
    found = next((dist.name for dist in apart if top in imports_of(dist)), None)
    return found or next(iter(packages_distributions().get(top, ())), None if named is None else named.name)


def _named(name: str) -> Distribution | None:
    try:
        return named_distribution(name)
    except (PackageNotFoundError, ValueError):  # an empty name is none
        return None


def _required(dist: Distribution) -> Iterator[Distribution]:
    for text in dist.requires or ():
        try:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                yield named_distribution(requirement.name)
        except (InvalidRequirement, PackageNotFoundError):  # the metadata of old packages; missing here too
            continue


def _names_of_files(dist: Distribution) -> list[str]:
    tops = dict.fromkeys(file.parts[0] for file in dist.files or () if file.suffix in {".py", ".so", ".pyd"})
    names = [top.partition(".")[0] for top in tops if not top.startswith(("__editable__", "__pycache__", ".."))]
    return [name for name in dict.fromkeys(names) if name.isidentifier()]


def _paths_added(dist: Distribution) -> Iterator[Path]:
    """Yield the folders that the `.pth` files of a distribution add to the path."""
    for file in dist.files or ():
        if file.suffix == ".pth":
            lines = Path(str(dist.locate_file(file))).read_text(encoding="utf-8").splitlines()
            yield from (Path(line) for line in lines if line and not line.startswith(("#", "import ", "import\t")))


def _names_in(folders: Iterable[Path]) -> list[str]:
    parts = [part for folder in folders if folder.is_dir() for part in sorted(folder.iterdir())]
    return [part.stem for part in parts if part.stem.isidentifier() and (part.is_dir() or part.suffix == ".py")]


def _is_in_site(dist: Distribution) -> bool:
    return Path(str(dist.locate_file(""))).name in _SITE


def _close_to(name: str) -> str:
    names = {str(dist.name) for dist in distributions()} | {entry.name for entry in plugin_entries().entries}
    close = get_close_matches(name, names, n=1)
    return f"\n  did you mean {close[0]!r}?" if close else ""
