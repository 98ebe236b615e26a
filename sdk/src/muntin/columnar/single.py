"""A columnar aggregate as an incremental one: the same arrays, for one window at a time.

A state is plain data: `{"payloads": n, "kept": {component: value}}`, with vectors as nested lists and times as
integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from muntin.axis import moment
from muntin.columnar.merging import fold_rows, identities, merge
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.ragged import Ragged
from muntin.components import Component, Merge

if TYPE_CHECKING:
    from muntin.modules.columnar_aggregate import ColumnarAggregate


def create_state(module: ColumnarAggregate[Any, Any]) -> dict[str, Any]:
    """Return the state of no payloads."""
    return {"payloads": 0, "kept": {name: _nothing(part) for name, part in module.components().items()}}


def add_events(module: ColumnarAggregate[Any, Any], state: dict[str, Any], payloads: Sequence[Any]) -> dict[str, Any]:
    """Return the state with more payloads."""
    arrays, count = payload_arrays(module.input_field(), payloads, skips_nulls=module.skips_nulls)
    if not count:
        return state
    lifted = dict(module.lift(arrays))
    kept = {name: _kept(part, count, lifted.get(name)) for name, part in module.components().items()}
    return combine(module, state, {"payloads": count, "kept": kept})


def combine(module: ColumnarAggregate[Any, Any], state: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the payloads of both."""
    kept = {name: _merged(part, state["kept"][name], other["kept"][name]) for name, part in module.components().items()}
    return {"payloads": state["payloads"] + other["payloads"], "kept": kept}


def compute_result(module: ColumnarAggregate[Any, Any], state: Mapping[str, Any]) -> Any:
    """Return the result of a state, as a Python value."""
    if not state["payloads"]:
        return module.empty_result
    kept = {name: _array(part, state["kept"][name]) for name, part in module.components().items()}
    with np.errstate(all="ignore"):
        results = module.compute_results(kept)
    return _python_value(results)


def _nothing(component: Component) -> Any:
    return [] if component.merge is Merge.COLLECT else _plain(identities(component, 1))


def _kept(component: Component, count: int, lifted: Any) -> Any:
    """Return the state of some payloads alone."""
    if component.merge is Merge.COUNT:
        return count
    if component.merge is Merge.COLLECT:
        return _values(np.asarray(lifted, component.dtype))
    return _plain(fold_rows(component, lifted))


def _merged(component: Component, first: Any, second: Any) -> Any:
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    return _plain(merge(component, _array(component, first), _array(component, second)))


def _plain(value: Any) -> Any:
    """Return an array of one value as plain data."""
    return _values(value)[0]


def _values(array: Any) -> list[Any]:
    values: list[Any] = (array.view("int64") if array.dtype.kind in "mM" else array).tolist()
    return values


def _array(component: Component, value: Any) -> Any:
    """Return plain data as an array of one value; collected values as the one group they are."""
    is_time = component.dtype.startswith(("datetime64", "timedelta64"))
    rows = value if component.merge is Merge.COLLECT else [value]
    array = np.asarray(rows, "int64").view(component.dtype) if is_time else np.asarray(rows, component.dtype)
    return Ragged(np.sort(array), np.array([0, len(array)])) if component.merge is Merge.COLLECT else array


def _python_value(results: Any) -> Any:
    if np.ma.getmaskarray(results)[0]:
        return None
    array = np.ma.getdata(results)
    if array.dtype.kind == "M" and array.dtype != np.dtype("datetime64[D]"):
        return moment(int(array.astype("datetime64[us]").view("int64")[0]))
    value = array[0]
    return value.item() if isinstance(value, np.generic) else value
