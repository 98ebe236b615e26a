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
from uuid import uuid4

from packaging.utils import canonicalize_name

from muntin.errors.safe_text import safe_message

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The time of all files in an archive, so that equal files make equal archives."""

_READABLE: Final = 0o644 << 16
_FOLDER: Final = 0o755 << 16
"""The permissions of files and folders, at the place where an archive has them."""

_DIGITS: Final = 20
"""The number of digits of a hash in the name of an archive."""

MOST_BYTES: Final = 512 * 2**20
"""The number of bytes that the files of an archive may have when they are inflated."""

MOST_FILES: Final = 50_000
"""The number of files that an archive may have."""

_NAME: Final = re.compile(rf".+-[0-9a-f]{{{_DIGITS}}}\.zip")


class UnreadableArchiveError(Exception):
    """A file cannot be read as an archive; the caller raises an error for the user who named it."""


def is_archive_name(name: str) -> bool:
    """Say whether a file has the name of an archive, which ends with a hash of its files."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of a package, to be written as a `.zip`.

    Attributes:
        name: The distribution's name.
        version: The distribution's version.
        files: The content of each file, by its path in the archive.
    """

    name: str
    version: str
    files: Mapping[str, bytes]

    @property
    def label(self) -> str:
        """The name and the version of the distribution."""
        return f"{self.name} {self.version}"

    @property
    def file_name(self) -> str:
        """The name of the `.zip`, which ends with a hash: only archives with the same files have the same name."""
        package = canonicalize_name(self.name).replace("-", "_")
        return f"{package}-{self.version}-{_digest(self.files)}.zip"

    def write(self, folder: Path) -> Path:
        """Write the archive into a folder, unless it is already there, and return its path."""
        path = folder / self.file_name
        if path.exists() and matches_hash_in_name(path):  # an archive that was cut short or changed is written anew
            return path
        # Each writer has a file of its own: another thread or process may write the same archive at this time.
        unfinished = folder / f"{path.stem}-{uuid4().hex}.part"
        try:
            with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in _folders(self.files):
                    archive.writestr(_entry(name, _FOLDER), b"")
                for name, data in sorted(self.files.items()):
                    archive.writestr(_entry(name, _READABLE), data)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)  # it is there if it could not be written
        return path


def matches_hash_in_name(path: Path) -> bool:
    """Say whether the files in an archive have the hash with which the name of the archive ends."""
    try:
        files = read_files(path)
    except UnreadableArchiveError:
        return False
    return is_archive_name(path.name) and path.stem.endswith(f"-{_digest(files)}")


def read_files(path: Path) -> dict[str, bytes]:
    """Read the files in a `.zip`, by their paths.

    Raises:
        UnreadableArchiveError: The file is no archive, is damaged or encrypted, or has too many or too large files.
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
    except Exception as error:  # zipfile raises errors of many kinds for bytes that are no archive
        raise UnreadableArchiveError(f"it cannot be read: {safe_message(error)}") from error


def _digest(files: Mapping[str, bytes]) -> str:
    """Return the hash of files with their paths."""
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(f"{len(path)} {path} {len(data)} ".encode() + data)
    return digest.hexdigest()[:_DIGITS]


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    """Return the entry of a file or a folder, which is the same on each machine and at any time.

    Args:
        name: The path in the archive.
        mode: The permissions, shifted to the upper 16 bits: there an archive has them.
    """
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode
    return entry


def _folders(files: Mapping[str, bytes]) -> list[str]:
    """Return the folders of all files: Python finds a package without an `__init__.py` by the entry of its folder."""
    folders: set[str] = set()
    for name in files:
        for parent in Path(name).parents:
            if parent.parts:  # the last parent is the archive itself
                folders.add(f"{parent}/")
    return sorted(folders)


def find_fetched_archives() -> bool:
    """Correct `sys.path` where it names an archive that lies one folder deeper; return whether anything was corrected.

    On Spark Connect `sys.path` of a stream's tasks names shipped packages in the folder of all files. But they lie in
    the folder of their session, which is inside that one (Spark 4.3). A file with the name of the archive but other
    contents is skipped, by the hash with which the name ends.
    """
    has_archives = False
    for place, entry in enumerate(sys.path):
        archive = _archive_in_subfolder(Path(entry))
        if archive is not None:
            sys.path[place] = str(archive)
            has_archives = True
    invalidate_caches()
    return has_archives


def _archive_in_subfolder(path: Path) -> Path | None:
    """Return the archive in a subfolder for a path that names a missing archive; None if there is no such archive."""
    if not is_archive_name(path.name) or path.exists():
        return None
    for candidate in sorted(path.parent.glob(f"*/{path.name}")):
        if matches_hash_in_name(candidate):
            return candidate
    return None
