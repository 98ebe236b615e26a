"""The smallest part of a recording that still shows something: keys go first, then micro-batches, then rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import RecordedPart

T = TypeVar("T")
Shows: TypeAlias = Callable[[Sequence[RecordedBatch]], bool]
Place: TypeAlias = tuple[int, int, int]
"""A row: its micro-batch, its map task, and its place among the rows of that."""

MOST_TRIES: Final = 1_000
"""After so many replays what is left is small enough."""


def smallest(batches: Sequence[RecordedBatch], shows: Shows, most_tries: int = MOST_TRIES) -> list[RecordedBatch]:
    """Return the smallest part of some micro-batches that still shows something.

    Rows that go leave the progress as it was recorded, so no watermark moves. Micro-batches that make no difference go
    whole.

    Args:
        batches: The micro-batches, which show it.
        shows: Tells whether a part of them does.
        most_tries: After so many calls what is left is returned.
    """
    tries = _Tries(shows, most_tries)
    keys = list({key: None for batch in batches for part in batch.parts for key in _keys(part.rows)})
    kept_keys = fewest(keys, lambda some: tries(_of_keys(batches, some)))
    now = _of_keys(batches, kept_keys)
    now = fewest(now, tries)
    places = [
        (at, number, row)
        for at, batch in enumerate(now)
        for number, part in enumerate(batch.parts)
        for row in range(part.rows.num_rows)
    ]
    rows = fewest(places, lambda some: tries(_with_rows(now, some)))
    now = _with_rows(now, rows)
    bare = [replace(batch, kept=tuple(part for part in batch.parts if part.rows.num_rows)) for batch in now]
    return bare if tries(bare) else now


def fewest(items: Sequence[T], shows: Callable[[list[T]], bool]) -> list[T]:
    """Return the fewest items that still show something: none of them can go alone (Zeller's ddmin).

    Example:
        >>> fewest(range(100), lambda some: {7, 70} <= set(some))
        [7, 70]
    """
    kept, pieces = list(items), 1
    while kept:
        size = -(-len(kept) // pieces)
        chunks = range(0, len(kept), size)
        without = next((left for at in chunks if shows(left := kept[:at] + kept[at + size :])), None)
        if without is not None:
            kept, pieces = without, max(pieces - 1, 2)
        elif size == 1:
            return kept
        else:
            pieces = min(2 * pieces, len(kept))
    return kept


class _Tries:
    def __init__(self, shows: Shows, most: int) -> None:
        self._shows, self._left = shows, most

    def __call__(self, batches: Sequence[RecordedBatch]) -> bool:
        self._left -= 1
        return self._left >= 0 and self._shows(batches)


def _keys(rows: pa.Table) -> list[Any]:
    """Return the key of each row."""
    names = [name for name in rows.column_names if name.startswith("k") and name[1:].isdigit()]
    return [freeze(key) for key in zip(*(rows.column(name).to_pylist() for name in names), strict=True)]


def _of_keys(batches: Sequence[RecordedBatch], keys: Collection[Any]) -> list[RecordedBatch]:
    wanted = set(keys)
    return [_filtered(batch, lambda _, rows: [key in wanted for key in _keys(rows)] or None) for batch in batches]


def _with_rows(batches: Sequence[RecordedBatch], places: Iterable[Place]) -> list[RecordedBatch]:
    wanted: dict[tuple[int, int], list[int]] = {}
    for at, number, row in places:
        wanted.setdefault((at, number), []).append(row)

    def kept(at: int) -> Callable[[int, pa.Table], list[bool]]:
        def of_part(number: int, rows: pa.Table) -> list[bool]:
            is_kept = np.zeros(rows.num_rows, np.bool_)
            is_kept[wanted.get((at, number), [])] = True
            found: list[bool] = is_kept.tolist()
            return found

        return of_part

    return [_filtered(batch, kept(at)) for at, batch in enumerate(batches)]


def _filtered(batch: RecordedBatch, kept: Callable[[int, pa.Table], list[bool] | None]) -> RecordedBatch:
    parts = []
    for number, part in enumerate(batch.parts):
        flags = kept(number, part.rows)
        parts.append(part if flags is None else part._replace(rows=part.rows.filter(pa.array(flags, pa.bool_()))))
    return replace(batch, kept=tuple[RecordedPart, ...](parts))
