"""Components as array functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from muntin.components import Component, Merge


def merger(component: Component) -> Callable[[Any, Any], Any]:
    """Return the function that merges two arrays of values element by element; a ufunc unless it is the writer's."""
    if component.function is not None:
        return component.function
    if component.merge is Merge.COLLECT:
        raise TypeError("collected values are put side by side, not merged")
    ufunc: Callable[[Any, Any], Any] = getattr(np, "add" if component.merge is Merge.COUNT else component.merge)
    return ufunc


def merge(component: Component, first: Any, second: Any) -> Any:
    """Return the merged values of two arrays of n values each."""
    with np.errstate(all="ignore"):
        return np.asarray(merger(component)(first, second), component.dtype)


def identities(component: Component, count: int) -> Any:
    """Return an array of n identities.

    Example:
        >>> identities(Component.sum("int64", shape=(2,)), 1).tolist()
        [[0, 0]]
    """
    if component.dtype.startswith(("datetime64", "timedelta64")):
        return np.full((count, *component.shape), component.identity, "int64").view(component.dtype)
    return np.full((count, *component.shape), component.identity, component.dtype)


def fold_rows(component: Component, values: Any) -> Any:
    """Return the merge of n values, along the first axis: an array of one value, the identity if n is 0.

    Neighbours are merged in pairs, and the pairs in pairs, so a function of the writer's own is called about log2(n)
    times, and sums of floats lose little.

    Example:
        >>> import numpy as np
        >>> fold_rows(Component.max("int64"), np.array([3, 9, 4])).tolist()
        [9]
    """
    values = np.asarray(values, component.dtype)
    if not len(values):
        return identities(component, 1)
    while len(values) > 1:
        even = len(values) // 2 * 2
        pairs = merge(component, values[0:even:2], values[1:even:2])
        values = np.concatenate([pairs, values[even:]])
    return values
