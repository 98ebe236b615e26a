"""A folder on any file system, with all files in it by their paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike, fspath
from typing import Any, Final, NamedTuple
from zlib import crc32

from muntin_engine.sinks.addresses import is_elsewhere, local_path, without_secrets
from muntin_engine.sinks.owned_folder import sync, sync_tree
from muntin_engine.sinks.stored_path import StoredPath, file_system_of

_KEYS: Final = re.compile(r"//[^/@:]*:[^/@]*@")
"""A user with a password, or two keys, in an address. Without a password it is a container of Azure's."""

_CHUNK: Final = 4 << 20
"""The number of bytes that are read at once."""


class ListedFile(NamedTuple):
    """A file in a folder, as it was when the folder was listed.

    Attributes:
        size: The number of its bytes.
        changed_at: The time of its last change.
    """

    size: int
    changed_at: Any


class StoredFolder:
    """A folder on any file system, whose files are named by their paths in it.

    Attributes:
        is_elsewhere: True if the folder is not on this machine's file system.
        spelled: The folder in one spelling.
        for_spark: The folder as Spark names it, without keys and options.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Take the path or the address of a folder."""
        text = fspath(path)
        self.is_elsewhere = is_elsewhere(text)
        if self.is_elsewhere:
            address_without_options = text.partition("?")[0]
            self.spelled = str(StoredPath(text))
            # Keys in the address are left out too: Spark has them in its settings.
            self.for_spark = _KEYS.sub("//", address_without_options).rstrip("/")
        else:
            self.spelled = str(local_path(text))
            self.for_spark = f"file:{self.spelled}"
        self._fs, self._path = file_system_of(text)

    def __str__(self) -> str:
        return without_secrets(self.spelled)

    def contains(self, other: StoredFolder) -> bool:
        """True if the other folder is this one, or lies in it."""
        return f"{other.spelled}/".startswith(f"{self.spelled}/")

    def list_files(self) -> dict[str, ListedFile]:
        """Return all files in the folder by their paths in it; none if there is no such folder."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path, allow_not_found=True, recursive=True)
        prefix = self._path.strip("/") + "/"
        files: dict[str, ListedFile] = {}
        for info in self._fs.get_file_info(selector):
            if info.is_file:
                # On some file systems the paths of files begin with a slash, and on others they do not.
                name = info.path.lstrip("/").removeprefix(prefix)
                files[name] = ListedFile(info.size, info.mtime)
        return files

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        return b"".join(self.read_chunks(name))

    def read_chunks(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file, chunk by chunk."""
        with self._fs.open_input_stream(f"{self._path}/{name}") as file:
            while chunk := file.read(_CHUNK):
                yield chunk

    def write(self, name: str, chunks: Iterator[bytes]) -> int:
        """Write a file, and return the checksum of its content.

        Args:
            name: The path of the file in the folder.
            chunks: The content.
        """
        path = f"{self._path}/{name}"
        if self._fs.type_name != "s3":  # S3 has no folders: `create_dir` would write an empty object for each
            folder = path.rpartition("/")[0]
            self._fs.create_dir(folder, recursive=True)
        checksum = 0
        with self._fs.open_output_stream(path) as file:
            for chunk in chunks:
                file.write(chunk)
                checksum = crc32(chunk, checksum)
        return checksum

    def checksum(self, name: str) -> int:
        """Read a file, and return the checksum of its content."""
        checksum = 0
        for chunk in self.read_chunks(name):
            checksum = crc32(chunk, checksum)
        return checksum

    def sync(self) -> None:
        """Write all files through to the disk, if the folder is on this machine's file system."""
        if not self.is_elsewhere:
            sync_tree(local_path(self.spelled))
            sync(local_path(self.spelled).parent)

    def delete(self, name: str = "") -> None:
        """Delete a folder in this one by its name; without a name, this folder itself."""
        self._fs.delete_dir(f"{self._path}/{name}".rstrip("/"))
