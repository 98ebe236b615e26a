"""A table as folders, one per version, and a pointer to the one that counts."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.writing.local_folder import LocalFolder, sync_tree

_POINTER: Final = "current.json"
_PREFIX: Final = "version-"
_VERSION: Final = re.compile(rf"{_PREFIX}\d+")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The present version of a table.

    Attributes:
        folder: The name of the folder that holds its rows.
        batch: The last micro-batch that is in it.
        watermark: The tick before which no later micro-batch changes the table; None if none was told.
        is_revisable: True if the lifetimes of its rows may get other ends.
        read: The name of what that micro-batch read; empty if it is not known.
        size: The bytes of all files of rows; None if they were not counted.
    """

    folder: str
    batch: int
    watermark: int | None = None
    is_revisable: bool = False
    read: str = ""
    size: int | None = None

    def rows(self, table: Path) -> Path:
        """Return the folder with the rows of a table."""
        return table / self.folder


class TableVersions(LocalFolder):
    """Folders `version-<batch>` with the whole table, and a pointer that is replaced as a whole.

    A version is named after the micro-batch that made it. One that the pointer does not name is an attempt that was
    cut short, or an old one; only the one before the last is left to those who read it still.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)

    @property
    def current(self) -> Pointer | None:
        """The present version of the table; None if it was never written.

        Raises:
            StateError: It is gone, or is not as it was.
        """
        current = self.read(_POINTER, Pointer)
        if current is None:
            if len(versions := self._versions) > 1:  # one may be the first, whose writing was cut short
                raise self.damaged(_POINTER, f"it is gone, and there are {', '.join(sorted(versions))}")
            return None
        if not _VERSION.fullmatch(current.folder):
            raise self.damaged(_POINTER, f"folder is {current.folder!r}, and versions are {_PREFIX}<micro-batch>")
        size = _size(current.rows(self.path))
        if current.size not in (None, size):
            raise StateError(
                f"the files of rows in {current.rows(self.path)} take {size:,} bytes, and had {current.size:,}\n"
                "  expected: all files, as this folder's query wrote them: restore the folder and its checkpoint from "
                "copies of\n  one time, or delete both and start the query with new ones, to compute the results again"
            )
        return current

    @property
    def rows(self) -> Path | None:
        """The folder with the rows of the table; None if it was never written."""
        current = self.current
        return None if current is None else current.rows(self.path)

    @property
    def _versions(self) -> list[str]:
        return [folder.name for folder in self.path.glob(f"{_PREFIX}*")]

    def has(self, batch_id: int) -> bool:
        """True if a micro-batch is in the table."""
        current = self.current
        return current is not None and batch_id <= current.batch

    def next(self, batch_id: int) -> Path:
        """Return a new folder for the table with one more micro-batch.

        Raises:
            StateError: No version counts, and there is one of another micro-batch.
        """
        folder = self.path / f"{_PREFIX}{batch_id}"
        if (versions := self._versions) and self.current is None and versions != [folder.name]:
            raise self.damaged(_POINTER, f"it is gone, and there is {versions[0]}")
        if folder.exists():
            shutil.rmtree(folder)
        return folder

    def turn_to(
        self, folder: Path, batch_id: int, *, watermark: int | None = None, is_revisable: bool = False, read: str = ""
    ) -> None:
        """Let a folder be the table, which has all micro-batches up to one, and remove what is out of date.

        The folder and the pointer are on the disk when this has returned.

        A watermark never goes back, so the one before stays if it is the larger.
        """
        before = self.current
        if before is None or before.folder != folder.name:
            sync_tree(folder)
        known = [mark for mark in (watermark, before.watermark if before else None) if mark is not None]
        pointer = Pointer(folder.name, batch_id, max(known, default=None), is_revisable, read, _size(folder))
        self.replace(_POINTER, pointer)
        kept = {folder.name, before.folder if before else ""}
        for old in self.path.glob(f"{_PREFIX}*"):
            if old.name not in kept:
                shutil.rmtree(old)


def _size(folder: Path) -> int:
    """Return the bytes of the files of rows in a folder."""
    return sum(file.stat().st_size for file in folder.glob("[!._]*"))
