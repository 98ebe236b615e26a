"""A micro-batch of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from muntin_engine.tasks.recorded_rows import RecordedPart, is_of_keys, read_part


@dataclass(frozen=True)
class RecordedBatch:
    """One micro-batch.

    Attributes:
        number: Its number, as Spark counted.
        run: The number of the start of the query that it is of.
        metrics: The metrics after it, by name: `watermark`, `newest`, `accepted`, ...
        files: The files of its rows.
        is_end: True if it is no rows but the end of the stream: open windows are emitted.
        kept: The rows themselves, where they are not read from files.
    """

    number: int
    run: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    is_end: bool = False
    kept: tuple[RecordedPart, ...] | None = None

    @cached_property
    def parts(self) -> tuple[RecordedPart, ...]:
        """The rows of its map tasks, which are read when they are first wanted."""
        return tuple(map(read_part, self.files)) if self.kept is None else self.kept

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return sum(part.rows.num_rows for part in self.parts)

    def of_keys(self, keys: Sequence[Any]) -> RecordedBatch:
        """Return the rows of some keys, and those of no key, under the progress that all rows made."""
        named = [key if isinstance(key, tuple) else (key,) for key in keys]
        parts = (part._replace(rows=part.rows.filter(is_of_keys(part.rows, named))) for part in self.parts)
        return replace(self, kept=tuple(parts))
