"""The late rows of a micro-batch, which travel beside what was made of them where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import pyarrow as pa

from muntin.axis import AnyAxis
from muntin_engine.evaluators.arrays.rows import SOURCE, RowLists
from muntin_engine.evaluators.arrays.stretch_table import LISTS, StretchTable
from muntin_engine.time.changes import InputChange, Key, Rejection


@dataclass(frozen=True)
class LateRows:
    """What makes late rows of stretches that came too late, where these have their rows beside them.

    Attributes:
        axis: What ticks measure; only messages depend on it.
        values_of: Returns the values of an input column.
    """

    axis: AnyAxis
    values_of: Callable[[pa.ChunkedArray], list[Any]]

    def of(self, late: StretchTable, keys: Sequence[Key], watermark: int, side: int = 0) -> list[tuple[Key, Rejection]]:
        """Return the rows of late stretches, each with its key.

        Args:
            late: The stretches.
            keys: The key of each.
            watermark: The watermark by which they are late.
            side: The place of their input among those of the query.
        """
        lists: RowLists = late.parts[LISTS]
        places = lists.places()
        rows = lists.rows(places, lists.payload(places, self.values_of))
        names = (key for key, count in zip(keys, late.weight.tolist(), strict=True) for _ in range(count))
        sources: Any = repeat(None)
        if SOURCE in lists.table.column_names:
            sources = lists.table.column(SOURCE).take(pa.array(places)).to_pylist()
        changes = (
            InputChange(None, start, end, payload, source=source, side=side)
            for start, end, payload, source in zip(*rows, sources, strict=False)
        )
        return [
            (key, Rejection.late(row, row.start, watermark, self.axis)) for key, row in zip(names, changes, strict=True)
        ]


def without_rows(some: StretchTable) -> StretchTable:
    """Return stretches without the rows that came beside them."""
    return replace(some, parts={part: values for part, values in some.parts.items() if part != LISTS})


def without_sources(some: StretchTable) -> StretchTable:
    """Return stretches of rows without the sources of these, which nothing but late rows has."""
    lists: RowLists = some.parts[LISTS]
    if SOURCE not in lists.table.column_names:
        return some
    return replace(some, parts={**some.parts, LISTS: replace(lists, table=lists.table.drop_columns([SOURCE]))})
