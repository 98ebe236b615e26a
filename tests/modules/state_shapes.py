"""Modules of several schema versions that mean the same and keep states of different shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from muntin import ColumnarAggregate, Component, Module

_METHODS_WITH_STATES = ("add_events", "remove_events", "combine", "deduct", "compute_result")


def schema_version(module: Module, number: int) -> Any:
    """Return a module in its schema version 1, 2 or 3.

    The first version keeps the states of the module as they are. Each later one keeps them in a dict that says which
    version made it, `{"made by": 2, "state": ...}`, and every method insists that its own version did.
    """
    base: Any = type(module)
    attributes: dict[str, Any] = {"version": f"{number}.0", "name": base.name}
    if number == 1 or not base.is_incremental:
        attributes["continues_since"] = "1.0"
        return type(base.__name__, (base,), attributes)()

    def create_state(self: Any, *window: Any) -> Any:
        return _marked(base.create_state(self, *window), number)

    def upgrade_state(self: Any, state: Any, version: str, *window: Any) -> Any:
        if version == "1.0":
            return _marked(state, number)
        assert state["made by"] == float(version), f"a state of {state['made by']} is said to be of {version}"
        return _marked(state["state"], number)

    attributes["create_state"] = create_state
    attributes["upgrade_state"] = upgrade_state
    for name in _METHODS_WITH_STATES:
        if hasattr(base, name):
            attributes[name] = _with_marked_states(name, getattr(base, name), number)
    return type(base.__name__, (base,), attributes)()


def _with_marked_states(name: str, method: Callable[..., Any], number: int) -> Callable[..., Any]:
    """Return a method of a module as a version has it, whose states say that this version made them."""

    def call(self: Any, state: Any, *arguments: Any) -> Any:
        if name in ("combine", "deduct"):
            (other_state,) = arguments
            arguments = (_unmarked(other_state, number),)
        result = method(self, _unmarked(state, number), *arguments)
        return result if name == "compute_result" else _marked(result, number)

    return call


def _marked(state: Any, number: int) -> Mapping[str, Any]:
    """Return a state of a module as a version keeps it."""
    return {"made by": number, "state": state}


def _unmarked(state: Mapping[str, Any], number: int) -> Any:
    """Return the state of a module in one that a version keeps, which must be this version."""
    assert state["made by"] == number
    return state["state"]


def columnar_schema_version(form: ColumnarAggregate[Any, Any], number: int) -> Any:
    """Return a columnar aggregate in its schema version 1, 2 or 3.

    The first version has the components of the form. In each later one their names end with the number of the version,
    `"count 2"`, and their order is the other way round.
    """
    base: Any = type(form)
    if number == 1:
        return type(base.__name__, (base,), {"version": "1.0"})()

    suffix = f" {number}"

    def components(self: Any) -> Mapping[str, Component]:
        return dict(reversed(_renamed(form.components(), "", suffix).items()))

    def lift(self: Any, payloads: Any) -> Mapping[str, Any]:
        return _renamed(form.lift(payloads), "", suffix)

    def compute_results(self: Any, components: Mapping[str, Any]) -> Any:
        return form.compute_results(_renamed(components, suffix, ""))

    def upgrade_state(self: Any, state: Any, version: str) -> Any:
        old_suffix = "" if version == "1.0" else f" {version[0]}"
        return {"payloads": state["payloads"], "kept": _renamed(state["kept"], old_suffix, suffix)}

    attributes = {
        "version": f"{number}.0",
        "components": components,
        "lift": lift,
        "compute_results": compute_results,
        "upgrade_state": upgrade_state,
    }
    return type(base.__name__, (base,), attributes)()


def _renamed(parts: Mapping[str, Any], old_suffix: str, new_suffix: str) -> dict[str, Any]:
    """Return parts by the names of components with another suffix in the place of the one that all of them have."""
    renamed: dict[str, Any] = {}
    for name, part in parts.items():
        assert name.endswith(old_suffix)
        renamed[name.removesuffix(old_suffix) + new_suffix] = part
    return renamed
