"""Partial states as plain data, one by one, and back into arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from muntin.columnar.arrays import Array
from muntin.components import ColumnarState, Component, Merge


def plain_values(values: Array) -> list[object]:
    """Return an array as plain data: vectors as nested lists, times as integers.

    Example:
        >>> plain_values(np.array(["1970-01-02"], "datetime64[us]"))
        [86400000000]
    """
    plain: list[object] = (values.view("int64") if values.dtype.kind in "mM" else values).tolist()
    return plain


def component_array(component: Component, values: Sequence[object]) -> Array:
    """Return n values of a component, or n of those it collected, as the array that `plain_values` was given.

    Example:
        >>> component_array(Component.max("int64"), [3, 9])
        array([3, 9])
    """
    if component.dtype == "object" and (not component.shape or component.merge is Merge.COLLECT):
        return np.fromiter(values, object, len(values))  # assigned one by one: lists stay lists
    is_time = component.dtype.startswith(("datetime64", "timedelta64"))
    array = np.asarray(values, "int64" if is_time else component.dtype)
    return (array.view(component.dtype) if is_time else array).reshape(len(values), *component.shape)


def records_of(payloads: Iterable[int], kept: Mapping[str, Sequence[object]]) -> list[ColumnarState]:
    """Return partial states as `ColumnarAggregate` keeps them, from the values of their components.

    Example:
        >>> records_of([2, 1], {"total": [5.0, 1.5]})
        [{'payloads': 2, 'kept': {'total': 5.0}}, {'payloads': 1, 'kept': {'total': 1.5}}]
    """
    return [
        {"payloads": count, "kept": {name: values[place] for name, values in kept.items()}}
        for place, count in enumerate(payloads)
    ]
