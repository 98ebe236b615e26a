"""A table as folders, one per version, and a pointer to the one that counts."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from muntin_engine.writing.local_folder import LocalFolder

_POINTER: Final = "current.json"
_PREFIX: Final = "version-"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The present version of a table.

    Attributes:
        folder: The name of the folder that holds its rows.
        batch: The last micro-batch that is in it.
        watermark: The tick before which no later micro-batch changes the table; None if none was told.
        is_revisable: True if the lifetimes of its rows may get other ends.
    """

    folder: str
    batch: int
    watermark: int | None = None
    is_revisable: bool = False

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
        """The present version of the table; None if it was never written."""
        data = self.read(_POINTER)
        return None if data is None else Pointer(**data)

    @property
    def rows(self) -> Path | None:
        """The folder with the rows of the table; None if it was never written."""
        current = self.current
        return None if current is None else current.rows(self.path)

    def has(self, batch_id: int) -> bool:
        """True if a micro-batch is in the table."""
        current = self.current
        return current is not None and batch_id <= current.batch

    def next(self, batch_id: int) -> Path:
        """Return a new folder for the table with one more micro-batch."""
        folder = self.path / f"{_PREFIX}{batch_id}"
        if folder.exists():
            shutil.rmtree(folder)
        return folder

    def turn_to(self, folder: Path, batch_id: int, *, watermark: int | None = None, is_revisable: bool = False) -> None:
        """Let a folder be the table, which has all micro-batches up to one, and remove what is out of date.

        A watermark never goes back, so the one before stays if it is the larger.
        """
        before = self.current
        known = [mark for mark in (watermark, before.watermark if before else None) if mark is not None]
        pointer = Pointer(folder.name, batch_id, max(known, default=None), is_revisable)
        self.replace(_POINTER, asdict(pointer))
        kept = {folder.name, before.folder if before else ""}
        for old in self.path.glob(f"{_PREFIX}*"):
            if old.name not in kept:
                shutil.rmtree(old)
