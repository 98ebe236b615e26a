"""Windows of one length, one every hop."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Floats, Ints, Rows, Windows, table_of, ticks


@dataclass(frozen=True, slots=True)
class Hopping(Windows):
    """Hopping windows, tumbling where hop and size are the same.

    Attributes:
        size: Length of each.
        hop: From the start of one to the start of the next.
    """

    size: int
    hop: int

    def __str__(self) -> str:
        return f"tumbling {self.size} s" if self.size == self.hop else f"hopping {self.size} s / {self.hop} s"

    @property
    def slice(self) -> int:
        """Length of the longest pieces of which all windows are made."""
        return gcd(self.size, self.hop)

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Add each row to each of its windows, in a table of keys by windows."""
        size, hop = self.size * MICROSECONDS, self.hop * MICROSECONDS
        first, last = int(rows.at.min() - size) // hop, int(rows.end.max()) // hop
        windows = _Table(aggregate, int(rows.key.max()) + 1, first, last - first + 1)
        for number in range(int(np.max((rows.end - 1) // hop - (rows.at - size) // hop))):
            place = (rows.end - 1) // hop - number
            is_member = place * hop + size > rows.at
            windows.add(rows.key[is_member], place[is_member], rows.value[is_member])
        return windows.answers(hop)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare ends with the watermark."""
        return ticks(answers["start"]) + self.size * MICROSECONDS <= watermark


class _Table:
    """A count and a value for each key and window."""

    def __init__(self, aggregate: Aggregate, keys: int, first: int, windows: int) -> None:
        self._is_average = aggregate == "average"
        self._first, self._shape = first, (keys, windows)
        self._counts = np.zeros(keys * windows, np.int64)
        self._values = np.full(keys * windows, 0.0 if self._is_average else -np.inf)

    def add(self, keys: Ints, windows: Ints, values: Floats) -> None:
        cells = keys * self._shape[1] + (windows - self._first)
        np.add.at(self._counts, cells, 1)
        (np.add if self._is_average else np.maximum).at(self._values, cells, values)

    def answers(self, hop: int) -> pa.Table:
        cells = np.flatnonzero(self._counts)
        values = self._values[cells] / (self._counts[cells] if self._is_average else 1)
        return table_of(cells // self._shape[1], (cells % self._shape[1] + self._first) * hop, values)
