"""A catalog folder: wheels whose modules a program uses without installing them.

Nothing is imported from the folder itself. A wheel is read once, checked as a whole, and unpacked into a private folder
of this process, so that what runs is what was checked, whoever changes the catalog meanwhile.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import invalidate_caches
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from muntin.bounded_files import read_file
from muntin.errors import CatalogFileError
from muntin.plugin_entries import plugin_entries, spell_distribution
from muntin.safe_text import safe_message
from muntin.signatures import read_keys
from muntin.wheels import CODE_FILE, MOST_BYTES, Wheel, read_wheel

FOLDER_VARIABLE: Final = "MUNTIN_CATALOG"
"""Environment variable with the path of the catalog."""

KEYS_VARIABLE: Final = "MUNTIN_TRUSTED_KEYS"
"""Environment variable with the file of the trusted keys, where it is not `trusted_keys` in the catalog."""


@dataclass(frozen=True, slots=True)
class UnpackedWheel:
    """A wheel whose code this process imports, from a folder of its own."""

    wheel: Wheel
    folder: str


_UNPACKED: Final[dict[str, UnpackedWheel]] = {}
_PRIVATE: Final[list[tempfile.TemporaryDirectory[str]]] = []


def wheel_of(module: str) -> Wheel | None:
    """Return the wheel of a catalog that an imported module is from; None for all others."""
    file = getattr(sys.modules.get(module), "__file__", None) if _UNPACKED else None
    return next((one.wheel for one in _UNPACKED.values() if str(file).startswith(f"{one.folder}{os.sep}")), None)


def unpack_catalog(folder: Path, wanted: Sequence[str] = ()) -> tuple[CatalogFileError, ...]:
    """Make the plugins of a catalog importable, the highest version of each, and return why others are refused.

    An installed package is left as it is: a wheel of its name is not used, nor one with a plugin of it. Pre-releases
    count where there is nothing else.

    Args:
        folder: The catalog.
        wanted: Requirements such as `"muntin-tides==1.2.0"`, where it should not be the highest version.

    Raises:
        CatalogFileError: The folder or its keys are not there, or a version that is wanted is not, or is refused.
    """
    keys = trusted_keys(folder)
    found, refused = versions_in(folder)
    limits = _limits(folder, wanted)
    wheels: list[Wheel] = []
    for name in sorted({*found, *limits}):
        limit, versions = limits.get(name, SpecifierSet()), found.get(name, {})
        fitting = sorted(limit.filter(versions), reverse=True)
        if not fitting:
            there = ", ".join(map(str, sorted(versions))) or "none"
            raise CatalogFileError(folder, f"it has no {name}{limit}\n  versions of it there: {there}")
        has = None if name in _UNPACKED else _installed(name)
        if has is not None and limit.contains(has, prereleases=True):
            continue
        try:
            wheels.append(_first_for_this_python([versions[version] for version in fitting], keys))
        except CatalogFileError as error:
            if name in limits:
                raise
            refused.append(error)
    left = _unpack_all(wheels)
    for name in filter(left.get, limits):
        raise left[name]
    return (*refused, *left.values())


def unpack(wheel: Wheel) -> None:
    """Make the modules of a wheel importable in this process.

    Raises:
        CatalogFileError: It needs what is not installed, or what is installed has its name, its modules' or a plugin's.
    """
    if error := _unpack_all([wheel]).get(wheel.name):
        raise error


def trusted_keys(folder: Path) -> frozenset[str] | None:
    """Return the keys by one of which each wheel of a catalog must be signed; None if none need be."""
    named = os.environ.get(KEYS_VARIABLE)
    path = folder / "trusted_keys" if named is None else Path(named)
    if named is None and not os.path.lexists(path):
        return None
    try:
        return read_keys(read_file(path, MOST_BYTES).decode())
    except (OSError, ValueError) as error:
        raise CatalogFileError(path, f"its keys cannot be read: {error}") from error


def versions_in(folder: Path) -> tuple[dict[str, dict[Version, Path]], list[CatalogFileError]]:
    """Return the wheels of a catalog by name and version, and why files cannot be told apart by these.

    Raises:
        CatalogFileError: The folder cannot be read.
    """
    found: dict[str, dict[Version, Path]] = {}
    refused = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".whl" and not path.name.startswith("."))
    except OSError as error:
        reason = f"it is no folder that can be read: {error.strerror}"
        raise CatalogFileError(folder, f"{reason}\n  expected: a folder of wheels, as muntin pack fills") from error
    for path in paths:
        try:
            name, version, *_ = parse_wheel_filename(path.name)
        except ValueError as error:
            refused.append(CatalogFileError(path, str(error)))
            continue
        other = found.setdefault(name, {}).setdefault(version, path)
        if other != path:
            refused.append(CatalogFileError(path, f"{other.name} has the same version"))
    return found, refused


def _first_for_this_python(paths: Sequence[Path], keys: frozenset[str] | None) -> Wheel:
    """Return the first wheel that is for this Python. One that is refused is not replaced by an older one."""
    for path in paths:
        wheel = read_wheel(path, keys)
        if wheel.python.contains(platform.python_version(), prereleases=True):
            return wheel
    raise CatalogFileError(path, f"it needs Python {wheel.python}, and this is {platform.python_version()}")


def _limits(folder: Path, wanted: Sequence[str]) -> dict[str, SpecifierSet]:
    limits: dict[str, SpecifierSet] = {}
    for text in wanted:
        try:
            one = Requirement(text)
        except ValueError:
            expected = "expected: a name and versions, such as 'muntin-tides==1.2.0'"
            raise CatalogFileError(folder, f"{text!r} names no version of a file in it\n  {expected}") from None
        name = canonicalize_name(one.name)
        limits[name] = limits.get(name, SpecifierSet()) & one.specifier
    return limits


def _unpack_all(wheels: Sequence[Wheel]) -> dict[str, CatalogFileError]:
    """Unpack wheels, after those that they require, and return by name why others cannot be."""
    ours = {one.folder for one in _UNPACKED.values()}
    entries = plugin_entries([path for path in sys.path if path not in ours]).entries
    plugins = {entry.name: spell_distribution(entry.dist) for entry in entries}
    while True:
        left: dict[str, CatalogFileError] = {}
        for wheel in wheels:
            try:
                _unpack(wheel, plugins)
            except CatalogFileError as error:
                left[wheel.name] = error
            except Exception as error:  # of the file system, or of other people's metadata
                left[wheel.name] = CatalogFileError(wheel.path, f"it cannot be unpacked: {safe_message(error, 200)}")
        if len(left) == len(wheels):
            return left
        wheels = [wheel for wheel in wheels if wheel.name in left]


def _unpack(wheel: Wheel, plugins: Mapping[str, str]) -> None:
    known = _UNPACKED.get(wheel.name)
    if known is not None:
        if known.wheel.digest != wheel.digest:
            used = f"{known.wheel.name} {known.wheel.version} with the hash {known.wheel.digest[:16]}"
            raise CatalogFileError(wheel.path, f"this process uses {used}\n  start a new process to use this one")
        return
    if (has := _installed(wheel.name)) is not None:
        raise CatalogFileError(wheel.path, f"{wheel.name} {has} is installed here, and is used instead")
    if lacking := list(filter(None, map(_fault_of, wheel.requires))):
        raise CatalogFileError(wheel.path, f"it needs packages that are not installed here: {', '.join(lacking)}")
    for top in sorted({found[1] for file in wheel.files if (found := CODE_FILE.fullmatch(file))}):
        if top in sys.modules or find_spec(top) is not None:
            raise CatalogFileError(wheel.path, f"Python would import another {top} instead of the one in it")
    if not _PRIVATE:
        _PRIVATE.append(tempfile.TemporaryDirectory(prefix="muntin-catalog-"))
    folder = Path(_PRIVATE[0].name, f"{wheel.name}-{wheel.digest[:16]}")
    for file, data in wheel.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    for entry in plugin_entries([str(folder)]).entries:
        if entry.name in plugins:
            raise CatalogFileError(wheel.path, f"the plugin {entry.name!r} is that of {plugins[entry.name]} here")
    _UNPACKED[wheel.name] = UnpackedWheel(wheel, str(folder))
    sys.path.append(str(folder))
    invalidate_caches()


def _installed(name: str) -> str | None:
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return None


def _fault_of(needed: Requirement) -> str:
    """Return in words what is wrong with an installed package that a wheel requires; empty if nothing is."""
    if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
        return ""
    has = _installed(needed.name)
    if has is not None and needed.specifier.contains(has, prereleases=True):
        return ""
    return f"{needed.name}{needed.specifier}" + (f" (here is {has})" if has else "")
