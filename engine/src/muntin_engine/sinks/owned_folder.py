"""A folder that one query owns: its path, its owner, and files that are replaced as a whole."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from threading import RLock
from typing import Any, Final, TypeVar, get_type_hints
from zlib import crc32

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks.addresses import local_path
from muntin_engine.sinks.stored_path import StoredPath

_T = TypeVar("_T")

_LOCKS: Final[dict[str, RLock]] = {}
"""A lock for each folder that this process writes to; none is part of a sink, which may be pickled."""

_OWNER: Final = "_muntin.json"
"""The file with the id of the query that a folder belongs to."""

_CHECKSUM: Final = "crc32"

TO_GO_ON: Final = (
    "what the checkpoint has done is not written again: put the folder back, or start with a new checkpoint to\n"
    "  compute all results again, or go on without the old ones by naming another folder"
)
"""The remedy where a folder is gone and its checkpoint is not."""


def sync(path: Path | StoredPath) -> None:
    """Write a file, or the list of the files in a folder, through to the disk, so that it survives a loss of power.

    Nothing is done for a path on another file system: a store such as S3 keeps what it has acknowledged.
    """
    if not isinstance(path, Path):
        return
    if os.name == "nt" and path.is_dir():  # Windows has no such call for folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Write a folder of this machine through to the disk, with all files and folders in it."""
    for path in folder.rglob("*"):
        sync(path)
    sync(folder)


def bytes_of_rows(folder: Path) -> int:
    """Return the size of all files of rows in a folder."""
    # Names that begin with a dot or an underscore are those of checksums and of Spark's own notes.
    return sum(file.stat().st_size for file in folder.glob("[!._]*"))


def checksummed(members: Mapping[str, Any]) -> str:
    """Return some members as the text of a JSON file, with their checksum as one more member."""
    checksum = crc32(json.dumps(members).encode())
    return json.dumps({**members, _CHECKSUM: checksum})


@dataclass(frozen=True, slots=True)
class _Owner:
    """The query that a folder belongs to."""

    query: str


class OwnedFolder:
    """A folder that one query fills, with a file that names the query.

    Renaming makes a micro-batch visible at once, so this process must be able to rename there: the path is on a disk of
    the machine, or on one that the driver and the workers share. (`BatchFolders` renames in object stores, too.)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Take a path.

        Raises:
            QueryError: The argument is not a path, or not one of this machine, such as a URL.
        """
        argument: object = path  # a query writer may pass any value, whatever the annotation says
        if not isinstance(argument, str | PathLike):
            raise QueryError(f"path={argument!r} is not a path\n  expected: text or a pathlib.Path")
        self.path = self._absolute(argument)

    def _absolute(self, path: str | PathLike[str]) -> Path:
        """Return an absolute path; a subclass for other file systems returns a path of such a system.

        Raises:
            QueryError: The path is not one of this machine.
        """
        return local_path(path)

    def check(self) -> None:
        """Refuse a folder with files that no query has written.

        Raises:
            QueryError: The folder has such files, or is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            raise QueryError(f"{self.path} is a file\n  expected a folder, or a path where there is nothing yet")
        names = sorted(part.name for part in self.path.glob("[!.]*"))
        if names and _OWNER not in names:
            raise QueryError(f"{self.path} holds {names[0]!r}, which no query wrote\n  expected an empty folder")

    def claim(self, query_id: str) -> None:
        """Make the folder, if need be, and check that it belongs to a query; a new folder belongs to it from now on.

        Args:
            query_id: The id of the query.

        Raises:
            QueryError: The folder belongs to another query.
            StateError: The file that names the query is damaged.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if isinstance(self.path, Path):  # and not on another file system
            sync(self.path.parent)
        owner = self.read(_OWNER, _Owner)
        if owner is None:
            self.replace(_OWNER, _Owner(query_id))
        elif owner.query != query_id:
            raise QueryError(
                f"{self.path} holds the output of another query: of {owner.query}, and this one is {query_id}\n"
                "  a query that starts with a new checkpoint is another one, and counts its micro-batches from 0\n"
                "  choose an empty folder, delete this one, or go on with its checkpoint"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads of this process from writing to the folder during a block.

        When a query is started again while it runs, another thread may still write a micro-batch of the previous run.
        """
        with _LOCKS.setdefault(str(self.path), RLock()):
            yield

    def check_owned(self) -> None:
        """Raise unless the folder, which `claim` has given an owner, still has one.

        Raises:
            StateError: The folder was deleted or emptied.
        """
        if not (self.path / _OWNER).exists():
            raise StateError(f"{self.path} is gone, which this query wrote to\n  {TO_GO_ON}")

    def read(self, name: str, kind: Callable[..., _T]) -> _T | None:
        """Read a file that `replace` wrote; None if it does not exist.

        Args:
            name: The name of the file.
            kind: The dataclass of its members, whose values are numbers, texts and the like.

        Raises:
            StateError: The file is damaged.
        """
        file = self.path / name
        if not file.exists():
            return None
        # A damaged file may have other bytes, another text of JSON, or members that the dataclass does not have.
        try:
            text = file.read_text(encoding="utf-8")
            members = dict(json.loads(text))
            members.pop(_CHECKSUM, None)
            if text != checksummed(members):
                raise ValueError("its checksum is that of another content")
            record = kind(**members)
            for field, hint in get_type_hints(kind).items():
                value = getattr(record, field)
                # To `isinstance`, True is an int as well. A number must not stand for a bool here, nor a bool for it.
                is_confused = isinstance(value, bool) != (hint is bool)
                if not isinstance(value, hint) or is_confused:
                    raise TypeError(f"{field} is {value!r}")
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise self.damaged(name, str(error)) from error
        return record

    def damaged(self, name: str, reason: str) -> StateError:
        """Return the error for a file of this folder that is not as its query wrote it."""
        return StateError(
            f"the file {self.path / name} is damaged: {reason}\n"
            "  expected JSON, as this folder's query wrote it: restore the folder and its checkpoint from copies of\n"
            "  one time, or delete both and start the query with new ones, to compute the results again"
        )

    def replace(self, name: str, data: Any) -> None:
        """Write a file, or replace it; readers see the old text or the new one, never a part.

        Args:
            name: The name of the file.
            data: A dataclass with the members of the file.
        """
        partial = self.path / f".{name}.partial"
        partial.write_text(checksummed(asdict(data)), encoding="utf-8")
        sync(partial)  # the content has to be on the disk before the name points to it
        partial.replace(self.path / name)
        sync(self.path)
