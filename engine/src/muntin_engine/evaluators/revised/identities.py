"""The identities of events as numbers: equal ones have equal numbers, and different ones hardly ever do.

An event is identified by its key, its id and its start. The numbers depend on the process, because text is hashed as
Python hashes it; so they are never stored.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin_engine.exchange.intake import hashable

HashArray = npt.NDArray[np.uint64]

_ROUNDS: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""The rounds of SplitMix64, which mix the bits of a number.

Source: G. Steele et al., Fast Splittable Pseudorandom Number Generators, OOPSLA (2014), section 3.
"""

_STEP: Final = np.uint64(0x9E3779B97F4A7C15)


def ids_of(column: pa.ChunkedArray) -> Array:
    """Return ids as an array whose values are compared as Python compares them: whole numbers, or objects.

    Cost: of ids that are no whole numbers, a Python object each.
    """
    if pa.types.is_signed_integer(column.type):
        whole: IntArray = column.to_numpy().astype(np.int64)
        return whole
    return np.fromiter(map(hashable, column.to_pylist()), np.object_, len(column))


def hashes_of(codes: IntArray, ids: Array, starts: IntArray) -> HashArray:
    """Return the numbers of identities.

    Args:
        codes: The code of each key.
        ids: As `ids_of` returns them.
        starts: The starts that the events were inserted with.
    """
    whole = ids if ids.dtype != np.object_ else np.fromiter(map(hash, ids), np.int64, len(ids))
    return _mixed(whole.view(np.uint64) + _mixed(starts.view(np.uint64) + _mixed(codes.view(np.uint64))))


def are_same(some: tuple[IntArray, Array, IntArray], others: tuple[IntArray, Array, IntArray]) -> BoolArray:
    """Return for each pair of identities (codes, ids and starts) whether they are the same."""
    (codes, ids, starts), (other_codes, other_ids, other_starts) = some, others
    found: BoolArray = (starts == other_starts) & (codes == other_codes) & (ids == other_ids).astype(np.bool_)
    return found


def _mixed(numbers: HashArray) -> HashArray:
    mixed = numbers + _STEP
    for bits, factor in _ROUNDS:
        mixed ^= mixed >> np.uint64(bits)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed
