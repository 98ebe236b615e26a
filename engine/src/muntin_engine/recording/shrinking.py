"""The smallest part of a recording for which a condition still holds: keys go first, then micro-batches, then rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from muntin_engine.recording.input_rows import readable_values
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.recorded_rows import RecordedPart

T = TypeVar("T")
Condition: TypeAlias = Callable[[Sequence[RecordedBatch]], bool]
"""Returns whether a condition holds for micro-batches."""

MOST_TRIES: Final = 1_000
"""The number of replays after which the part is small enough."""


class RowPlace(NamedTuple):
    """The place of a row: its micro-batch, its map task, and its place among the rows of that task."""

    batch: int
    part: int
    row: int


def shrink_batches(
    batches: Sequence[RecordedBatch], holds: Condition, most_tries: int = MOST_TRIES
) -> list[RecordedBatch]:
    """Return the smallest part of micro-batches for which a condition still holds.

    Rows that are removed still count in the recorded progress, so no watermark moves. A micro-batch without which the
    condition still holds is removed as a whole.

    Args:
        batches: The micro-batches, for which the condition holds.
        holds: The condition.
        most_tries: The number of calls of the condition after which the smallest part so far is returned.
    """
    holds = _LimitedTries(holds, most_tries)

    # Remove keys first, as each has many rows; then micro-batches, and at last single rows.
    keys = _distinct_keys(batches)
    fewest_keys = fewest(keys, lambda remaining_keys: holds(_of_keys(batches, remaining_keys)))
    batches = _of_keys(batches, fewest_keys)

    batches = fewest(batches, holds)

    places = _row_places(batches)
    fewest_rows = fewest(places, lambda remaining_places: holds(_with_rows(batches, remaining_places)))
    batches = _with_rows(batches, fewest_rows)

    # The condition may depend even on tasks without rows, as they report progress: remove them only if it does not.
    without_empty_parts: list[RecordedBatch] = []
    for batch in batches:
        parts_with_rows = [part for part in batch.parts if part.rows.num_rows]
        without_empty_parts.append(batch.with_parts(parts_with_rows))
    return without_empty_parts if holds(without_empty_parts) else batches


def fewest(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """Return the fewest items for which a condition still holds: it fails without any single one (Zeller's ddmin).

    Args:
        items: The items, for which the condition holds.
        holds: The condition, which gets some of the items.

    Example:
        >>> fewest(range(100), lambda numbers: {7, 70} <= set(numbers))
        [7, 70]
    """
    # Cut the items into chunks, and try to leave one out. If the condition needs each chunk, make chunks half as large,
    # down to single items.
    remaining_items = list(items)
    chunk_count = 1
    while remaining_items:
        size = -(-len(remaining_items) // chunk_count)  # rounded up
        fewer_items = _without_a_chunk(remaining_items, size, holds)
        if fewer_items is not None:
            remaining_items = fewer_items
            chunk_count = max(chunk_count - 1, 2)  # the other chunks keep their size
        elif size == 1:
            return remaining_items
        else:
            chunk_count = min(2 * chunk_count, len(remaining_items))
    return remaining_items


def _without_a_chunk(items: list[T], size: int, holds: Callable[[list[T]], bool]) -> list[T] | None:
    """Return items without the first chunk that a condition does not need; None if it needs each chunk.

    Args:
        items: The items.
        size: The number of items in a chunk.
        holds: The condition.
    """
    for start in range(0, len(items), size):
        remaining_items = items[:start] + items[start + size :]
        if holds(remaining_items):
            return remaining_items
    return None


class _LimitedTries:
    """A condition that fails after a number of calls, so that a search ends with the smallest part so far."""

    def __init__(self, holds: Condition, most_tries: int) -> None:
        """Take the condition, and the number of calls after which it fails."""
        self._holds = holds
        self._tries_left = most_tries

    def __call__(self, batches: Sequence[RecordedBatch]) -> bool:
        """Say whether the condition holds, if calls are left."""
        self._tries_left -= 1
        return self._tries_left >= 0 and self._holds(batches)


def _distinct_keys(batches: Sequence[RecordedBatch]) -> list[Any]:
    """Return the keys of all rows, in the order in which they came."""
    keys: dict[Any, None] = {}
    for batch in batches:
        for part in batch.parts:
            keys.update(dict.fromkeys(_keys(part.rows)))
    return list(keys)


def _keys(rows: pa.Table) -> list[Any]:
    """Return the key of each row; an empty list if the query has no key columns."""
    names = [name for name in rows.column_names if name.startswith("k") and name[1:].isdigit()]
    columns = [readable_values(rows.column(name).combine_chunks()) for name in names]
    return [freeze(key) for key in zip(*columns, strict=True)]


def _of_keys(batches: Sequence[RecordedBatch], keys: Collection[Any]) -> list[RecordedBatch]:
    """Return micro-batches with only the rows of given keys."""
    selected_keys = set(keys)

    def selected(part: RecordedPart) -> RecordedPart:
        """Return the rows of a map task with only those of the keys."""
        flags = [key in selected_keys for key in _keys(part.rows)]
        if not flags:  # there are no rows, or no key columns: then all rows are of the one key
            return part
        return _filtered(part, flags)

    return [batch.with_parts(map(selected, batch.parts)) for batch in batches]


def _row_places(batches: Sequence[RecordedBatch]) -> list[RowPlace]:
    """Return the place of each row of micro-batches."""
    places: list[RowPlace] = []
    for batch_place, batch in enumerate(batches):
        for part_place, part in enumerate(batch.parts):
            places += [RowPlace(batch_place, part_place, row) for row in range(part.rows.num_rows)]
    return places


def _with_rows(batches: Sequence[RecordedBatch], places: Iterable[RowPlace]) -> list[RecordedBatch]:
    """Return micro-batches with only the rows at given places."""
    rows_of_part: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in places:
        rows_of_part[place.batch, place.part].append(place.row)

    selected: list[RecordedBatch] = []
    for batch_place, batch in enumerate(batches):
        parts: list[RecordedPart] = []
        for part_place, part in enumerate(batch.parts):
            flags = np.zeros(part.rows.num_rows, np.bool_)
            flags[rows_of_part[batch_place, part_place]] = True
            parts.append(_filtered(part, flags.tolist()))
        selected.append(batch.with_parts(parts))
    return selected


def _filtered(part: RecordedPart, flags: list[bool]) -> RecordedPart:
    """Return the rows of a map task for which a flag is true; its report stays."""
    return part._replace(rows=part.rows.filter(pa.array(flags, pa.bool_())))
