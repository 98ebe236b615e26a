"""A folder with a folder per micro-batch."""

from __future__ import annotations

import errno
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
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
_EXISTS_ALREADY: Final = (errno.EEXIST, errno.ENOTEMPTY)
"""The errors of renaming a folder to a path where there is one already."""

_FILE: Final = "rows.parquet"
"""The only file of a micro-batch where the file system is not this machine's."""


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last micro-batch that was put in a folder, also if it had no rows.

    Attributes:
        batch: The number of the micro-batch.
        watermark: The output watermark after the micro-batch: no later one changes anything before that tick. None if
            it is not known.
        previous_watermark: The output watermark after the micro-batch before this one; None if it is not known.
        writes: The number of times that this record was written. A reader that finds the same number before and after
            it has listed the files knows that none was replaced meanwhile.
        input_id: The id of the input of the micro-batch; empty if it is not known.
        newest_folder: The last micro-batch that has a folder, which is an earlier one if this one had no rows. None if
            it is not known.
        size: The bytes of all files of rows in the newest folder.
    """

    batch: int
    watermark: int | None
    previous_watermark: int | None
    writes: int
    input_id: str = ""
    newest_folder: int | None = None
    size: int | None = None

    @property
    def written_batch(self) -> WrittenBatch:
        """The micro-batch, with the id of its input."""
        return WrittenBatch(self.batch, self.input_id)


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
        """Write the rows of a micro-batch to a new path that readers do not look at, and return the path.

        Args:
            batch: The rows.
            row_count: The number of rows; None if it is not known.
        """

    @abstractmethod
    def put(self, staged: Path, batch_id: int) -> None:
        """Put staged rows in place, and remove the rows of an earlier attempt at the same micro-batch.

        Args:
            staged: The path that `stage` returned.
            batch_id: The number of the micro-batch.

        Raises:
            FileNotFoundError: The staged rows are gone. The rows of the earlier attempt are still there then.
        """

    @abstractmethod
    def drop(self, batch_id: int) -> None:
        """Remove the rows of an earlier attempt at a micro-batch, if there is one; readers see all of them or none."""

    @abstractmethod
    def _remove(self, path: Path) -> None:
        """Remove the rows at a path, which a run left there when it was cut short."""

    @abstractmethod
    def _size(self, batch_id: int) -> int | None:
        """Return the bytes of all files of rows of a micro-batch; None if it has no folder."""

    def claim(self, query_id: str) -> None:
        """Make the folder, if need be, check that it belongs to a query, and remove rows that are not whole.

        Raises:
            QueryError: The folder belongs to another query.
            StateError: The file that names the query is damaged.
        """
        super().claim(query_id)
        # A run that was cut short has left rows that it staged, or that it was about to delete.
        for pattern in (f"{_STAGED}*", f"{_REPLACED}*"):
            for leftover in self.path.glob(pattern):
                self._remove(leftover)

    def new_path(self, prefix: str = _STAGED) -> Path:
        """Return a path in the folder that no other run uses, by the prefix of its name."""
        return self.path / f"{prefix}-{uuid4().hex}"

    @property
    def last_record(self) -> LastBatch | None:
        """The record of the last micro-batch; None if there was none."""
        return self.read(_LAST, LastBatch)

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in place, whether or not its record was written before the process died.

        Raises:
            StateError: The newest folder, or a file in it, is gone.
        """
        last_record = self.last_record
        if last_record is None:
            recorded_batch = NO_BATCH
        else:
            self._check_newest_folder(last_record)
            recorded_batch = last_record.written_batch

        # A folder is put in place before its record is written. If the process died in between, the newest folder is
        # one micro-batch ahead of the record, and the id of its input is not known.
        newest_folder = NO_BATCH.number
        for folder in self.path.glob(f"{COLUMN}=*"):
            number = folder.name.partition("=")[2]
            if number.isdecimal():
                newest_folder = max(newest_folder, int(number))
        is_record_up_to_date = recorded_batch.includes(newest_folder)
        return recorded_batch if is_record_up_to_date else WrittenBatch(newest_folder)

    def undo_record(self, batch_id: int) -> None:
        """If a micro-batch comes again, set the record back to the micro-batch before it: its rows are about to change.

        A micro-batch that comes for the first time is not in the record yet: then nothing changes.
        """
        last_record = self.last_record
        if last_record is None or not last_record.written_batch.includes(batch_id):
            return
        # The record has the watermark from before its last micro-batch. If an earlier micro-batch comes again, the
        # watermark from before that one is not known.
        watermark = last_record.previous_watermark if batch_id == last_record.batch else None

        # The size of a folder that stays can still be checked. A folder that is replaced may get another size.
        newest_folder: int | None = None
        size: int | None = None
        if last_record.newest_folder is not None and last_record.newest_folder < batch_id:
            newest_folder = last_record.newest_folder
            size = last_record.size
        record = LastBatch(
            batch_id - 1,
            watermark=watermark,
            previous_watermark=None,
            writes=last_record.writes + 1,  # by which a reader notices that files were replaced
            newest_folder=newest_folder,
            size=size,
        )
        self.replace(_LAST, record)

    def record_batch(self, batch_id: int, watermark: int | None = None, input_id: str = "") -> None:
        """Write the record that says that a micro-batch is in place.

        Args:
            batch_id: The number of the micro-batch.
            watermark: The output watermark after the micro-batch; None if it is not known.
            input_id: The id of the input of the micro-batch; empty if it is not known.
        """
        last_record = self.last_record
        if last_record is None:  # there is no file yet: begin with a record of nothing
            last_record = LastBatch(batch_id - 1, watermark=None, previous_watermark=None, writes=0)

        newest_folder: int | None = batch_id
        size = self._size(batch_id)
        if size is None:
            # A micro-batch without rows has no folder: the newest folder is still that of an earlier micro-batch.
            newest_folder = last_record.newest_folder
            size = last_record.size

        record = LastBatch(
            batch_id,
            watermark=latest_watermark(last_record.watermark, watermark),
            previous_watermark=last_record.watermark,
            writes=last_record.writes + 1,  # by which a reader notices that files were replaced
            input_id=input_id,
            newest_folder=newest_folder,
            size=size,
        )
        self.replace(_LAST, record)

    def _check_newest_folder(self, last_record: LastBatch) -> None:
        """Raise unless the newest folder has as many bytes of rows as when it was put in place.

        Older folders are not checked, as users may remove them.

        Raises:
            StateError: The folder, or a file in it, is gone.
        """
        newest_folder = last_record.newest_folder
        if newest_folder is None:
            return
        size = self._size(newest_folder)
        if size == last_record.size:
            return
        loss = "is gone" if size is None else f"has files of rows of {size:,} bytes, and had {last_record.size:,}"
        raise StateError(
            f"{self._folder(newest_folder)}, which micro-batch {newest_folder} wrote, {loss}\n  {TO_GO_ON}"
        )

    def _folder(self, batch_id: int) -> Path:
        """Return the path of the folder of a micro-batch."""
        return self.path / f"{COLUMN}={batch_id}"


