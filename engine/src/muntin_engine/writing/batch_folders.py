"""A folder with a folder per micro-batch."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Final

from muntin_engine.writing.local_folder import LocalFolder

COLUMN: Final = "batch"
"""The column that readers get from the folders' names."""

_STAGED: Final = "_staged"
_REPLACED: Final = "_replaced"
_WATERMARK: Final = "_watermark.json"


@dataclass(frozen=True, slots=True)
class KeptWatermark:
    """The watermark up to which the micro-batches in a folder are settled.

    Attributes:
        batch: The last of them.
        tick: The output watermark after it: no later one changes anything before. None if it is not known.
        before: The output watermark after the one before it.
        writes: How often this was written: readers see by it that nothing was replaced while they read.
    """

    batch: int
    tick: int | None
    before: int | None
    writes: int


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

    @property
    def watermark(self) -> KeptWatermark | None:
        """The watermark that was kept last; None if none was."""
        data = self.read(_WATERMARK)
        return None if data is None else KeptWatermark(**data)

    def go_back(self, batch_id: int) -> None:
        """Take back what a micro-batch said of the watermark that comes again, while its rows are replaced."""
        kept = self.watermark
        if kept is not None and batch_id <= kept.batch:
            before = kept.before if batch_id == kept.batch else None
            self._keep(KeptWatermark(batch_id - 1, before, None, kept.writes + 1))

    def keep_watermark(self, batch_id: int, tick: int) -> None:
        """Keep the output watermark after a micro-batch, which is in place. It never goes back."""
        kept = self.watermark or KeptWatermark(batch_id - 1, None, None, 0)
        after = tick if kept.tick is None else max(kept.tick, tick)
        self._keep(KeptWatermark(batch_id, after, kept.tick, kept.writes + 1))

    def _keep(self, watermark: KeptWatermark) -> None:
        self.replace(_WATERMARK, asdict(watermark))

    def _folder(self, batch_id: int) -> Path:
        return self.path / f"{COLUMN}={batch_id}"


def _emptied(path: Path) -> Path:
    if path.exists():
        shutil.rmtree(path)
    return path
