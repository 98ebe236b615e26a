"""Results that are emitted before their windows are complete, and corrected when they change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretches.coding import encode
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.result_tables import EVENT_ID
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, StretchTable, concat
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar


class LiveResults:
    """The live results of a bucket: emitted, and not retracted.

    Results are stretches from the starts to the ends of their windows, with their columns and their ids as events of
    the output; the weight is 1, and -1 of one that is retracted.

    Cost: a few passes over all of them, and hashing those of the keys that a batch is about.

    Attributes:
        held: The results.
    """

    def __init__(self) -> None:
        """Hold no results."""
        self.held = EMPTY

    def __len__(self) -> int:
        return len(self.held)

    def replace(self, results: StretchTable, are_touched: BoolArray, last_id: int) -> StretchTable:
        """Replace the results of the keys whose events changed; return the changes: retracted results, then new ones.

        A result that is the same as before is no change, and keeps its id.

        Args:
            results: All results that keys with changed events have now, and of other keys those that are emitted for
                the first time.
            are_touched: For the code of each key whether the batch changed its events.
            last_id: The largest id of an output event so far; new results get the next ones.
        """
        is_of_touched_key = are_touched[self.held.keys]
        previous = self.held.take(np.flatnonzero(is_of_touched_key))
        untouched = self.held.take(np.flatnonzero(~is_of_touched_key))
        is_kept, is_unchanged = _in_both(previous, results)
        retracted = previous.where(~is_kept)

        # The new results get ids, and are held in the place of the retracted ones.
        new_results = results.where(~is_unchanged)
        ids = Dense(COUNTED, last_id + 1 + np.arange(len(new_results)))
        weight = np.ones(len(new_results), np.int8)
        inserted = replace(new_results, weight=weight, parts={**new_results.parts, EVENT_ID: ids})
        self.held = concat([untouched, previous.where(is_kept), inserted])
        return concat([replace(retracted, weight=-retracted.weight), inserted])

    def forget(self, watermark: int) -> int:
        """Drop the results of the windows that a watermark completes; return how many there were."""
        previous_count = len(self)
        self.held = self.held.where(self.held.high > watermark)
        return previous_count - len(self)

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        self.held = self.held.with_keys(new_codes[self.held.keys])


def _in_both(previous: StretchTable, results: StretchTable) -> tuple[BoolArray, BoolArray]:
    """Find the results that both tables have: of the same key and window, with the same values.

    Returns:
        A mask of the previous results, and a mask of `results`: each is True for the results that are in the other
        table, too.
    """
    if not len(previous) or not len(results):
        return np.zeros(len(previous), np.bool_), np.zeros(len(results), np.bool_)

    # Each result gets a code, by its key, the start of its window and its values: equal results have one code. The
    # parts are reduced to the values, as only the previous results have ids.
    united = concat([replace(table, parts={ROWS: table.parts[ROWS]}) for table in (previous, results)])
    columns: list[pa.Array] = []
    for column in united.parts[ROWS].table.columns:
        values = column.combine_chunks()
        if pa.types.is_floating(values.type):
            values = pc.add(values, arrow_scalar(0.0))  # turns -0.0 into 0.0: the two are one value
        columns.append(values)
    codes = encode([arrow_array(united.keys), arrow_array(united.low), *columns], len(united)).codes
    previous_codes = codes[: len(previous)]
    result_codes = codes[len(previous) :]
    return np.isin(previous_codes, result_codes), np.isin(result_codes, previous_codes)
