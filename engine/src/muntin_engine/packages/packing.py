"""From an installed package, or a wheel, to an archive."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import Distribution
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from muntin.errors.safe_text import safe_repr
from muntin_engine.errors import NotShippableError
from muntin_engine.packages.archives import Archive, UnreadableArchiveError, read_files
from muntin_engine.packages.distributions import find_distribution, imports_of, is_editable, owners_of

_METADATA: Final = ("METADATA", "PKG-INFO")
_KEPT: Final = ("entry_points.txt", "top_level.txt")
_COMPILED: Final = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
_IMPORTED: Final = re.compile(r"([^/.]+)(\.py|/__init__\.py)")
_LEFT_OUT: Final = (".pyc", ".pyo", ".pth")
_NAMES: Final = re.compile(r"(?!.{101})[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSIONS: Final = re.compile(r"(?!.{101})[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_SIGNS: Final = {"Name": "._-", "Version": ".!+_-"}
_DATA: Final = re.compile(r"[^/]+\.data/(purelib|platlib)/")


def pack(package: str | PathLike[str]) -> Archive:
    """Return the archive of a package.

    Args:
        package: What `find_distribution` takes, or the path of a wheel.

    Raises:
        NotShippableError: There is none, it has compiled parts, it has no Python files, or one of its modules would
            hide one of Python or of another package.
    """
    text = os.fspath(package)
    archive = pack_wheel(Path(text)) if text.endswith(".whl") else pack_installed(find_distribution(text))
    _check(archive)
    return archive


def is_shippable(name: str) -> bool:
    """True if an installed package can be packed."""
    try:
        pack(name)
    except NotShippableError:
        return False
    return True


def pack_installed(dist: Distribution) -> Archive:
    """Return the archive of an installed distribution."""
    _check_names(str(dist.name), dist.name, dist.version)
    files = dict(_imported_files(dist) if is_editable(dist) or not dist.files else _listed_files(dist))
    folder = f"{canonicalize_name(dist.name).replace('-', '_')}-{dist.version}.dist-info"
    texts = {"METADATA": _metadata(dist), **{name: dist.read_text(name) for name in _KEPT}}
    told = {f"{folder}/{name}": text.encode() for name, text in texts.items() if text}
    return Archive(dist.name, dist.version, {**{name: path.read_bytes() for name, path in files.items()}, **told})


def pack_wheel(path: Path) -> Archive:
    """Return the archive of a wheel, which Spark would not look at under its own name.

    Raises:
        NotShippableError: There is no wheel.
    """
    try:
        files = {_DATA.sub("", name): data for name, data in read_files(path).items()}
    except UnreadableArchiveError as error:
        raise NotShippableError(str(path), str(error)) from error
    metadata = next((data for name, data in files.items() if name.endswith(".dist-info/METADATA")), None)
    if metadata is None:
        raise NotShippableError(str(path), "it is not a wheel: it has no .dist-info/METADATA")
    said = HeaderParser().parsestr(metadata.decode(errors="replace"))
    _check_names(str(path), said["Name"], said["Version"])
    return Archive(said["Name"], said["Version"], {name: data for name, data in files.items() if _is_kept(name)})


def _listed_files(dist: Distribution) -> Iterator[tuple[str, Path]]:
    for file in dist.files or ():
        name, path = file.as_posix(), Path(str(dist.locate_file(file)))
        if _is_kept(name) and ".dist-info" not in name and ".egg-info" not in name and path.is_file():
            yield name, path


def _imported_files(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files that are imported from a distribution without a list of its files."""
    for name in imports_of(dist):
        spec = find_spec(name)
        for location in (spec and spec.submodule_search_locations) or ():
            yield from _files_below(Path(location), name)
        if spec is not None and spec.submodule_search_locations is None and spec.origin:
            yield Path(spec.origin).name, Path(spec.origin)


def _files_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        inside = f"{name}/{path.relative_to(folder).as_posix()}"
        if path.is_file() and _is_kept(inside):
            yield inside, path


def _is_kept(name: str) -> bool:
    parts = name.split("/")
    return "__pycache__" not in parts and ".." not in parts and parts[0] != "" and not name.endswith(_LEFT_OUT)


def _metadata(dist: Distribution) -> str | None:
    return next((text for name in _METADATA if (text := dist.read_text(name))), None)


def _check_names(package: str, name: object, version: object) -> None:
    """Raise unless a package's metadata have a name and a version that a file can be named by."""
    for field, text, wanted in (("Name", name, _NAMES), ("Version", version, _VERSIONS)):
        if not isinstance(text, str) or wanted.fullmatch(text) is None:
            raise NotShippableError(
                package,
                f"its metadata have the {field} {safe_repr(text, 100)}",
                f"expected: a {field} of at most 100 letters, digits and {_SIGNS[field]}; build the package anew",
            )


def _check(archive: Archive) -> None:
    compiled = next((name for name in sorted(archive.files) if _COMPILED.search(name)), None)
    if compiled is not None:
        raise NotShippableError(archive.label, f"it has parts compiled for one kind of machine, such as {compiled}")
    if not any(name.endswith(".py") for name in archive.files):
        raise NotShippableError(archive.label, "it has no Python files that could be found")
    _check_imports(archive)


def _check_imports(archive: Archive) -> None:
    """Raise if the workers, which import from an archive first, would get a module of it for one of another package.

    A folder without `__init__.py` hides nothing. A name that several installed packages share, such as `tests`, is
    left to them unless one of them is called so.
    """
    own = canonicalize_name(archive.name)
    files = {found[1]: name for name in sorted(archive.files) if (found := _IMPORTED.fullmatch(name))}
    for top, owners in owners_of([top for top in files if canonicalize_name(top) != own]).items():
        others = owners - {own}
        if top in sys.stdlib_module_names:
            hidden = "Python's own module of this name"
        elif others and (own not in owners or canonicalize_name(top) in others):
            hidden = f"that of {', '.join(sorted(others))}, which is installed here"
        else:
            continue
        reason = f"the workers would import its {files[top]} instead of {hidden}"
        raise NotShippableError(archive.label, reason, "move it into a package of its own, and build the wheel anew")
