"""The ids of buckets, which Spark's hash partitioner spreads evenly over the partitions of the state."""

from __future__ import annotations

from functools import cache
from typing import Final

from muntin_engine.plan import MOST_BUCKETS

_MASK: Final = 0xFFFFFFFF
_SEED: Final = 42


@cache
def bucket_ids(buckets: int, place: int = 0) -> tuple[int, ...]:
    """Return ids of buckets that Spark's hash partitioner spreads evenly over partitions.

    A small integer lands in state partition `murmur3(id) mod n`, which maps 0..7 onto only six of eight partitions.
    The ids here are searched for: the i-th has a hash whose lowest bits are i. So the first n ids cover each of m
    partitions equally often for every power of two m that divides n, and nearly so for any other m; the ids of a
    smaller number of buckets are the first of a larger one.

    If one pass answers several queries, no two of them share an id. The ids of each query begin one partition after
    those of the query before it, so that queries with a single bucket do not all end up in one partition.

    Args:
        buckets: The number of buckets, at most `MOST_BUCKETS`.
        place: The place of the query among the queries of one pass.

    Example:
        >>> [murmur3(id) % 4 for id in bucket_ids(4)]
        [0, 1, 2, 3]
        >>> [murmur3(id) % 4 for id in bucket_ids(4, place=1)]
        [1, 2, 3, 0]
    """
    # Integers are tried in order and grouped by the lowest bits of their hash, until each group has an id for the query
    # at this place.
    ids_by_hash: list[list[int]] = [[] for _ in range(MOST_BUCKETS)]
    incomplete_hashes = MOST_BUCKETS
    candidate = 0
    while incomplete_hashes:
        ids = ids_by_hash[murmur3(candidate) % MOST_BUCKETS]
        ids.append(candidate)
        if len(ids) == place + 1:
            incomplete_hashes -= 1
        candidate += 1
    # The queries before this one take the first ids of each group. A query begins with the group of its own place, so
    # that the first buckets of several queries lie in different partitions.
    return tuple(ids_by_hash[(bucket + place) % MOST_BUCKETS][place] for bucket in range(buckets))


def murmur3(value: int) -> int:
    """Return Spark's hash of an int column: MurmurHash3 (x86, 32 bits) of four bytes with seed 42."""
    mixed = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    state = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4  # the number of bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - 2**32 if state >= 2**31 else state  # Spark reads the bits as a signed number


def _rotate(value: int, places: int) -> int:
    """Rotate a number of 32 bits to the left by some places."""
    return (value << places | value >> 32 - places) & _MASK
