"""Temporary files that hold blobs of the exchange, so that these need no memory until a bucket reads them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self


class SpilledBlob(NamedTuple):
    """A blob in a file.

    Attributes:
        file: The file.
        offset: The place of its first byte.
        size: The number of its bytes.
    """

    file: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """Read the bytes."""
        with self.file.open("rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


class SpillFolder:
    """A folder of the temporary files of one run, made with the first of them and removed with all at the end.

    Example:
        >>> with SpillFolder() as folder:
        ...     (blob,) = folder.write([b"rows"])
        ...     blob.read(), blob.file.exists()
        (b'rows', True)
        >>> blob.file.exists()
        False
    """

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def path(self) -> Path:
        """The path of the folder, which is there from now on."""
        if self._folder is None:
            # A worker that was killed a moment ago may hold a file open, which Windows does not remove.
            self._folder = tempfile.TemporaryDirectory(prefix="muntin-run-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def write(self, blobs: Iterable[bytes]) -> list[SpilledBlob]:
        """Write blobs to a new file, one behind the other, and return them as they lie there."""
        return write_blobs(self.path, blobs)


def write_blobs(folder: Path, blobs: Iterable[bytes]) -> list[SpilledBlob]:
    """Write blobs to a new file of a folder, one behind the other, and return them as they lie there.

    Several processes may write to one folder.
    """
    spilled_blobs: list[SpilledBlob] = []
    offset = 0
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".blobs", delete=False) as file:
        path = Path(file.name)
        for blob in blobs:
            file.write(blob)
            spilled_blobs.append(SpilledBlob(path, offset, size=len(blob)))
            offset += len(blob)
    return spilled_blobs
