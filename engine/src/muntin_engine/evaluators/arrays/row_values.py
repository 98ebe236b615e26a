"""Rows as values of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray


@dataclass(frozen=True, slots=True)
class RowValues:
    """The columns of rows, as they came. `take` moves places alone, as long as half of the rows are wanted.

    Attributes:
        whole: The columns of these rows and of others.
        places: The places of the rows among them.
    """

    whole: pa.Table
    places: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> RowValues:
        """Return the rows of a table."""
        return cls(table.replace_schema_metadata(None).combine_chunks(), np.arange(len(table)))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        """The size of the columns in bytes, and of the places."""
        size: int = self.whole.nbytes + self.places.nbytes
        return size

    @property
    def table(self) -> pa.Table:
        """The columns of these rows alone."""
        is_whole = len(self) == len(self.whole) and bool((self.places[1:] > self.places[:-1]).all())
        return self.whole if is_whole else self.whole.take(pa.array(self.places))

    def take(self, places: IntArray | slice) -> RowValues:
        """Return some of them."""
        some = RowValues(self.whole, self.places[places])
        return some if 2 * len(some) >= len(self.whole) else RowValues.of(some.table)

    def concat(self, more: Sequence[RowValues]) -> RowValues:
        """Return them and more."""
        every = [self, *more]
        before = np.cumsum([0, *(len(some.whole) for some in every)])
        places = np.concatenate([some.places + first for some, first in zip(every, before, strict=False)])
        return RowValues(pa.concat_tables([some.whole for some in every]).combine_chunks(), places)

    def reduce(self, codes: IntArray, size: int) -> RowValues:
        """Refuse: rows are not merged."""
        raise TypeError(f"{len(codes)} rows are not merged into {size}: a module lifts them")
