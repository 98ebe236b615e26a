"""The windows that a module is called for in turn, of which few are ever asked for one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import IntArray
from muntin_engine.time.changes import Key
from muntin_engine.wire.python_values import tuples_of


@dataclass(frozen=True, slots=True)
class CalledWindows:
    """Windows with their keys, as arrays.

    Attributes:
        keys: A row of keys for each window.
        key_names: The columns of the keys; none where all rows are one group.
        starts: The start of each window, in ticks.
        ends: The end of each window, in ticks.
    """

    keys: pa.Table
    key_names: Sequence[str]
    starts: IntArray
    ends: IntArray

    def located(self, place: int) -> tuple[Key, Window]:
        """Return the key of a window, and the window, by its place."""
        (key,) = tuples_of(self.keys.slice(place, 1), self.key_names)
        return key, Window(int(self.starts[place]), int(self.ends[place]))

    def __iter__(self) -> Iterator[tuple[Key, Window]]:
        """Yield the key of each window, and the window."""
        windows = map(Window, self.starts.tolist(), self.ends.tolist())
        return zip(tuples_of(self.keys, self.key_names), windows, strict=True)
