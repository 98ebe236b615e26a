"""The columns of a blob, as the values of stretches fill them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from muntin.columnar.arrays import IntArray


@dataclass(frozen=True, slots=True)
class BlobColumns:
    """The columns of a blob's stretches.

    Attributes:
        numbers: Columns of whole numbers, which take as few bytes as they need.
        columns: The other columns.
        packed: Bytes that lie beside the columns.
    """

    numbers: dict[str, IntArray] = field(default_factory=dict)
    columns: dict[str, pa.Array] = field(default_factory=dict)
    packed: list[bytes] = field(default_factory=list)
