"""The packing of an installed package, or of a wheel, into an archive."""

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
"""The names of the file with a distribution's metadata: of one that came as a wheel, and of an older installation."""

_MORE_METADATA: Final = ("entry_points.txt", "top_level.txt")
_COMPILED: Final = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
_IMPORTED: Final = re.compile(r"([^/.]+)(\.py|/__init__\.py)")
"""The path of a top-level module, whose name is the first group."""

_LEFT_OUT: Final = (".pyc", ".pyo", ".pth")
_NAMES: Final = re.compile(r"(?!.{101})[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSIONS: Final = re.compile(r"(?!.{101})[A-Za-z0-9][A-Za-z0-9.!+_-]*")
_SIGNS: Final = {"Name": "._-", "Version": ".!+_-"}
"""The signs that names and versions may have besides letters and digits, for errors."""

_DATA: Final = re.compile(r"[^/]+\.data/(purelib|platlib)/")
"""The folder of a wheel with code that pip moves to the other code."""


def pack(package: str | PathLike[str]) -> Archive:
    """Return the archive of a package.

    Args:
        package: A name that `find_distribution` knows, or the path of a wheel.

    Raises:
        NotShippableError: There is no such package, it has compiled parts, it has no Python files, or one of its
            modules would hide a module of Python or of another package.
    """
    text = os.fspath(package)
    is_wheel = text.endswith(".whl")
    archive = pack_wheel(Path(text)) if is_wheel else pack_installed(find_distribution(text))
    _check_is_importable(archive)
    return archive


def is_shippable(name: str) -> bool:
    """Say whether an installed package can be packed."""
    try:
        pack(name)
    except NotShippableError:
        return False
    return True


def pack_installed(dist: Distribution) -> Archive:
    """Return the archive of an installed distribution.

    Raises:
        NotShippableError: The metadata have no valid name or version.
    """
    _check_names(str(dist.name), dist.name, dist.version)
    has_list = bool(dist.files) and not is_editable(dist)
    code_files = _listed_files(dist) if has_list else _imported_files(dist)
    files = {name: path.read_bytes() for name, path in code_files}

    # The metadata have the entry points, by which the workers find plugins.
    folder = f"{canonicalize_name(dist.name).replace('-', '_')}-{dist.version}.dist-info"
    texts = {"METADATA": _metadata(dist)}
    for name in _MORE_METADATA:
        texts[name] = dist.read_text(name)
    for name, text in texts.items():
        if text:
            files[f"{folder}/{name}"] = text.encode()
    return Archive(dist.name, dist.version, files)


def pack_wheel(path: Path) -> Archive:
    """Return the archive of a wheel, as Spark ships files that end with `.zip`, but none that end with `.whl`.

    Raises:
        NotShippableError: The path is not that of a wheel.
    """
    # Code in a folder such as `x.data/purelib/` belongs beside the other code: like pip, leave out that folder.
    try:
        files = {_DATA.sub("", name): data for name, data in read_files(path).items()}
    except UnreadableArchiveError as error:
        raise NotShippableError(str(path), str(error)) from error
    for name, data in files.items():
        if name.endswith(".dist-info/METADATA"):
            metadata = HeaderParser().parsestr(data.decode(errors="replace"))
            break
    else:
        raise NotShippableError(str(path), "it is not a wheel: it has no .dist-info/METADATA")
    _check_names(str(path), metadata["Name"], metadata["Version"])
    needed_files = {name: data for name, data in files.items() if _is_needed(name)}
    return Archive(metadata["Name"], metadata["Version"], needed_files)


def _listed_files(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of code in a distribution's list of its files, each with its path in an archive."""
    for file in dist.files or ():
        name = file.as_posix()
        if not _is_needed(name) or ".dist-info" in name or ".egg-info" in name:  # metadata are written apart
            continue
        path = Path(str(dist.locate_file(file)))
        if path.is_file():
            yield name, path


def _imported_files(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of code of a distribution without a list of its files, each with its path in an archive."""
    for name in imports_of(dist):
        spec = find_spec(name)
        if spec is None:
            continue
        if spec.submodule_search_locations is not None:  # a package
            for location in spec.submodule_search_locations:
                yield from _files_below(Path(location), name)
        elif spec.origin:  # a module of one file
            yield Path(spec.origin).name, Path(spec.origin)


def _files_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield the files in the folder of a package, each with its path in an archive."""
    for path in sorted(folder.rglob("*")):
        path_in_archive = f"{name}/{path.relative_to(folder).as_posix()}"
        if path.is_file() and _is_needed(path_in_archive):
            yield path_in_archive, path


def _is_needed(name: str) -> bool:
    """Say whether workers need a file, by its path in an archive: it must lie inside, and not be made by Python."""
    parts = name.split("/")
    is_inside = ".." not in parts and parts[0] != ""
    is_made_by_python = "__pycache__" in parts or name.endswith(_LEFT_OUT)
    return is_inside and not is_made_by_python


def _metadata(dist: Distribution) -> str | None:
    """Return the metadata of a distribution; None if it has none."""
    for name in _METADATA:
        text = dist.read_text(name)
        if text:
            return text
    return None


def _check_names(package: str, name: object, version: object) -> None:
    """Raise unless the metadata of a package have a name and a version that can be parts of a file name.

    Args:
        package: The package, as the user named it.
        name: The name in the metadata.
        version: The version in the metadata.

    Raises:
        NotShippableError: The name or the version is missing, too long, or has other signs.
    """
    for field, text, pattern in (("Name", name, _NAMES), ("Version", version, _VERSIONS)):
        if not isinstance(text, str) or pattern.fullmatch(text) is None:
            raise NotShippableError(
                package,
                f"its metadata have the {field} {safe_repr(text, 100)}",
                f"expected: a {field} of at most 100 letters, digits and {_SIGNS[field]}; build the package anew",
            )


def _check_is_importable(archive: Archive) -> None:
    """Raise unless workers can import from an archive.

    Raises:
        NotShippableError: The archive has compiled parts, or nothing to import, or would hide another package.
    """
    for name in sorted(archive.files):
        if _COMPILED.search(name):
            raise NotShippableError(archive.label, f"it has parts compiled for one kind of machine, such as {name}")
    if not any(name.endswith(".py") for name in archive.files):
        raise NotShippableError(archive.label, "it has no Python files that could be found")
    _check_imports(archive)


def _check_imports(archive: Archive) -> None:
    """Raise if a module of an archive would hide a module of another package from the workers.

    Workers import from the archive first. A folder without `__init__.py` hides nothing. A module name that several
    installed packages share, such as `tests`, is allowed, unless it is also the name of one of the other packages.

    Raises:
        NotShippableError: A module would be hidden.
    """
    package = canonicalize_name(archive.name)
    files_by_import: dict[str, str] = {}
    for name in sorted(archive.files):
        top_level = _IMPORTED.fullmatch(name)
        # The module with the name of the package itself is not in question.
        if top_level is not None and canonicalize_name(top_level[1]) != package:
            files_by_import[top_level[1]] = name

    for import_name, owners in owners_of(files_by_import).items():
        other_owners = owners - {package}
        is_shared_name = package in owners and canonicalize_name(import_name) not in other_owners
        if import_name in sys.stdlib_module_names:
            hidden_module = "Python's own module of this name"
        elif other_owners and not is_shared_name:
            hidden_module = f"that of {', '.join(sorted(other_owners))}, which is installed here"
        else:
            continue
        reason = f"the workers would import its {files_by_import[import_name]} instead of {hidden_module}"
        raise NotShippableError(archive.label, reason, "move it into a package of its own, and build the wheel anew")
