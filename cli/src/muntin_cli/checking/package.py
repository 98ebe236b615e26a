"""The package that is checked: an installed distribution that offers plugins."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

from packaging.utils import canonicalize_name

from muntin_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution.

    Attributes:
        name: Its name.
        version: Its version.
        entries: Its entry points of the group `muntin`; at least one.
        folder: Where its sources and tests are: the folder that was named, or that of an editable install.
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
        """The top-level packages that its plugins live in."""
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
    wanted = canonicalize_name(project_name)
    found = [entry for entry in entries if wanted in _names_of(entry)]
    if not found or found[0].dist is None:
        plugins = ", ".join(sorted({entry.dist.name for entry in entries if entry.dist})) or "none"
        install = (
            "for example pip install --editable . in its folder"
            if project is None
            else f"pip install --editable {project}"
        )
        raise UsageError(
            f"no installed package named {project_name!r} offers a plugin\n  packages that do: {plugins}\n"
            f"  to do: install it, {install}; its pyproject.toml needs\n"
            "    [project.entry-points.muntin]"
        )
    owner = found[0].dist
    own = {entry.name: entry for entry in entries if entry.dist and entry.dist.name == owner.name}
    folder = _editable_folder(owner) if project is None else project.resolve()
    return Package(owner.name, owner.version, tuple(own.values()), folder)


def _editable_folder(owner: Distribution) -> Path | None:
    """Return the folder from which a distribution was installed so that it can be edited (PEP 610)."""
    origin = json.loads(owner.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    return Path(url2pathname(urlparse(origin["url"]).path))


def _names_of(entry: EntryPoint) -> set[str]:
    owner = entry.dist.name if entry.dist else entry.name
    return {canonicalize_name(owner), canonicalize_name(entry.name), canonicalize_name(entry.module.partition(".")[0])}


def _is_path(name: str) -> bool:
    return name in (".", "..") or "/" in name or "\\" in name


def _project_folder(path: Path) -> Path:
    """Return the folder of the project that a path is of: the path itself, unless it is in an import package."""
    folder = path.resolve()
    if not folder.is_file() and not (folder / "__init__.py").exists():
        return path
    while folder.is_file() or (folder / "__init__.py").exists() or folder.name == "src":
        folder = folder.parent
    return folder


def _project_in(folder: Path) -> str:
    file = folder / "pyproject.toml"
    try:
        return str(tomllib.loads(file.read_text(encoding="utf-8"))["project"]["name"])
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            f"{folder} holds no package: {file.name} {'has no project name' if file.is_file() else 'is missing'}\n"
            "  expected: the folder of a package, or the name of an installed one"
        ) from error
