"""A columnar aggregate as an incremental one: the same arrays, for one window at a time.

A state is plain data: `{"payloads": n, "kept": {component: value}}`, with vectors as nested lists and times as
integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from muntin.columnar.lifting import contributions
from muntin.columnar.merging import fold_rows, identities, merge
from muntin.columnar.payloads import payload_arrays
from muntin.columnar.ragged import Ragged
from muntin.columnar.results import results_of
from muntin.columnar.states import component_array, plain_values
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
    lifted = contributions(module, arrays, count)
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
    return results_of(module, kept, 1)[0]


def _nothing(component: Component) -> Any:
    return [] if component.merge is Merge.COLLECT else _plain(identities(component, 1))


def _kept(component: Component, count: int, lifted: Any) -> Any:
    """Return the state of some payloads alone."""
    if component.merge is Merge.COUNT:
        return count
    if component.merge is Merge.COLLECT:
        return plain_values(lifted)
    return _plain(fold_rows(component, lifted))


def _merged(component: Component, first: Any, second: Any) -> Any:
    if component.merge is Merge.COLLECT:
        return [*first, *second]
    return _plain(merge(component, _array(component, first), _array(component, second)))


def _plain(value: Any) -> Any:
    """Return an array of one value as plain data."""
    return plain_values(value)[0]


def _array(component: Component, value: Any) -> Any:
    """Return plain data as an array of one value; collected values as the one group they are."""
    is_collected = component.merge is Merge.COLLECT
    array = component_array(component, value if is_collected else [value])
    return Ragged.of([array]) if is_collected else array
