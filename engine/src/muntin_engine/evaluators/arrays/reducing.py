"""Merging the values of a component that have the same code."""

from __future__ import annotations

import numpy as np

from muntin import Component, Merge
from muntin.columnar import identities, merge, merger
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.arrays.coding import stable_order


def reduce_codes(component: Component, codes: IntArray, size: int, values: Array) -> Array:
    """Return for each code the merge of the values that have it; the identity where none has.

    Args:
        component: What the values are; not `COLLECT`.
        codes: n codes from 0 up to but not including `size`.
        size: How many results there are.
        values: n values.

    Cost: one pass, or for a function of the writer's own about log2 of the most values of one code.
    """
    values = np.asarray(values, component.dtype)
    if component.merge is Merge.CUSTOM:
        return _tournament(component, codes, size, values)
    if component.merge in (Merge.ADD, Merge.COUNT) and component.dtype == "float64" and not component.shape:
        return np.bincount(codes, weights=values, minlength=size)
    merged = identities(component, size)
    merger(component).at(merged, codes, values)  # type: ignore[attr-defined]  # a ufunc
    return merged


def _tournament(component: Component, codes: IntArray, size: int, values: Array) -> Array:
    """Merge neighbours of the same code in pairs until each code has one value."""
    order = stable_order(codes, size)
    codes, values = codes[order], values[order]
    while len(codes) > 1:
        starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
        rank = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
        is_left = rank % 2 == 0
        left = np.flatnonzero(is_left)
        has_right = np.append(~is_left, False)[left + 1]
        if not has_right.any():
            break
        kept = values[left]
        kept[has_right] = merge(component, kept[has_right], values[left[has_right] + 1])
        codes, values = codes[left], kept
    merged = identities(component, size)
    merged[codes] = values
    return merged
