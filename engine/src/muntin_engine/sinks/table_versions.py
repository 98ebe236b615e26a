"""A table as versions: a folder for each, and a pointer to the current one."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
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
        batch: The last micro-batch that is in the table.
        watermark: The tick before which no later micro-batch changes the table; None if it is not known.
        is_revisable: True if the lifetimes of its rows may get other ends.
        input_id: The id of the input of that micro-batch; empty if it is not known.
        size: The bytes of all files of rows in the folder; None if they were not counted.
    """

    folder: str
    batch: int
    watermark: int | None = None
    is_revisable: bool = False
    input_id: str = ""
    size: int | None = None

    @property
    def written_batch(self) -> WrittenBatch:
        """The last micro-batch, with the id of its input."""
        return WrittenBatch(self.batch, self.input_id)

    def rows_folder(self, table: Path) -> Path:
        """Return the path of the folder with the rows, below the folder of the table."""
        return table / self.folder


class TableVersions(OwnedFolder):
    """Versions of a table: folders `version-<batch>` with all its rows, and a pointer to one of them.

    Writing a new folder and replacing the pointer changes the table in one step. A version is named after the
    micro-batch that made it. The version before the current one stays for its readers; all others are old, or were
    being written when the process ended, and are deleted.
    """

    @property
    def current(self) -> Pointer | None:
        """The current version of the table; None if none was published.

        Raises:
            StateError: The pointer is damaged or gone, or files of the version were deleted or changed.
        """
        current = self.read(_POINTER, Pointer)
        if current is None:
            versions = self._version_names()
            # A single version without a pointer may be the first one, if its writing was cut short.
            if len(versions) > 1:
                raise self.damaged(_POINTER, f"it is gone, and there are {', '.join(versions)}")
            return None
        if not _VERSION.fullmatch(current.folder):
            raise self.damaged(_POINTER, f"folder is {current.folder!r}, and versions are {_PREFIX}<micro-batch>")
        folder = current.rows_folder(self.path)
        size = bytes_of_rows(folder)
        if current.size is not None and current.size != size:
            raise StateError(
                f"the files of rows in {folder} take {size:,} bytes, and had {current.size:,}\n"
                "  expected: all files, as this folder's query wrote them: restore the folder and its checkpoint from "
                "copies of\n  one time, or delete both and start the query with new ones, to compute the results again"
            )
        return current

    @property
    def rows_folder(self) -> Path | None:
        """The folder with the rows of the table; None if no version was published."""
        current = self.current
        return None if current is None else current.rows_folder(self.path)

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in the table."""
        current = self.current
        return NO_BATCH if current is None else current.written_batch

    def new_version(self, batch_id: int) -> Path:
        """Return the path of the version that a micro-batch makes; there is no folder at the path yet.

        Raises:
            StateError: There is no pointer, but a version of another micro-batch: the pointer was lost.
        """
        folder = self.path / f"{_PREFIX}{batch_id}"
        versions = self._version_names()
        if versions and versions != [folder.name] and self.current is None:
            raise self.damaged(_POINTER, f"it is gone, and there is {versions[0]}")
        if folder.exists():  # an earlier attempt at the same micro-batch, which was not published
            shutil.rmtree(folder)
        return folder

    def publish(
        self,
        folder: Path,
        batch_id: int,
        *,
        watermark: int | None = None,
        is_revisable: bool = False,
        input_id: str = "",
    ) -> None:
        """Make a folder the current version of the table, and delete versions that have no readers any more.

        When this method has returned, the folder and the pointer are on the disk and survive a loss of power.

        Args:
            folder: The rows of the table: a new version, or the current one if the micro-batch changed nothing.
            batch_id: The last micro-batch whose changes are in the folder.
            watermark: The tick before which no later micro-batch changes the table. If the previous version has a later
                watermark, that one is kept.
            is_revisable: True if the lifetimes of its rows may get other ends.
            input_id: The id of the input of the micro-batch.
        """
        previous = self.current
        if previous is None or previous.folder != folder.name:
            sync_tree(folder)  # the rows have to be on the disk before the pointer names their folder
        if previous is not None:
            watermark = latest_watermark(previous.watermark, watermark)
        pointer = Pointer(
            folder.name,
            batch=batch_id,
            watermark=watermark,
            is_revisable=is_revisable,
            input_id=input_id,
            size=bytes_of_rows(folder),
        )
        self.replace(_POINTER, pointer)

        # Readers may have opened the previous version before the pointer was replaced. It stays until the next one.
        versions_with_readers = {folder.name}
        if previous is not None:
            versions_with_readers.add(previous.folder)
        for name in self._version_names():
            if name not in versions_with_readers:
                shutil.rmtree(self.path / name)

    def _version_names(self) -> list[str]:
        """Return the names of all folders of versions, in order of their names."""
        return sorted(folder.name for folder in self.path.glob(f"{_PREFIX}*"))
