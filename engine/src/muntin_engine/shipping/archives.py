"""A package as a `.zip` that Python imports from."""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muntin_engine.shipping.distributions import canonical

_LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
_READABLE: Final = 0o644 << 16
_FOLDER: Final = 0o755 << 16
_DIGITS: Final = 10


_NAME: Final = re.compile(rf".+-[0-9a-f]{{{_DIGITS}}}\.zip")


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
        digest = hashlib.sha256()
        for path, data in sorted(self.files.items()):
            digest.update(f"{len(path)} {path} {len(data)} ".encode() + data)
        name = canonical(self.name).replace("-", "_")
        return f"{name}-{self.version}-{digest.hexdigest()[:_DIGITS]}.zip"

    def write(self, folder: Path) -> Path:
        """Write the archive into a folder, unless it is there, and return its path."""
        path = folder / self.file_name
        if not path.exists():
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in _folders(self.files):
                    archive.writestr(_entry(name, _FOLDER), b"")
                for name, data in sorted(self.files.items()):
                    archive.writestr(_entry(name, _READABLE), data)
        return path


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode
    return entry


def _folders(files: Mapping[str, bytes]) -> list[str]:
    """Return all folders, which a package without an `__init__.py` is found by."""
    parents = {str(parent) for name in files for parent in Path(name).parents if parent.parts}
    return sorted(f"{parent}/" for parent in parents)
