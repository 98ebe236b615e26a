"""Results that are emitted before their windows are complete, and corrected when they change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray
from muntin_engine.evaluators.arrays.coding import encode
from muntin_engine.evaluators.arrays.results import EVENT_ID
from muntin_engine.evaluators.arrays.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.evaluators.arrays.values import COUNTED, Dense


class LiveResults:
    """The live results of a bucket: emitted, and not retracted.

    Results are stretches from the starts to the ends of their windows, with their columns and their ids as events of
    the output; the weight is 1, and -1 of one that is retracted.

    Cost: a few passes over all of them, and hashing those of the keys that a batch is about.

    Attributes:
        held: The results.
    """

    def __init__(self) -> None:
        self.held = EMPTY

    def __len__(self) -> int:
        return len(self.held)

    def replace(self, found: StretchTable, are_touched: BoolArray, serial: int) -> StretchTable:
        """Put results in the place of those of some keys, and return the changes: what is retracted, then what is new.

        A result that is the same stays, with its id.

        Args:
            found: All results of touched keys that are live now, and those that others are shown for the first time.
            are_touched: For the code of each key whether it is touched.
            serial: The largest id so far.
        """
        is_touched = are_touched[self.held.keys]
        before, rest = (self.held.take(np.flatnonzero(some)) for some in (is_touched, ~is_touched))
        stays, is_known = _same(before, found)
        fresh, gone = found.where(~is_known), before.where(~stays)
        ids = Dense(COUNTED, serial + 1 + np.arange(len(fresh)))
        inserted = replace(fresh, weight=np.ones(len(fresh), np.int8), parts={**fresh.parts, EVENT_ID: ids})
        self.held = concat([rest, before.where(stays), inserted])
        return concat([replace(gone, weight=-gone.weight), inserted])

    def forget(self, watermark: int) -> int:
        """Drop the results of the windows that a watermark completes; return how many there were."""
        before, self.held = len(self), self.held.where(self.held.high > watermark)
        return before - len(self)


def _same(before: StretchTable, now: StretchTable) -> tuple[BoolArray, BoolArray]:
    """Return for each result of either whether it is in both: of the same key and window, with the same values."""
    if not len(before) or not len(now):
        return np.zeros(len(before), np.bool_), np.zeros(len(now), np.bool_)
    both = concat([replace(some, parts={ROWS: some.parts[ROWS]}) for some in (before, now)])
    columns = [column.combine_chunks() for column in both.parts[ROWS].table.columns]
    plain = [pc.add(column, 0.0) if pa.types.is_floating(column.type) else column for column in columns]  # no -0.0
    codes = encode([pa.array(both.keys), pa.array(both.low), *plain], len(both)).codes
    old, new = codes[: len(before)], codes[len(before) :]
    return np.isin(old, new), np.isin(new, old)
