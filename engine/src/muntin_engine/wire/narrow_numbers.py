"""Whole numbers in a table, each column in as few bytes as its numbers need.

A column is written as distances from its least number, in one, two, four or eight bytes. Of a column of equal numbers
nothing is written but that number, which is in the metadata of the table as the least ones are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray


def narrow_table(numbers: Mapping[str, IntArray], columns: Mapping[str, pa.Array]) -> pa.Table:
    """Return a table of columns of whole numbers, written narrow, and of others as they are.

    Args:
        numbers: Arrays of n numbers, by name.
        columns: Arrays of n values, by other names; one at least, because they say how many rows there are.

    Example:
        >>> table = narrow_table({"at": np.array([10**15 + 7, 10**15]), "size": np.array([5, 5])}, {"key": ["a", "b"]})
        >>> table.schema.names, str(table.schema.field("at").type), numbers_of(table)["size"]
        (['key', 'at'], 'uint8', array([5, 5]))
    """
    arrays, leasts = dict(columns), dict[str, str]()
    for name, some in numbers.items():
        least, most = (int(some.min()), int(some.max())) if len(some) else (0, 0)
        leasts[name] = str(least)
        if least < most:
            arrays[name] = pa.array((some - least).astype(np.min_scalar_type(most - least)))
    return pa.table(arrays).replace_schema_metadata(leasts)


def numbers_of(table: pa.Table) -> dict[str, IntArray]:
    """Return the columns of whole numbers of a table that `narrow_table` made, by name."""
    found: dict[str, IntArray] = {}
    for name, least in ((name.decode(), int(least)) for name, least in table.schema.metadata.items()):
        if name in table.column_names:
            found[name] = table.column(name).to_numpy().astype(np.int64) + least
        else:
            found[name] = np.full(len(table), least, np.int64)
    return found


def codes_array(codes: IntArray, size: int) -> pa.Array:
    """Return codes, from 0 up to but not including a size, in as few bytes as the size needs."""
    return pa.array(codes.astype(np.min_scalar_type(size)))
