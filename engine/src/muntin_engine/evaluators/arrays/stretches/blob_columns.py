"""The columns of a blob of stretches: whole numbers, each column in as few bytes as its numbers need, and others.

A column of whole numbers is written as distances from its least number, in one, two, four or eight bytes; the least
number is in the metadata of the table. Of a column of equal numbers nothing else is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_table, numpy_array


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


def narrow_table(numbers: Mapping[str, IntArray], columns: Mapping[str, pa.Array]) -> pa.Table:
    """Make a table of columns of whole numbers, each in as few bytes as it needs, and of other columns as they are.

    Args:
        numbers: Arrays of n numbers, by name.
        columns: Arrays of n values, by other names; one at least, because they say how many rows there are.

    Example:
        >>> table = narrow_table({"at": np.array([10**15 + 7, 10**15]), "size": np.array([5, 5])}, {"key": ["a", "b"]})
        >>> table.schema.names, str(table.schema.field("at").type), numbers_of(table)["size"]
        (['key', 'at'], 'uint8', array([5, 5]))
    """
    arrays = dict(columns)
    least_numbers: dict[str, str] = {}
    for name, column in numbers.items():
        least = int(column.min()) if len(column) else 0
        largest = int(column.max()) if len(column) else 0
        least_numbers[name] = str(least)
        if least < largest:  # of equal numbers, the metadata say all
            narrow_type = np.min_scalar_type(largest - least)
            arrays[name] = arrow_array((column - least).astype(narrow_type))
    return arrow_table(arrays).replace_schema_metadata(least_numbers)


def numbers_of(table: pa.Table) -> dict[str, IntArray]:
    """Return the columns of whole numbers of a table that `narrow_table` made, by name."""
    numbers: dict[str, IntArray] = {}
    for encoded_name, encoded_least in table.schema.metadata.items():
        name = encoded_name.decode()
        least = int(encoded_least)
        if name in table.column_names:
            numbers[name] = numpy_array(table.column(name)).astype(np.int64) + least
        else:  # all numbers are equal
            numbers[name] = np.full(len(table), least, np.int64)
    return numbers


def codes_array(codes: IntArray, size: int) -> pa.Array:
    """Return codes, from 0 up to but not including a size, in as few bytes as the size needs."""
    return arrow_array(codes.astype(np.min_scalar_type(size)))
