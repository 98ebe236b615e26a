"""Paths on a file system that is not this machine's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO, Final, cast
from urllib.parse import urlsplit

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import is_elsewhere, local_path, without_secrets

_OF_ARROW: Final = frozenset({"s3", "s3a", "gs", "gcs", "hdfs", "abfs", "abfss"})
"""Schemes of file systems that are part of pyarrow; fsspec opens others."""


class StoredPath:
    """A path on any file system that pyarrow or fsspec knows, with the methods of `Path` that sinks call.

    It can be pickled for a server of Spark Connect, as it has no file system, only its address.
    """

    def __init__(self, address: str, path: str | None = None) -> None:
        """Take an address.

        Args:
            address: The address of a file or folder; its scheme and options say which file system it is on.
            path: The path on that file system; None for the path in the address.

        Raises:
            QueryError: pyarrow and fsspec know no such file system, or a package that they need for it is missing.
        """
        self._address = address
        if path is None:
            _, path = _opened(address)
            path = path.rstrip("/")
        self._path = path

    def __str__(self) -> str:
        return f"{urlsplit(self._address).scheme}://{self._path}"

    def __truediv__(self, name: str) -> StoredPath:
        return StoredPath(self._address, f"{self._path}/{name}")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.rpartition("/")[2]

    def exists(self) -> bool:
        """True if there is a file or a folder."""
        return bool(self._info.type.name != "NotFound")

    def is_dir(self) -> bool:
        """True if there is a folder."""
        return bool(self._info.type.name == "Directory")

    @property
    def size(self) -> int | None:
        """The bytes of a file; None if it does not exist."""
        size: int | None = self._info.size
        return size

    def glob(self, pattern: str) -> Iterator[StoredPath]:
        """Yield the files and folders in this one whose names match a pattern."""
        from pyarrow.fs import FileSelector

        for info in self._fs.get_file_info(FileSelector(self._path, allow_not_found=True)):
            if fnmatchcase(info.base_name, pattern):
                yield StoredPath(self._address, info.path)

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Make the folder and those that it lies in, unless it exists.

        The arguments are those of `Path.mkdir`. Both have to be True, as this method does nothing else.
        """
        assert parents
        assert exist_ok
        if not self.exists():
            self._fs.create_dir(self._path, recursive=True)

    def read_text(self, encoding: str) -> str:
        """Return the content of a file."""
        with self._fs.open_input_stream(self._path) as file:
            return str(file.read().decode(encoding))

    def write_text(self, text: str, encoding: str) -> None:
        """Write a file."""
        with self.open() as file:
            file.write(text.encode(encoding))

    def open(self) -> BinaryIO:
        """Return a file to write to."""
        return cast("BinaryIO", self._fs.open_output_stream(self._path))

    def replace(self, other: StoredPath) -> None:
        """Rename the file to another path, replacing the file that is there."""
        self._fs.move(self._path, other._path)

    def unlink(self, *, missing_ok: bool) -> None:
        """Remove a file."""
        if not missing_ok or self.exists():
            self._fs.delete_file(self._path)

    @property
    def _info(self) -> Any:
        """The type and the size of the file or folder."""
        return self._fs.get_file_info(self._path)

    @property
    def _fs(self) -> Any:
        """The file system."""
        file_system, _ = _opened(self._address)
        return file_system


def file_system_of(path: str) -> tuple[Any, str]:
    """Return the file system that a path is on, in Arrow's interface, and the path there without a scheme.

    Args:
        path: A path of this machine, or an address such as `s3://bucket/results`.

    Raises:
        QueryError: pyarrow and fsspec know no such file system, or a package that they need for it is missing.
    """
    if is_elsewhere(path):
        return _opened(path)
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem(), str(local_path(path))


@cache
def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path there; see `file_system_of`."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    # Arrow does not know the scheme by which Spark's connector for S3 goes.
    address_for_arrow = re.sub("^s3a:", "s3:", address)
    try:
        if urlsplit(address).scheme in _OF_ARROW:
            return cast("tuple[Any, str]", FileSystem.from_uri(address_for_arrow))
        file_system, path = import_module("fsspec.core").url_to_fs(address)
        return PyFileSystem(FSSpecHandler(file_system)), path
    except (ArrowException, ImportError, ValueError, OSError) as error:
        # The message may repeat the address, with its keys.
        reason = str(error)
        for spelling in (address, address_for_arrow):
            reason = reason.replace(spelling, without_secrets(spelling))
        raise QueryError(
            f"{without_secrets(address)!r} is not a place that can be written to: {reason}\n"
            "  expected an address that pyarrow or fsspec knows, such as 's3://bucket/results'"
        ) from None
