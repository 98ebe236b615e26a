"""A folder with a folder per micro-batch."""

from __future__ import annotations

import errno
import shutil
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Final, cast
from uuid import uuid4

from muntin_engine.errors import StateError
from muntin_engine.sinks.local_folder import TO_GO_ON, LocalFolder, sync, sync_tree
from muntin_engine.sinks.places import is_elsewhere
from muntin_engine.sinks.sink import WrittenBatch
from muntin_engine.sinks.stored_path import StoredPath

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
        tick: The output watermark after it: no later one changes anything before. None if it is not known.
        before: The output watermark after the one before it.
        writes: How often this was written: readers see by it that nothing was replaced while they read.
        read: The name of what it read; empty if it is not known.
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


class BatchFolders(LocalFolder):
    """Folders `batch=0`, `batch=1`, ..., each of which is there whole or not at all.

    Names that start with an underscore are none that Spark or Arrow read. On this machine's file system a folder is
    put in place by renaming it. Elsewhere it has one file, which is: an object store copies an object whole.

    On this machine's file system a folder, and the record of it, are on the disk when `put` and `keep` have returned.

    Two runs of one query may be at the same micro-batch for a moment, when it is started again while it runs: each
    stages its rows under a name of its own, and takes the other's folder away only when it has one to put in its place.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.is_elsewhere: Final = isinstance(path, str) and is_elsewhere(path)
        super().__init__("elsewhere" if self.is_elsewhere else path)
        if self.is_elsewhere:
            self.path = cast("Path", StoredPath(str(path)))  # it has the methods that are called

    @property
    def is_empty(self) -> bool:
        """True if there is no micro-batch."""
        return next(self.path.glob(f"{COLUMN}=*"), None) is None

    def staged(self) -> Path:
        """Return a new place for the next micro-batch: a folder, which is not there yet; elsewhere a file."""
        self._staging = self._unused(_STAGED)
        return self._staging

    def put(self, batch_id: int) -> None:
        """Put what was staged in place, instead of an earlier attempt at the same micro-batch.

        Raises:
            FileNotFoundError: It is gone; then the earlier attempt stays.
        """
        if self.is_elsewhere:
            self._staging.replace(self._folder(batch_id) / _FILE)
            return
        sync_tree(self._staging)  # it fails if that is gone, before anything is taken away
        while True:
            self.drop(batch_id)
            try:
                self._staging.rename(self._folder(batch_id))
            except OSError as error:
                if error.errno not in _IS_TAKEN:
                    raise
            else:
                sync(self.path)
                return

    def drop(self, batch_id: int) -> None:
        """Take away an earlier attempt at a micro-batch, if there is one, as a whole."""
        folder = self._folder(batch_id)
        if self.is_elsewhere:
            (folder / _FILE).unlink(missing_ok=True)
            return
        replaced = self._unused(_REPLACED)
        try:
            folder.rename(replaced)
        except FileNotFoundError:
            return
        shutil.rmtree(replaced)

    def claim(self, query_id: str) -> None:
        """Make the folder, if need be, see that it belongs to a query, and remove what was cut short in it."""
        super().claim(query_id)
        for pattern in (f"{_STAGED}*", f"{_REPLACED}*"):
            for leftover in self.path.glob(pattern):
                if self.is_elsewhere:
                    leftover.unlink(missing_ok=True)
                else:
                    shutil.rmtree(leftover)

    def _unused(self, name: str) -> Path:
        """Return a path with a name that no other run uses."""
        return self.path / f"{name}-{uuid4().hex}"

    @property
    def last(self) -> LastBatch | None:
        """The record of the last micro-batch; None if there was none."""
        return self.read(_LAST, LastBatch)

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in place, also if its writing was cut short before that was kept.

        Raises:
            StateError: The newest folder is gone, or a file in it.
        """
        last = self.last
        if last is not None:
            self._check_newest(last)
        kept = WrittenBatch(-1) if last is None else WrittenBatch(last.batch, last.read)
        numbers = [folder.name.partition("=")[2] for folder in self.path.glob(f"{COLUMN}=*")]
        latest = max([int(number) for number in numbers if number.isdecimal()], default=-1)
        return kept if kept.number >= latest else WrittenBatch(latest)

    def go_back(self, batch_id: int) -> None:
        """Take back what was kept of a micro-batch that comes again, while its rows are replaced."""
        last = self.last
        if last is None or batch_id > last.batch:
            return
        tick = last.before if batch_id == last.batch else None
        record = LastBatch(batch_id - 1, tick, None, last.writes + 1)
        if last.newest is not None and last.newest < batch_id:
            record = replace(record, newest=last.newest, size=last.size)
        self.replace(_LAST, record)

    def keep(self, batch_id: int, tick: int | None = None, read: str = "") -> None:
        """Keep that a micro-batch is in place, and the output watermark after it, which never goes back."""
        last = self.last or LastBatch(batch_id - 1, None, None, 0)
        known_ticks = [mark for mark in (tick, last.tick) if mark is not None]
        record = LastBatch(batch_id, max(known_ticks, default=None), last.tick, last.writes + 1, read)
        size = self._size(batch_id)
        if size is not None:
            record = replace(record, newest=batch_id, size=size)
        else:  # it has no rows
            record = replace(record, newest=last.newest, size=last.size)
        self.replace(_LAST, record)

    def _check_newest(self, last: LastBatch) -> None:
        """Raise unless the newest folder has the files that it had when it was put in place.

        Older ones may be removed by whoever needs them no more.

        Raises:
            StateError: It is gone, or a file in it.
        """
        if last.newest is None:
            return
        size = self._size(last.newest)
        if size == last.size:
            return
        folder = self._folder(last.newest)
        has = "is gone" if size is None else f"has files of rows of {size:,} bytes, and had {last.size:,}"
        raise StateError(f"{folder}, which micro-batch {last.newest} wrote, {has}\n  {TO_GO_ON}")

    def _size(self, batch_id: int) -> int | None:
        """Return the bytes of all files of rows of a micro-batch; None if it has no folder."""
        folder = self._folder(batch_id)
        if self.is_elsewhere:
            size: int | None = cast("StoredPath", folder / _FILE).size
            return size
        if not folder.exists():
            return None
        return sum(file.stat().st_size for file in folder.glob("[!._]*"))

    def _folder(self, batch_id: int) -> Path:
        return self.path / f"{COLUMN}={batch_id}"
