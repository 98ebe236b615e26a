"""A table as versions: a folder for each, and a pointer to the current one."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from muntin_engine.errors import StateError
from muntin_engine.sinks.owned_folder import OwnedFolder, bytes_of_rows, sync_tree
from muntin_engine.sinks.written_batch import NO_BATCH, WrittenBatch, latest_watermark

_POINTER: Final = "current.json"
_PREFIX: Final = "version-"
_VERSION: Final = re.compile(rf"{_PREFIX}\d+")


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current version of a table.

    Attributes:
        folder: The name of the folder that holds its rows.
        batch: The last micro-batch that is in it.
        watermark: The tick before which no later micro-batch changes the table; None if it is not known.
        is_revisable: True if the lifetimes of its rows may get other ends.
        read: The name of the input of that micro-batch; empty if it is not known.
        size: The bytes of all files of rows; None if they were not counted.
    """

    folder: str
    batch: int
    watermark: int | None = None
    is_revisable: bool = False
    read: str = ""
    size: int | None = None

    @property
    def written_batch(self) -> WrittenBatch:
        """The last micro-batch, with the name of its input."""
        return WrittenBatch(self.batch, self.read)

    def rows(self, table: Path) -> Path:
        """Return the folder with the rows of a table."""
        return table / self.folder


class TableVersions(OwnedFolder):
    """Versions of a table: folders `version-<batch>` with all its rows, and a pointer to one of them.

    Writing a new folder and replacing the pointer changes the table in one step. A version is named after the
    micro-batch that made it. The version before the current one stays for its readers; all others are old, or were
    being written when the process ended, and are deleted.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)

    @property
    def current(self) -> Pointer | None:
        """The current version of the table; None if none was published.

        Raises:
            StateError: Its files were deleted or changed.
        """
        current = self.read(_POINTER, Pointer)
        if current is None:
            versions = self._version_names()
            if len(versions) > 1:  # a single version may be the first, whose writing was cut short
                raise self.damaged(_POINTER, f"it is gone, and there are {', '.join(versions)}")
            return None
        if not _VERSION.fullmatch(current.folder):
            raise self.damaged(_POINTER, f"folder is {current.folder!r}, and versions are {_PREFIX}<micro-batch>")
        size = bytes_of_rows(current.rows(self.path))
        if current.size not in (None, size):
            raise StateError(
                f"the files of rows in {current.rows(self.path)} take {size:,} bytes, and had {current.size:,}\n"
                "  expected: all files, as this folder's query wrote them: restore the folder and its checkpoint from "
                "copies of\n  one time, or delete both and start the query with new ones, to compute the results again"
            )
        return current

    @property
    def rows(self) -> Path | None:
        """The folder with the rows of the table; None if no version was published."""
        current = self.current
        return None if current is None else current.rows(self.path)

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in the table."""
        current = self.current
        return NO_BATCH if current is None else current.written_batch

    def new_version(self, batch_id: int) -> Path:
        """Return a folder that does not exist yet, for the rows of the table with one more micro-batch.

        Raises:
            StateError: There is no current version, but a folder of another micro-batch.
        """
        folder = self.path / f"{_PREFIX}{batch_id}"
        versions = self._version_names()
        if versions and versions != [folder.name] and self.current is None:
            raise self.damaged(_POINTER, f"it is gone, and there is {versions[0]}")
        if folder.exists():  # an earlier attempt at the same micro-batch, which was not published
            shutil.rmtree(folder)
        return folder

    def publish(
        self, folder: Path, batch_id: int, *, watermark: int | None = None, is_revisable: bool = False, read: str = ""
    ) -> None:
        """Make a folder the current version of the table, and delete versions that have no readers any more.

        The folder and the pointer are on the disk when this has returned.

        Args:
            folder: The rows of the table: a new version, or the current one if the micro-batch changed nothing.
            batch_id: The last micro-batch in it.
            watermark: The tick before which no later micro-batch changes the table. It never goes back: where the
                previous version has a larger one, that stays.
            is_revisable: True if the lifetimes of its rows may get other ends.
            read: The name of the input of the micro-batch.
        """
        previous = self.current
        if previous is None or previous.folder != folder.name:
            sync_tree(folder)  # before the pointer names it
        if previous is not None:
            watermark = latest_watermark(previous.watermark, watermark)
        pointer = Pointer(folder.name, batch_id, watermark, is_revisable, read, size=bytes_of_rows(folder))
        self.replace(_POINTER, pointer)

        versions_with_readers = {folder.name}
        if previous is not None:  # readers that opened it before the pointer was replaced
            versions_with_readers.add(previous.folder)
        for name in self._version_names():
            if name not in versions_with_readers:
                shutil.rmtree(self.path / name)

    def _version_names(self) -> list[str]:
        """Return the names of all folders of versions, in order of their names."""
        return sorted(folder.name for folder in self.path.glob(f"{_PREFIX}*"))
