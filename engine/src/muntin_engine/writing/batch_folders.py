"""A folder with a folder per micro-batch."""

from __future__ import annotations

import shutil
from os import PathLike
from pathlib import Path
from typing import Final

from muntin_engine.writing.local_folder import LocalFolder

COLUMN: Final = "batch"
"""The column that readers get from the folders' names."""

_STAGED: Final = "_staged"
_REPLACED: Final = "_replaced"


class BatchFolders(LocalFolder):
    """Folders `batch=0`, `batch=1`, ..., each of which is there whole or not at all.

    Names that start with an underscore are none that Spark or Arrow read.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)

    @property
    def is_empty(self) -> bool:
        """True if there is no micro-batch."""
        return next(self.path.glob(f"{COLUMN}=*"), None) is None

    def staged(self) -> Path:
        """Return an empty folder for the next micro-batch."""
        return _emptied(self.path / _STAGED)

    def put(self, batch_id: int) -> None:
        """Put what was written in place, instead of an earlier attempt at the same micro-batch."""
        self.drop(batch_id)
        (self.path / _STAGED).rename(self._folder(batch_id))

    def drop(self, batch_id: int) -> None:
        """Take away an earlier attempt at a micro-batch, if there is one, as a whole."""
        folder = self._folder(batch_id)
        if folder.exists():
            folder.rename(_emptied(self.path / _REPLACED))
            _emptied(self.path / _REPLACED)

    def _folder(self, batch_id: int) -> Path:
        return self.path / f"{COLUMN}={batch_id}"


def _emptied(path: Path) -> Path:
    if path.exists():
        shutil.rmtree(path)
    return path
