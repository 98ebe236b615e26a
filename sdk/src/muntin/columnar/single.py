"""A columnar aggregate of one group, as an incremental one."""

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

_ADDED = np.frompyfunc(added, 2, 1)
_NEAREST = np.frompyfunc(nearest, 1, 1)


def plain_values(values: Array) -> list[object]:
    """Return an array as plain data: vectors as nested lists, times as integers.

    Example:
        >>> plain_values(np.array(["1970-01-02"], "datetime64[us]"))
        [86400000000]
    """
    plain: list[object] = (values.view("int64") if values.dtype.kind in "mM" else values).tolist()
    return plain


def component_array(component: Component, values: Sequence[object]) -> Array:
    """Return n values of a component, or n values that it collected, as an array: the inverse of `plain_values`."""
    if component.dtype == "object" and (not component.shape or component.merge is Merge.COLLECT):
        return np.fromiter(values, object, len(values))  # assigned one by one: lists stay lists
    is_time = component.dtype.startswith(("datetime64", "timedelta64"))
    array = np.asarray(values, "int64" if is_time else component.dtype)
    return (array.view(component.dtype) if is_time else array).reshape(len(values), *component.shape)


def records_of(payloads: Iterable[int], components: Mapping[str, Sequence[object]]) -> list[ColumnarState]:
    """Return partial states as `ColumnarAggregate` keeps them, from the values of their components.

    Args:
        payloads: The number of payloads of each state.
        components: The values of the states, by component.

    Example:
        >>> records_of([2, 1], {"total": [5.0, 1.5]})
        [{'payloads': 2, 'kept': {'total': 5.0}}, {'payloads': 1, 'kept': {'total': 1.5}}]
    """
    states: list[ColumnarState] = []
    for place, count in enumerate(payloads):
        values = {name: column[place] for name, column in components.items()}
        states.append({"payloads": count, "kept": values})
    return states


def create_state(module: OnArrays) -> ColumnarState:
    """Return the state of no payloads."""
    return {"payloads": 0, "kept": {name: _identity(component) for name, component in module.components().items()}}


def add_events(module: OnArrays, state: ColumnarState, payloads: Sequence[object]) -> ColumnarState:
    """Return the state with more payloads."""
    arrays, count = payload_arrays(module.input_field(), payloads, skips_nulls=module.skips_nulls)
    if not count:
        return state
    lifted = contributions(module, arrays, count)
    values = {name: _folded(component, count, lifted.get(name)) for name, component in module.components().items()}
    return combine(module, state, {"payloads": count, "kept": values})


def combine(module: OnArrays, state: ColumnarState, other: ColumnarState) -> ColumnarState:
    """Return the state of the payloads of both."""
    values: dict[str, object] = {}
    with np.errstate(invalid="ignore"):  # infinities of both signs are NaN
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
    (result,) = results_of(module, arrays, 1)
    return result


def _identity(component: Component) -> object:
    """Return the value of a component over no payloads."""
    if component.merge is Merge.COLLECT:
        return []
    identity = identities(component, 1)
    return exact_sums(identity) if component.is_exact else plain_values(identity)[0]


def _folded(component: Component, count: int, lifted: Array | None) -> object:
    """Return the value of a component over payloads, from the contributions of each; None lifted for a count."""
    if lifted is None:
        return count
    if component.merge is Merge.COLLECT:
        return plain_values(lifted)
    return exact_sums(lifted) if component.is_exact else plain_values(fold_rows(component, lifted))[0]


def _merged(component: Component, first: Any, second: Any) -> object:
    """Merge two values of a component, both as the state keeps them."""
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    if component.is_exact:
        # Vectors of exact sums are nested lists of fractions, which `_ADDED` adds one by one.
        return np.asarray(_ADDED(first, second), object).tolist()
    merged = merge(component, component_array(component, [first]), component_array(component, [second]))
    return plain_values(merged)[0]


def _array(component: Component, value: Any, payloads: int) -> Array | Ragged:
    """Return the value of a component as an array of one value; collected values as one group."""
    if component.is_exact:
        # Divided while it is exact, and rounded once.
        divisor = payloads if component.merge is Merge.MEAN else 1
        sums = np.asarray([value], object) / divisor
        return np.asarray(_NEAREST(sums), component.dtype)
    if component.merge is Merge.COLLECT:
        return Ragged.of([component_array(component, value)])
    return component_array(component, [value])
