"""A folder with a folder per micro-batch."""

from __future__ import annotations

import errno
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast
from uuid import uuid4

from muntin_engine.errors import StateError
from muntin_engine.sinks.addresses import is_elsewhere, spark_address
from muntin_engine.sinks.owned_folder import TO_GO_ON, OwnedFolder, bytes_of_rows, sync, sync_tree
from muntin_engine.sinks.rows_on_driver import write_file
from muntin_engine.sinks.stored_path import StoredPath
from muntin_engine.sinks.written_batch import NO_BATCH, WrittenBatch, latest_watermark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMN: Final = "batch"
"""The column that readers get from the folders' names."""

_STAGED: Final = "_staged"
_REPLACED: Final = "_replaced"
_LAST: Final = "_last.json"
_IS_TAKEN: Final = (errno.EEXIST, errno.ENOTEMPTY)
"""The errors of a rename to a folder that is there: another run has put it in place in between."""

_FILE: Final = "rows.parquet"
"""The only file of a micro-batch where the file system is not this machine's."""


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last micro-batch that was put in a folder, also if it had no rows.

    Attributes:
        batch: Its number.
        tick: The output watermark after it: no later micro-batch changes anything before that tick. None if it is not
            known.
        before: The output watermark after the micro-batch before it.
        writes: The number of times that this record was written: readers see by it that nothing was replaced while they
            read.
        read: The name of its input; empty if it is not known.
        newest: The last micro-batch that has a folder, which is an earlier one where this one had no rows. None if it
            is not known.
        size: The bytes of all files of rows in that folder.
    """

    batch: int
    tick: int | None
    before: int | None
    writes: int
    read: str = ""
    newest: int | None = None
    size: int | None = None

    @property
    def written_batch(self) -> WrittenBatch:
        """The micro-batch, with the name of its input."""
        return WrittenBatch(self.batch, self.read)


class BatchFolders(OwnedFolder, ABC):
    """Folders `batch=0`, `batch=1`, ..., each of which is there whole or not at all.

    Rows are staged under a name that starts with an underscore, which Spark and Arrow do not read, and then put in
    place by renaming.

    Two runs of one query may be at the same micro-batch for a moment, when it is started again while it runs: each
    stages its rows under a name of its own, and removes the other's folder only when it has one to put in its place.

    Attributes:
        is_elsewhere: True if the folders are not on this machine's file system.
    """

    is_elsewhere: ClassVar[bool]

    @property
    def is_empty(self) -> bool:
        """True if there is no micro-batch."""
        return next(self.path.glob(f"{COLUMN}=*"), None) is None

    @abstractmethod
    def stage(self, batch: DataFrame, row_count: int | None) -> Path:
        """Write the rows of a micro-batch to a new path.

        Args:
            batch: The rows.
            row_count: The number of rows; None if it is not known.
        """

    @abstractmethod
    def put(self, staged: Path, batch_id: int) -> None:
        """Put staged rows in place, instead of an earlier attempt at the same micro-batch.

        Raises:
            FileNotFoundError: The staged rows are gone; then the earlier attempt stays.
        """

    @abstractmethod
    def drop(self, batch_id: int) -> None:
        """Remove an earlier attempt at a micro-batch, if there is one, as a whole."""

    @abstractmethod
    def _remove(self, path: Path) -> None:
        """Remove what a run left at a path when it was cut short."""

    @abstractmethod
    def _size(self, batch_id: int) -> int | None:
        """Return the bytes of all files of rows of a micro-batch; None if it has no folder."""

    def claim(self, query_id: str) -> None:
        """Make the folder, if need be, check that it belongs to a query, and remove rows that are not whole."""
        super().claim(query_id)
        for pattern in (f"{_STAGED}*", f"{_REPLACED}*"):
            for leftover in self.path.glob(pattern):  # of a run that was cut short
                self._remove(leftover)

    def new_path(self, name: str = _STAGED) -> Path:
        """Return a path with a name that no other run uses."""
        return self.path / f"{name}-{uuid4().hex}"

    @property
    def last(self) -> LastBatch | None:
        """The record of the last micro-batch; None if there was none."""
        return self.read(_LAST, LastBatch)

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in place, also if the process died between the folder and its record.

        Raises:
            StateError: The newest folder is gone, or a file in it.
        """
        last = self.last
        if last is None:
            recorded = NO_BATCH
        else:
            self._check_newest(last)
            recorded = last.written_batch

        # A folder is put in place before its record is written, so the newest folder may be one further.
        newest = NO_BATCH.number
        for folder in self.path.glob(f"{COLUMN}=*"):
            number = folder.name.partition("=")[2]
            if number.isdecimal():
                newest = max(newest, int(number))
        return recorded if recorded.includes(newest) else WrittenBatch(newest)

    def go_back(self, batch_id: int) -> None:
        """Undo the record of a micro-batch that comes again, while its rows are replaced."""
        last = self.last
        if last is None or not last.written_batch.includes(batch_id):
            return
        tick = last.before if batch_id == last.batch else None  # the record has no watermark of earlier micro-batches
        record = LastBatch(batch_id - 1, tick=tick, before=None, writes=last.writes + 1)
        # The size of a folder that stays can still be checked; that of one that is replaced is no longer known.
        if last.newest is not None and last.newest < batch_id:
            record = replace(record, newest=last.newest, size=last.size)
        self.replace(_LAST, record)

    def keep(self, batch_id: int, tick: int | None = None, read: str = "") -> None:
        """Record that a micro-batch is in place.

        Args:
            batch_id: The number of the micro-batch.
            tick: The output watermark after it.
            read: The name of its input.
        """
        last = self.last
        if last is None:
            last = LastBatch(batch_id - 1, tick=None, before=None, writes=0)
        record = LastBatch(
            batch_id,
            tick=latest_watermark(last.tick, tick),
            before=last.tick,
            writes=last.writes + 1,
            read=read,
        )
        size = self._size(batch_id)
        if size is not None:
            record = replace(record, newest=batch_id, size=size)
        else:  # a micro-batch without rows has no folder
            record = replace(record, newest=last.newest, size=last.size)
        self.replace(_LAST, record)

    def _check_newest(self, last: LastBatch) -> None:
        """Raise unless the newest folder has the files that it had when it was put in place.

        Users may remove older folders.

        Raises:
            StateError: The folder is gone, or a file in it.
        """
        if last.newest is None:
            return
        size = self._size(last.newest)
        if size == last.size:
            return
        folder = self._folder(last.newest)
        has = "is gone" if size is None else f"has files of rows of {size:,} bytes, and had {last.size:,}"
        raise StateError(f"{folder}, which micro-batch {last.newest} wrote, {has}\n  {TO_GO_ON}")

    def _folder(self, batch_id: int) -> Path:
        """Return the path of the folder of a micro-batch."""
        return self.path / f"{COLUMN}={batch_id}"


