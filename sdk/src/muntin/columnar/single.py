"""The methods of an incremental aggregate for a columnar one: the state of a single window, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from muntin.columnar.arrays import Array
from muntin.columnar.exact import added, exact_sums, nearest
from muntin.columnar.merging import contributions, fold_rows, identities, merge
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.results import OnArrays, Ragged, results_of
from muntin.schemas.components import ColumnarState, Component, Merge

_ADD_EXACTLY = np.frompyfunc(added, 2, 1)
"""`added` for each entry of two arrays of sums."""

_ROUND = np.frompyfunc(nearest, 1, 1)
"""`nearest` for each entry of an array of sums."""


def plain_values(values: Array) -> list[object]:
    """Return an array as plain data: vectors as nested lists, times as integers.

    Example:
        >>> plain_values(np.array(["1970-01-02"], "datetime64[us]"))
        [86400000000]
    """
    is_time = values.dtype.kind in "mM"
    plain: list[object] = values.view("int64").tolist() if is_time else values.tolist()
    return plain


def component_array(component: Component, values: Sequence[object]) -> Array:
    """Return plain values of a component, or values that it collected, as an array: the inverse of `plain_values`."""
    if component.dtype == "object" and (not component.shape or component.merge is Merge.COLLECT):
        # Unlike `np.array`, which would make another axis of lists, this assigns the values one by one.
        return np.fromiter(values, object, len(values))
    if component.dtype.startswith(("datetime64", "timedelta64")):
        array = np.asarray(values, "int64").view(component.dtype)  # times are plain as integers
    else:
        array = np.asarray(values, component.dtype)
    return array.reshape(len(values), *component.shape)


def records_of(payloads: Iterable[int], components: Mapping[str, Sequence[object]]) -> list[ColumnarState]:
    """Return several partial states as plain data, from the values of their components.

    Args:
        payloads: The number of payloads of each state.
        components: The values of each component, one for each state, by the component's name.

    Example:
        >>> records_of([2, 1], {"total": [5.0, 1.5]})
        [{'payloads': 2, 'kept': {'total': 5.0}}, {'payloads': 1, 'kept': {'total': 1.5}}]
    """
    states: list[ColumnarState] = []
    for index, count in enumerate(payloads):
        values = {name: column[index] for name, column in components.items()}
        states.append({"payloads": count, "kept": values})
    return states


def create_state(module: OnArrays) -> ColumnarState:
    """Return the state of no payloads."""
    identities_by_name = {name: _identity(component) for name, component in module.components().items()}
    return {"payloads": 0, "kept": identities_by_name}


def add_events(module: OnArrays, state: ColumnarState, payloads: Sequence[object]) -> ColumnarState:
    """Return the state with more payloads."""
    arrays, count = payload_arrays(module.input_field(), payloads, skips_nulls=module.skips_nulls)
    if not count:
        return state
    lifted = contributions(module, arrays, count)
    values: dict[str, object] = {}
    for name, component in module.components().items():
        # `lift` returns nothing for the component that counts payloads: `get` gives None for it.
        values[name] = _folded(component, count, lifted.get(name))
    return combine(module, state, {"payloads": count, "kept": values})


def combine(module: OnArrays, state: ColumnarState, other: ColumnarState) -> ColumnarState:
    """Return the state of the payloads of two states."""
    values: dict[str, object] = {}
    with np.errstate(invalid="ignore"):  # the sum of infinities of both signs is NaN
        for name, component in module.components().items():
            values[name] = _merged(component, state["kept"][name], other["kept"][name])
    return {"payloads": state["payloads"] + other["payloads"], "kept": values}


def compute_result(module: OnArrays, state: ColumnarState) -> object:
    """Return the result of a state, as a Python value."""
    if not state["payloads"]:
        return module.empty_result
    arrays: dict[str, Array | Ragged] = {}
    for name, component in module.components().items():
        arrays[name] = _array(component, state["kept"][name], state["payloads"])
    (result,) = results_of(module, arrays, count=1)
    return result


def _identity(component: Component) -> object:
    """Return the value of a component over no payloads."""
    if component.merge is Merge.COLLECT:
        return []
    identity = identities(component, count=1)
    if component.is_exact:
        return exact_sums(identity)  # the state keeps such a sum without rounding
    return plain_values(identity)[0]


def _folded(component: Component, count: int, lifted: Array | None) -> object:
    """Return the value of a component over several payloads, as plain data.

    Args:
        component: The component.
        count: The number of payloads.
        lifted: The contribution of each payload; None for the component that counts payloads.
    """
    if lifted is None:
        return count
    if component.merge is Merge.COLLECT:
        return plain_values(lifted)
    if component.is_exact:
        return exact_sums(lifted)
    return plain_values(fold_rows(component, lifted))[0]


def _merged(component: Component, first: Any, second: Any) -> object:
    """Return the merged value of two values of a component, all as plain data of a state."""
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    if component.is_exact:
        # A vector of exact sums is a nested list of fractions, which are added one by one.
        return np.asarray(_ADD_EXACTLY(first, second), object).tolist()
    merged = merge(component, component_array(component, [first]), component_array(component, [second]))
    return plain_values(merged)[0]


def _array(component: Component, value: Any, payloads: int) -> Array | Ragged:
    """Return the plain value of a component as `compute_results` gets it: an array of one value, or one group.

    Args:
        component: The component.
        value: The value in the state.
        payloads: The number of payloads in the state.
    """
    if component.is_exact:
        # A mean is divided while the sum is exact, and rounded once. All means are exact, so none is divided below.
        divisor = payloads if component.merge is Merge.MEAN else 1
        quotients = np.asarray([value], object) / divisor
        return np.asarray(_ROUND(quotients), component.dtype)
    if component.merge is Merge.COLLECT:
        return Ragged.of([component_array(component, value)])
    return component_array(component, [value])
