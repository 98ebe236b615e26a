"""A columnar aggregate of one group, as an incremental one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from muntin.columnar.arrays import Array
from muntin.columnar.merging import contributions, fold_rows, identities, merge
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.results import OnArrays, Ragged, results_of
from muntin.columnar.sums import Sums, finished
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
    kept = {name: _merged(part, state["kept"][name], other["kept"][name]) for name, part in module.components().items()}
    return {"payloads": state["payloads"] + other["payloads"], "kept": kept}


def compute_result(module: OnArrays, state: ColumnarState) -> object:
    """Return the result of a state, as a Python value."""
    if not state["payloads"]:
        return module.empty_result
    parts, payloads = module.components().items(), np.array([state["payloads"]])
    with np.errstate(all="ignore"):
        arrays = {name: (part, _array(part, state["kept"][name])) for name, part in parts}
        kept = {
            name: finished(part, value, payloads) if isinstance(value, Sums) else value
            for name, (part, value) in arrays.items()
        }
    return results_of(module, kept, 1)[0]


def _nothing(component: Component) -> object:
    if component.merge is Merge.COLLECT:
        return []
    return _plain(Sums.of(identities(component, 1)) if component.is_exact else identities(component, 1))


def _kept(component: Component, count: int, lifted: Array | None) -> object:
    """Return the state of some payloads alone."""
    if lifted is None:
        return count
    if component.merge is Merge.COLLECT:
        return plain_values(lifted)
    return _plain(_folded(Sums.of(lifted)) if component.is_exact else fold_rows(component, lifted))


def _merged(component: Component, first: Any, second: Any) -> object:
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    if component.is_exact:
        return _plain(_folded(Sums.from_plain([first, second], component.shape)))
    return _plain(merge(component, component_array(component, [first]), component_array(component, [second])))


def _folded(sums: Sums) -> Sums:
    """Return the sum of n sums, as the sum of one group."""
    return sums.on_grid(len(sums)).each(lambda lane, _: lane.sum(axis=0, keepdims=True))


def _plain(value: Array | Sums) -> object:
    """Return one value as plain data."""
    return (value.plain() if isinstance(value, Sums) else plain_values(value))[0]


def _array(component: Component, value: Any) -> Array | Sums | Ragged:
    """Return plain data as an array of one value; collected values as the one group they are."""
    if component.is_exact:
        return Sums.from_plain([value], component.shape)
    is_collected = component.merge is Merge.COLLECT
    array = component_array(component, value if is_collected else [value])
    return Ragged.of([array]) if is_collected else array
