"""The store of stretches to which batches add their own: slices of a grid, sessions, or the events of snapshots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.array_store import ArrayStore
from muntin_engine.evaluators.arrays.store.stretch_pieces import StretchPieces
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues


class StretchStore(ArrayStore):
    """The stretches of a bucket.

    Attributes:
        stretches: The stretches.
        sliding: What windows of each specification have in common with the next ones, where that is kept.
        unwritten: What the present batch added; None if that is nothing.
        rewritten_bytes: The size of the log when it was last written anew, where no entry dies by itself.
    """

    def __init__(self, values: StretchValues) -> None:
        """Make an empty store for stretches that hold some kind of values."""
        super().__init__(values, with_rows=values.with_late_rows)
        self.stretches = StretchPieces()
        self.sliding: Sequence[SlidingWindows] = values.sliding_windows(self.keys)
        self.unwritten: StretchTable | None = None
        self.rewritten_bytes = 0
        self._values = values

    def take_unwritten(self) -> StretchTable | None:
        """Return what the present batch added, once."""
        added = self.unwritten
        self.unwritten = None
        return added

    @property
    def memory(self) -> int:
        """About how many bytes it takes in memory."""
        objects = self._values.bytes_of_objects(self.codec.size_of(len(self.stretches)))
        return self.stretches.nbytes + self.keys.nbytes + objects

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which it holds something, ascending."""
        codes = [self.stretches.used_codes(), *(windows.used_codes() for windows in self.sliding)]
        return np.unique(np.concatenate(codes))

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.stretches.renumber(codes)
        for windows in self.sliding:
            windows.renumber(codes)
