"""Modules of several schema versions that mean the same and keep states of different shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from muntin import ColumnarAggregate, Component, Module

_WITH_STATES = ("add_events", "remove_events", "combine", "deduct", "compute_result")


def schema_version(module: Module, number: int) -> Any:
    """Return a module in its version 1, 2 or 3.

    From the second one on a state says which schema version made it, and every method insists that it was its own.
    """
    base: Any = type(module)
    attributes: dict[str, Any] = {"version": f"{number}.0", "name": base.name}
    if number == 1 or not base.is_incremental:
        attributes["continues_since"] = "1.0"
        return type(base.__name__, (base,), attributes)()
    attributes |= {name: _unwrapping(getattr(base, name), number, name) for name in _WITH_STATES if hasattr(base, name)}
    attributes["create_state"] = lambda self, *window: {"made by": number, "state": base.create_state(self, *window)}
    attributes["upgrade_state"] = lambda self, state, version, *window: _upgraded(state, version, number)
    return type(base.__name__, (base,), attributes)()


def identity_of(modules: Sequence[Module]) -> dict[str, Any]:
    """Return the identity of modules without parameters in a plan."""
    return {"modules": [[module.name, module.version, {}, [0]] for module in modules]}


def _unwrapping(method: Callable[..., Any], number: int, name: str) -> Callable[..., Any]:
    def call(self: Any, state: Any, *arguments: Any) -> Any:
        if name in ("combine", "deduct"):
            arguments = tuple(_opened(other_state, number) for other_state in arguments)
        result = method(self, _opened(state, number), *arguments)
        return result if name == "compute_result" else {"made by": number, "state": result}

    return call


def _opened(state: Mapping[str, Any], number: int) -> Any:
    assert state["made by"] == number
    return state["state"]


def _upgraded(state: Any, version: str, number: int) -> Any:
    if version == "1.0":
        return {"made by": number, "state": state}
    assert state["made by"] == float(version), f"a state of {state['made by']} is said to be of {version}"
    return {"made by": number, "state": state["state"]}


def columnar_schema_version(form: ColumnarAggregate[Any, Any], number: int) -> Any:
    """Return a columnar aggregate in one of its versions, whose components have names and places of their own."""
    base: Any = type(form)
    if number == 1:
        return type(base.__name__, (base,), {"version": "1.0"})()

    def components(self: Any) -> Mapping[str, Component]:
        renamed = {f"{name} {number}": part for name, part in form.components().items()}
        return dict(reversed(renamed.items()))

    def lift(self: Any, payloads: Any) -> Mapping[str, Any]:
        return {f"{name} {number}": part for name, part in form.lift(payloads).items()}

    def compute_results(self: Any, renamed: Mapping[str, Any]) -> Any:
        return form.compute_results({name.removesuffix(f" {number}"): part for name, part in renamed.items()})

    def upgrade_state(self: Any, state: Any, version: str) -> Any:
        old = "" if version == "1.0" else f" {version[0]}"
        assert all(name.endswith(old) for name in state["kept"])
        renamed = {f"{name.removesuffix(old)} {number}": value for name, value in state["kept"].items()}
        return {"payloads": state["payloads"], "kept": renamed}

    methods = (components, lift, compute_results, upgrade_state)
    return type(base.__name__, (base,), {"version": f"{number}.0", **{each.__name__: each for each in methods}})()