class LocalBatchFolders(BatchFolders):
    """Folders on this machine's file system, or one that the workers share, each with the files of the workers.

    When `put` has returned, the folder is on the disk and survives a loss of power; so is the record after
    `record_batch`.
    """

    is_elsewhere = False

    def stage(self, batch: DataFrame, row_count: int | None) -> Path:
        """Let the workers write the rows to a new folder."""
        staged = self.new_path()
        batch.write.parquet(spark_address(staged))
        return staged

    def put(self, staged: Path, batch_id: int) -> None:
        """Write the staged folder through to the disk and rename it, in the place of an earlier attempt.

        Raises:
            FileNotFoundError: The staged folder is gone. The folder of the earlier attempt is still there then.
        """
        sync_tree(staged)  # raises if the staged folder is gone, before the earlier attempt is removed
        while True:
            self.drop(batch_id)
            try:
                staged.rename(self._folder(batch_id))
            except OSError as error:
                # Another run of the query may have put its own folder there since `drop`: drop that one too.
                if error.errno not in _EXISTS_ALREADY:
                    raise
            else:
                sync(self.path)
                return

    def drop(self, batch_id: int) -> None:
        """Rename the folder and delete it; nothing if the micro-batch has no folder.

        The rename hides all files of the folder from readers at once.
        """
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
        staged_file = self.new_path()
        write_file(batch, row_count, staged_file)
        return staged_file

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
        QueryError: The argument is neither a path nor an address.
    """
    if isinstance(path, str) and is_elsewhere(path):
        return StoredBatchFolders(path)
    return LocalBatchFolders(path)
