"""Fusing partial states of sessions: those of a key that overlap or touch become one."""

from __future__ import annotations

from typing import Final

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretch_table import Groups, StretchTable

_MOST: Final = 2**62
"""Pairs of numbers are sorted as one where that is less."""


def sessions_of(batch: StretchTable) -> Groups:
    """Return the connected parts of what stretches cover, in the order of keys and then of starts.

    Cost: a sort by key and start, a running maximum, and a few passes.
    """
    order = by_key_and_start(batch.keys, batch.low)
    some_keys, starts, ends = batch.keys[order], batch.low[order], batch.high[order]
    is_first = np.empty(len(order), np.bool_)
    is_first[:1] = True
    np.not_equal(some_keys[1:], some_keys[:-1], out=is_first[1:])
    reached = _running_maximum(ends, np.cumsum(is_first) - 1)
    is_first[1:] |= starts[1:] > reached[:-1]
    firsts = np.flatnonzero(is_first)
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(is_first) - 1
    lasts = np.append(firsts[1:], len(order))[: len(firsts)] - 1
    return Groups(codes, some_keys[firsts], starts[firsts], reached[lasts])


def by_key_and_start(keys: IntArray, lows: IntArray) -> IntArray:
    """Return the places of stretches in the order of keys and then of starts.

    Cost: as one number both are sorted faster, and with the place in the same number twice as fast again.
    """
    if not len(keys):
        return np.empty(0, np.int64)
    least, largest = int(lows.min()), int(lows.max())
    size, bits = (largest - least + 1) * (int(keys.max()) + 1), len(keys).bit_length()
    if size >= _MOST:
        return np.lexsort((lows, keys))
    codes = keys * (largest - least + 1) + (lows - least)
    if size << bits >= _MOST:
        return np.argsort(codes, kind="stable")
    codes <<= bits
    codes |= np.arange(len(codes))
    codes.sort()
    codes &= (1 << bits) - 1
    return codes


def _running_maximum(values: IntArray, groups: IntArray) -> IntArray:
    """Return for each value the largest of its group up to it; groups are numbered from 0, and ascend."""
    if not len(values):
        return values
    least, largest = int(values.min()), int(values.max())
    if (largest - least + 1) * (int(groups[-1]) + 1) < _MOST:
        shift = groups * (largest - least + 1)
        reached: IntArray = np.maximum.accumulate(values - least + shift) - shift + least
        return reached
    distinct, ranks = np.unique(values, return_inverse=True)
    shift = groups * len(distinct)
    return distinct[np.maximum.accumulate(ranks + shift) - shift]
