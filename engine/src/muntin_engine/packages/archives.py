"""A package as a `.zip` that Python imports from."""

from __future__ import annotations

import hashlib
import re
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import invalidate_caches
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from muntin.errors.safe_text import safe_message

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644 << 16
_FOLDER: Final = 0o755 << 16
_DIGITS: Final = 20


MOST_BYTES: Final = 512 * 2**20
"""Bytes that the files of an archive may take when they are inflated."""

MOST_FILES: Final = 50_000
"""Files that an archive may have."""

_NAME: Final = re.compile(rf".+-[0-9a-f]{{{_DIGITS}}}\.zip")


class UnreadableArchiveError(Exception):
    """A file is no archive that can be read; whoever named it is told by another error."""


def is_archive_name(name: str) -> bool:
    """True if a file is named as an archive is, after what is in it."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of a package, to be written as a `.zip`.

    Attributes:
        name: The distribution's name.
        version: Its version.
        files: By its path in the archive, what a file holds.
    """

    name: str
    version: str
    files: Mapping[str, bytes]

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    @property
    def file_name(self) -> str:
        """The name of the `.zip`; the same files have the same name, others another."""
        return f"{canonicalize_name(self.name).replace('-', '_')}-{self.version}-{_digest(self.files)}.zip"

    def write(self, folder: Path) -> Path:
        """Write the archive into a folder, unless it is there, and return its path."""
        path = folder / self.file_name
        if not path.exists() or not is_what_its_name_says(path):
            unfinished = path.with_suffix(".part")
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in _folders(self.files):
                    archive.writestr(_entry(name, _FOLDER), b"")
                for name, data in sorted(self.files.items()):
                    archive.writestr(_entry(name, _READABLE), data)
            unfinished.replace(path)
        return path


def is_what_its_name_says(path: Path) -> bool:
    """True if the files in an archive have the hash that its name ends with."""
    try:
        files = read_files(path)
    except UnreadableArchiveError:
        return False
    return is_archive_name(path.name) and path.stem.endswith(f"-{_digest(files)}")


def read_files(path: Path) -> dict[str, bytes]:
    """Read the files in a `.zip`, by their paths.

    Raises:
        UnreadableArchiveError: It is none, is damaged or encrypted, or its files are too many or too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            size = sum(entry.file_size for entry in entries)
            if size > MOST_BYTES or len(entries) > MOST_FILES:
                raise UnreadableArchiveError(
                    f"its {len(entries):,} files take {size:,} bytes when they are inflated\n"
                    f"  expected: at most {MOST_FILES:,} files of {MOST_BYTES:,} bytes together"
                )
            return {entry.filename: archive.read(entry) for entry in entries}
    except UnreadableArchiveError:
        raise
    except Exception as error:  # whatever bytes that are no archive lead to
        raise UnreadableArchiveError(f"it cannot be read: {safe_message(error)}") from error


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{len(path)} {path} {len(data)} ".encode() + data)
    return digest.hexdigest()[:_DIGITS]


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode
    return entry


def _folders(files: Mapping[str, bytes]) -> list[str]:
    """Return all folders, which a package without an `__init__.py` is found by."""
    parents = {str(parent) for name in files for parent in Path(name).parents if parent.parts}
    return sorted(f"{parent}/" for parent in parents)


def find_fetched_archives() -> bool:
    """Have Python import from archives that are in a folder below the one where it looks; return whether there are any.

    On Spark Connect the tasks of a stream look for shipped packages in the folder of all files, and they lie in that of
    their session, which is inside it (Spark 4.3). The name of an archive ends with a hash of what is in it. A file of
    that name with other contents is passed over.
    """
    found = {place: path for place, entry in enumerate(sys.path) if (path := _fetched(Path(entry))) is not None}
    for place, path in found.items():
        sys.path[place] = str(path)
    invalidate_caches()
    return bool(found)


def _fetched(wanted: Path) -> Path | None:
    if not is_archive_name(wanted.name) or wanted.exists():
        return None
    return next(filter(is_what_its_name_says, sorted(wanted.parent.glob(f"*/{wanted.name}"))), None)