class LocalBatchFolders(BatchFolders):
    """Folders on this machine's file system, or one that the workers share, each with the files of the workers.

    A folder, and the record of it, are on the disk when `put` and `keep` have returned.
    """

    is_elsewhere = False

    def stage(self, batch: DataFrame, row_count: int | None) -> Path:
        """Let the workers write the rows to a new folder."""
        staged = self.new_path()
        batch.write.parquet(spark_address(staged))
        return staged

    def put(self, staged: Path, batch_id: int) -> None:
        """Sync the staged folder and rename it, which takes the place of an earlier attempt."""
        sync_tree(staged)  # it fails if the rows are gone, before anything is removed
        while True:
            self.drop(batch_id)
            try:
                staged.rename(self._folder(batch_id))
            except OSError as error:
                if error.errno not in _IS_TAKEN:  # by another run, since `drop`: that is dropped as well
                    raise
            else:
                sync(self.path)
                return

    def drop(self, batch_id: int) -> None:
        """Rename the folder, so that readers miss it as a whole, and delete it."""
        replaced = self.new_path(_REPLACED)
        try:
            self._folder(batch_id).rename(replaced)
        except FileNotFoundError:
            return
        shutil.rmtree(replaced)

    def _remove(self, path: Path) -> None:
        shutil.rmtree(path)

    def _size(self, batch_id: int) -> int | None:
        folder = self._folder(batch_id)
        return bytes_of_rows(folder) if folder.exists() else None


class StoredBatchFolders(BatchFolders):
    """Folders on any other file system, each with one file, which the driver writes.

    The file is renamed: an object store copies an object whole.
    """

    is_elsewhere = True

    def _absolute(self, path: str | PathLike[str]) -> Path:
        return cast("Path", StoredPath(str(path)))  # it has the methods of a path that are called here

    def stage(self, batch: DataFrame, row_count: int | None) -> Path:
        """Write the rows to a new file."""
        staged = self.new_path()
        write_file(batch, row_count, staged)
        return staged

    def put(self, staged: Path, batch_id: int) -> None:
        """Rename the staged file, which replaces that of an earlier attempt."""
        staged.replace(self._file(batch_id))

    def drop(self, batch_id: int) -> None:
        """Delete the file."""
        self._remove(self._file(batch_id))

    def _remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def _size(self, batch_id: int) -> int | None:
        file = cast("StoredPath", self._file(batch_id))
        return file.size

    def _file(self, batch_id: int) -> Path:
        """Return the path of the file of a micro-batch."""
        return self._folder(batch_id) / _FILE


def batch_folders_at(path: str | PathLike[str]) -> BatchFolders:
    """Return the folders of micro-batches in a folder, or at the address of one.

    Raises:
        QueryError: The path is neither.
    """
    if isinstance(path, str) and is_elsewhere(path):
        return StoredBatchFolders(path)
    return LocalBatchFolders(path)
