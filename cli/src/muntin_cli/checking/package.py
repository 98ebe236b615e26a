"""The package that is checked: an installed distribution that offers plugins."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from muntin_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution.

    Attributes:
        name: Name of the distribution.
        version: Version of the distribution.
        entries: Entry points of the group `muntin`; none if programs import what it offers, as sinks and policies.
        folder: Folder of the sources and tests: the one that was named, or that of an editable install.
    """

    name: str
    version: str
    entries: tuple[EntryPoint, ...]
    folder: Path | None = None

    @property
    def tests(self) -> Path | None:
        """The folder of its tests, if there is one."""
        tests = self.folder and self.folder / "tests"
        return tests if tests and tests.is_dir() else None

    @property
    def imports(self) -> tuple[str, ...]:
        """The top-level packages that its plugins live in; without plugins the one that has its name."""
        if not self.entries:
            return (self.name.replace("-", "_"),)
        return tuple(sorted({entry.module.partition(".")[0] for entry in self.entries}))


def find_package(name: str, entries: Sequence[EntryPoint]) -> Package:
    """Return an installed package.

    Args:
        name: The name of the distribution, of its plugin or of its import package; or the path of the folder with its
            `pyproject.toml`, of its import package, or of a file in that.
        entries: The entry points of all that is installed.

    Raises:
        UsageError: No installed package has the name.
    """
    project = _project_folder(Path(name)) if _is_path(name) else None
    project_name = name if project is None else _project_in(project)
    canonical_name = canonicalize_name(project_name)
    # Names of packages are equal but for case, hyphens and underscores.
    owners = [entry.dist for entry in entries if canonical_name in _names_of(entry)]
    owner = owners[0] if owners else _distribution_without_plugin(project_name)
    if owner is None:
        raise _not_installed(project_name, project, entries)
    owner_entries = {entry.name: entry for entry in entries if entry.dist and entry.dist.name == owner.name}
    folder = _editable_folder(owner) if project is None else project.resolve()
    return Package(owner.name, owner.version, tuple(owner_entries.values()), folder)


def _distribution_without_plugin(name: str) -> Distribution | None:
    """Return an installed distribution that requires Muntin, such as one of sinks; None if there is none."""
    try:
        owner = distribution(name)
    except (PackageNotFoundError, ValueError):
        return None
    requires_muntin = any(re.match(r"muntin-(sdk|engine)\b", requirement) for requirement in owner.requires or ())
    return owner if requires_muntin else None


def _not_installed(name: str, project: Path | None, entries: Sequence[EntryPoint]) -> UsageError:
    """Return the error for a package that offers no plugin, with those that do."""
    packages = ", ".join(sorted({entry.dist.name for entry in entries if entry.dist})) or "none"
    install = "for example pip install --editable . in its folder"
    if project is not None:
        install = f"pip install --editable {project}"
    return UsageError(
        f"no installed package named {name!r} offers a plugin\n  packages that do: {packages}\n"
        f"  to do: install it, {install}; its pyproject.toml needs\n"
        "    [project.entry-points.muntin]"
    )


def _editable_folder(owner: Distribution) -> Path | None:
    """Return the source folder of an editable install (PEP 610); None for any other install."""
    origin = json.loads(owner.read_text("direct_url.json") or "{}")  # pip writes it for a folder, not for an index
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlparse(origin["url"]).path))


def _names_of(entry: EntryPoint) -> set[str]:
    """Return the names by which a user may mean the package of an entry point: its own, the plugin's, the import's."""
    owner = entry.dist.name if entry.dist else entry.name
    return {canonicalize_name(owner), canonicalize_name(entry.name), canonicalize_name(entry.module.partition(".")[0])}


def _is_path(name: str) -> bool:
    return name in (".", "..") or "/" in name or "\\" in name


def _project_folder(path: Path) -> Path:
    """Return the project's folder of a path: the folder above its import packages and `src`."""

    def is_code(place: Path) -> bool:
        return place.is_file() or (place / "__init__.py").exists()

    folder = path.resolve()
    if not is_code(folder):
        return path
    while is_code(folder) or folder.name == "src":
        folder = folder.parent
    return folder


def _project_in(folder: Path) -> str:
    """Return the name of a folder's project, from its pyproject.toml."""
    file = folder / "pyproject.toml"
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"])
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            f"{folder} holds no package: {file.name} {'has no project name' if file.is_file() else 'is missing'}\n"
            "  expected: the folder of a package, or the name of an installed one"
        ) from error
