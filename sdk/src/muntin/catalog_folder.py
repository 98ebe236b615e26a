"""A catalog folder: wheels whose modules a program uses without installing them.

Nothing is imported from the folder itself. A wheel is read once, checked as a whole, and unpacked into a private folder
of this process, so that what runs is what was checked, whoever changes the catalog meanwhile.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import platform
import re
import sys
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import HeaderParser
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

from muntin.errors import CatalogFileError
from muntin.safe_text import safe_message
from muntin.signatures import SignatureError, check_signature, read_keys

FOLDER_VARIABLE: Final = "MUNTIN_CATALOG"
"""Environment variable with the path of the catalog."""

KEYS_VARIABLE: Final = "MUNTIN_TRUSTED_KEYS"
"""Environment variable with the file of the trusted keys, where it is not `trusted_keys` in the catalog."""

_MOST_BYTES: Final = 64 * 2**20
_SAFE_PATH: Final = re.compile(r"(?!.*(^|/)\.{1,2}(/|$))[\w.+!-]+(/[\w.+!-]+)*")
_CODE: Final = (".py", ".pyi", "py.typed")
_NOT_HASHED: Final = ("RECORD", "RECORD.jws", "RECORD.p7s")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel whose files are those that its RECORD lists.

    Attributes:
        path: Where it was read.
        digest: The SHA-256 of the whole file, in hexadecimal digits.
        metadata: The metadata of the distribution.
        files: What it holds, by path.
    """

    path: Path
    digest: str
    metadata: Message
    files: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """The normalized name of the distribution."""
        return canonicalize_name(self.metadata["Name"])

    @property
    def version(self) -> str:
        """The version of the distribution."""
        return str(self.metadata["Version"])


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

    An installed package of the same name is left as it is. Pre-releases count where there is nothing else.

    Args:
        folder: The catalog.
        wanted: Requirements such as `"muntin-tides==1.2.0"`, where it should not be the highest version.

    Raises:
        CatalogFileError: The folder, its keys, or a version that is wanted are not there.
    """
    if not folder.is_dir():
        raise CatalogFileError(folder, "there is no such folder\n  expected: a folder of wheels, as muntin pack fills")
    keys = trusted_keys(folder)
    found, refused = _versions_in(folder)
    limits: dict[str, SpecifierSet] = {canonicalize_name(one.name): one.specifier for one in map(Requirement, wanted)}
    for name in sorted({*found, *limits}):
        limit, versions = limits.get(name, SpecifierSet()), found.get(name, {})
        fitting = sorted(limit.filter(versions), reverse=True)
        if not fitting:
            has = ", ".join(map(str, sorted(versions))) or "none"
            raise CatalogFileError(folder, f"it has no {name}{limit}\n  versions of it there: {has}")
        if name not in _UNPACKED and _installed(name) is not None:
            continue
        try:
            _unpack(_first_for_this_python([versions[version] for version in fitting], keys))
        except CatalogFileError as error:
            refused.append(error)
    return tuple(refused)


def trusted_keys(folder: Path) -> frozenset[str] | None:
    """Return the keys by one of which each wheel of a catalog must be signed; None if none need be."""
    named = os.environ.get(KEYS_VARIABLE)
    path = Path(named) if named else folder / "trusted_keys"
    if not named and not path.exists():
        return None
    try:
        return read_keys(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CatalogFileError(path, f"its keys cannot be read: {error}") from error


def read_wheel(path: Path, keys: frozenset[str] | None = None) -> Wheel:
    """Read a wheel of Python files, and check it, without importing anything of it.

    Args:
        path: The wheel.
        keys: The keys by one of which it must be signed, in the file of the same name with `.sig` after it.

    Raises:
        CatalogFileError: It is not signed so, is damaged, is not what it is called, or has more than Python files.
    """
    try:
        data = path.read_bytes()
        if keys is not None:
            check_signature(data, path.with_name(f"{path.name}.sig"), keys)
        name, version, *_ = parse_wheel_filename(path.name)
        files = _files_of(data)
        info = next(file.rpartition("/")[0] for file in files if re.fullmatch(r"[^/]+\.dist-info/METADATA", file))
        metadata = HeaderParser().parsestr(files[f"{info}/METADATA"].decode())
        said = f"{metadata['Name']} {metadata['Version']}"
        if (canonicalize_name(str(metadata["Name"])), Version(metadata["Version"])) != (name, version):
            raise ValueError(f"its metadata say that it is {said}")
        _check_record(files, info)
        if others := [file for file in files if not file.startswith(f"{info}/") and not file.endswith(_CODE)]:
            raise ValueError(
                f"workers would not get {others[0]}: a package of more than Python files must be installed"
            )
    except (SignatureError, ValueError) as error:
        raise CatalogFileError(path, str(error)) from error
    except Exception as error:  # whatever bytes that are no wheel lead to
        raise CatalogFileError(path, f"it cannot be read as a wheel: {safe_message(error, 200)}") from error
    return Wheel(path, hashlib.sha256(data).hexdigest(), metadata, files)


def spelled_hash(data: bytes) -> str:
    """Return the SHA-256 of a file as RECORD has it."""
    return f"sha256={urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()}"


def _versions_in(folder: Path) -> tuple[dict[str, dict[Version, Path]], list[CatalogFileError]]:
    found: dict[str, dict[Version, Path]] = {}
    refused = []
    for path in sorted(folder.glob("*.whl")):
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
        if SpecifierSet(wheel.metadata["Requires-Python"] or "").contains(platform.python_version(), prereleases=True):
            return wheel
    needs = wheel.metadata["Requires-Python"]
    raise CatalogFileError(path, f"it needs Python {needs}, and this is {platform.python_version()}")


def _unpack(wheel: Wheel) -> None:
    known = _UNPACKED.get(wheel.name)
    if known is not None:
        if known.wheel.digest != wheel.digest:
            used = f"{known.wheel.name} {known.wheel.version} with the hash {known.wheel.digest[:16]}"
            raise CatalogFileError(wheel.path, f"this process uses {used}\n  start a new process to use this one")
        return
    if lacking := [fault for text in wheel.metadata.get_all("Requires-Dist", []) if (fault := _fault_of(text))]:
        raise CatalogFileError(wheel.path, f"it needs packages that are not installed here: {', '.join(lacking)}")
    for top in sorted({file.partition("/")[0].removesuffix(".py") for file in wheel.files if file.endswith(".py")}):
        if top in sys.modules or find_spec(top) is not None:
            raise CatalogFileError(wheel.path, f"Python would import another {top} instead of the one in it")
    if not _PRIVATE:
        _PRIVATE.append(tempfile.TemporaryDirectory(prefix="muntin-catalog-"))
    folder = Path(_PRIVATE[0].name, f"{wheel.name}-{wheel.digest[:16]}")
    for file, data in wheel.files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    _UNPACKED[wheel.name] = UnpackedWheel(wheel, str(folder))
    sys.path.append(str(folder))
    invalidate_caches()


def _files_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if sum(info.file_size for info in infos) > _MOST_BYTES:
            raise ValueError(f"its files have more than {_MOST_BYTES:,} bytes")
        names = [info.filename for info in infos]
        if wrong := [name for name in names if not _SAFE_PATH.fullmatch(name) or names.count(name) > 1]:
            raise ValueError(f"it holds {wrong[0]!r} twice, or outside of the folder where it is unpacked")
        return {info.filename: archive.read(info) for info in infos}


def _check_record(files: Mapping[str, bytes], info: str) -> None:
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(files[f"{info}/RECORD"].decode())) if row}
    for name in sorted({*files, *rows} - {f"{info}/{own}" for own in _NOT_HASHED}):
        if name not in files or rows.get(name) != spelled_hash(files[name]):
            raise ValueError(f"{name} in it is not what its RECORD lists: it is damaged, or was changed")


def _installed(name: str) -> str | None:
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return None


def _fault_of(requirement: str) -> str:
    """Return in words what is wrong with an installed package that a wheel requires; empty if nothing is."""
    needed = Requirement(requirement)
    if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
        return ""
    has = _installed(needed.name)
    if has is not None and needed.specifier.contains(has, prereleases=True):
        return ""
    return f"{needed.name}{needed.specifier}" + (f" (here is {has})" if has else "")
