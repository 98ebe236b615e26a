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

_ADDED, _NEAREST = np.frompyfunc(added, 2, 1), np.frompyfunc(nearest, 1, 1)


def plain_values(values: Array) -> list[object]:
    """Return an array as plain data: vectors as nested lists, times as integers.

    Example:
        >>> plain_values(np.array(["1970-01-02"], "datetime64[us]"))
        [86400000000]
    """
    plain: list[object] = (values.view("int64") if values.dtype.kind in "mM" else values).tolist()
    return plain


def component_array(component: Component, values: Sequence[object]) -> Array:
    """Return n values of a component, or n of those it collected, as the array that `plain_values` was given."""
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


def create_state(module: OnArrays) -> ColumnarState:
    """Return the state of no payloads."""
    return {"payloads": 0, "kept": {name: _nothing(part) for name, part in module.components().items()}}


def add_events(module: OnArrays, state: ColumnarState, payloads: Sequence[object]) -> ColumnarState:
    """Return the state with more payloads."""
    arrays, count = payload_arrays(module.input_field(), payloads, skips_nulls=module.skips_nulls)
    if not count:
        return state
    lifted = contributions(module, arrays, count)
    kept = {name: _kept(part, count, lifted.get(name)) for name, part in module.components().items()}
    return combine(module, state, {"payloads": count, "kept": kept})


def combine(module: OnArrays, state: ColumnarState, other: ColumnarState) -> ColumnarState:
    """Return the state of the payloads of both."""
    first, second = state["kept"], other["kept"]
    with np.errstate(invalid="ignore"):  # infinities of both signs are NaN
        kept = {name: _merged(part, first[name], second[name]) for name, part in module.components().items()}
    return {"payloads": state["payloads"] + other["payloads"], "kept": kept}


def compute_result(module: OnArrays, state: ColumnarState) -> object:
    """Return the result of a state, as a Python value."""
    if not state["payloads"]:
        return module.empty_result
    parts = module.components().items()
    return results_of(module, {name: _array(part, state["kept"][name], state["payloads"]) for name, part in parts}, 1)[
        0
    ]


def _nothing(component: Component) -> object:
    if component.merge is Merge.COLLECT:
        return []
    return exact_sums(identities(component, 1)) if component.is_exact else plain_values(identities(component, 1))[0]


def _kept(component: Component, count: int, lifted: Array | None) -> object:
    """Return the state of some payloads alone."""
    if lifted is None:
        return count
    if component.merge is Merge.COLLECT:
        return plain_values(lifted)
    return exact_sums(lifted) if component.is_exact else plain_values(fold_rows(component, lifted))[0]


def _merged(component: Component, first: Any, second: Any) -> object:
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    if component.is_exact:
        return np.asarray(_ADDED(first, second), object).tolist()
    return plain_values(merge(component, component_array(component, [first]), component_array(component, [second])))[0]


def _array(component: Component, value: Any, payloads: int) -> Array | Ragged:
    """Return plain data as an array of one value; collected values as the one group they are."""
    if component.is_exact:
        sums = np.asarray([value], object) / (payloads if component.merge is Merge.MEAN else 1)
        return np.asarray(_NEAREST(sums), component.dtype)
    is_collected = component.merge is Merge.COLLECT
    array = component_array(component, value if is_collected else [value])
    return Ragged.of([array]) if is_collected else array
