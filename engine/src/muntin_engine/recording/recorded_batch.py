"""A micro-batch of a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from muntin_engine.tasks.recorded_rows import RecordedPart, is_of_keys, read_part


@dataclass(frozen=True)
class RecordedBatch:
    """One micro-batch of a recording, or the end of the stream.

    Attributes:
        number: The number of the micro-batch, as Spark counted.
        run: The number of the start of the query in which it was evaluated.
        metrics: The metrics after it, by name: `watermark`, `newest`, `accepted`, ...
        files: The files of its rows, one for each map task.
        is_end: True if it stands for the end of the stream: it has no rows, and open windows are emitted.
        selected: A selection of the rows; None for all rows in the files.
    """

    number: int
    run: int = 0
    metrics: Mapping[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    is_end: bool = False
    selected: tuple[RecordedPart, ...] | None = None

    @cached_property
    def parts(self) -> tuple[RecordedPart, ...]:
        """The rows of each map task, which are read on first use."""
        if self.selected is not None:
            return self.selected
        return tuple(map(read_part, self.files))

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return sum(part.rows.num_rows for part in self.parts)

    def of_keys(self, keys: Sequence[Any]) -> RecordedBatch:
        """Select the rows of given keys, and those of no key; the recorded progress stays that of all rows.

        Args:
            keys: The keys, each a value, or a tuple of one per key column.
        """
        key_tuples = [key if isinstance(key, tuple) else (key,) for key in keys]
        parts: list[RecordedPart] = []
        for part in self.parts:
            rows = part.rows.filter(is_of_keys(part.rows, key_tuples))
            parts.append(part._replace(rows=rows))
        return self.with_parts(parts)

    def with_parts(self, parts: Iterable[RecordedPart]) -> RecordedBatch:
        """Return the micro-batch with a selection of its rows."""
        return replace(self, selected=tuple(parts))
