"""The stretches of a bucket, in the pieces in which batches brought them."""

from __future__ import annotations

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable


class StretchPieces:
    """Stretches, in the pieces in which batches brought them: what becomes of these is up to the geometry.

    Attributes:
        tables: The pieces, from the oldest to the newest.
    """

    def __init__(self) -> None:
        self.tables: list[StretchTable] = []

    def __len__(self) -> int:
        """The number of stretches."""
        return sum(map(len, self.tables))

    @property
    def rows(self) -> int:
        """The number of rows that they are made of."""
        return sum(int(piece.weight.sum()) for piece in self.tables)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(piece.nbytes for piece in self.tables)

    def replace(self, *pieces: StretchTable) -> None:
        """Hold other pieces; empty ones are left out."""
        self.tables = [piece for piece in pieces if len(piece)]

    def used_codes(self) -> IntArray:
        """Return the codes of their keys, ascending."""
        if not self.tables:
            return np.empty(0, np.int64)
        return np.unique(np.concatenate([piece.keys for piece in self.tables]))

    def renumber(self, codes: IntArray) -> None:
        """Replace the code of each key by the one at its place."""
        self.tables = [piece.with_keys(codes[piece.keys]) for piece in self.tables]
